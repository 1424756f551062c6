"""When a call is made again, and when it is over."""

from collections.abc import Awaitable, Callable
import asyncio
import random
import time
from typing import TypeVar

import grpc

from tokendraw.errors import TokendrawError

_LONGEST_DEADLINE_S = 24 * 60 * 60

_FIRST_PAUSE_S = 0.01
_LONGEST_PAUSE_S = 1.0

_T = TypeVar('_T')


def check_deadline(seconds: float) -> None:
    """Raises ValueError unless it is in (0, 24 h]."""
    if not 0 < seconds <= _LONGEST_DEADLINE_S:
        raise ValueError(
            f'deadline must be in (0, {_LONGEST_DEADLINE_S}] seconds, '
            f'got {seconds}'
        )


class Deadline:
    """The end of a call, retries included."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds left; 0 once it has passed."""
        return max(0.0, self._end - time.monotonic())


class _Retries:
    """Those of one call.

    Always safe: a token is a pure function of its request (a row without a
    seed draws another, valid, one). gRPC's own retries give up above 256 KiB,
    less than one row of logits.
    """

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._pause = _FIRST_PAUSE_S
        self._attempts = 0

    def wait_after(self, error: TokendrawError) -> float:
        """Seconds until the attempt that follows the one with this error.

        Raises:
            TokendrawError: none follows: this one, if it has no retry_after,
                or DEADLINE_EXCEEDED with its text if there is no time.
        """
        self._attempts += 1
        if error.retry_after is None:
            raise error
        # Clients that lost the same server must not come back in step.
        wait = max(error.retry_after, self._pause) * random.uniform(1.0, 1.4)
        if wait >= self._deadline.left():
            raise TokendrawError(
                grpc.StatusCode.DEADLINE_EXCEEDED,
                f'no server took the call in {self._attempts} attempts; '
                f'the last one: {error}',
            ) from error
        self._pause = min(2 * self._pause, _LONGEST_PAUSE_S)
        return wait


def retried(attempt: Callable[[], _T], deadline: Deadline) -> _T:
    """Calls `attempt` until it succeeds or its error has no retry_after.

    Raises:
        TokendrawError: see _Retries.wait_after.
    """
    retries = _Retries(deadline)
    while True:
        try:
            return attempt()
        except TokendrawError as error:
            wait = retries.wait_after(error)
        time.sleep(wait)


async def retried_async(
    attempt: Callable[[], Awaitable[_T]], deadline: Deadline
) -> _T:
    """As retried()."""
    retries = _Retries(deadline)
    while True:
        try:
            return await attempt()
        except TokendrawError as error:
            wait = retries.wait_after(error)
        await asyncio.sleep(wait)
