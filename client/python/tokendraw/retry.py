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
        self._last: TokendrawError | None = None

    def wait_after(self, error: TokendrawError) -> float:
        """Seconds until the attempt that follows the one with this error.

        Raises:
            TokendrawError: none follows: this one, if it has no retry_after,
                or DEADLINE_EXCEEDED with its text if there is no time.
        """
        self._attempts += 1
        if error.retry_after is None:
            late = error.code is grpc.StatusCode.DEADLINE_EXCEEDED
            if late and self._last:
                raise TokendrawError(
                    error.code,
                    f'{error.details}; before that: {self._last}',
                ) from error
            raise error
        self._last = error
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


def retried(attempt: Callable[[bool], _T], deadline: Deadline) -> _T:
    """Calls `attempt` until it succeeds or its error has no retry_after.

    Its argument is whether it is to wait for a server that it can connect to.
    The first attempt is not: it tells why there is none, which gRPC does not
    say of one that waited.

    Raises:
        TokendrawError: see _Retries.wait_after.
    """
    retries = _Retries(deadline)
    waits = False
    while True:
        try:
            return attempt(waits)
        except TokendrawError as error:
            wait = retries.wait_after(error)
        waits = True
        time.sleep(wait)


async def retried_async(
    attempt: Callable[[bool], Awaitable[_T]], deadline: Deadline
) -> _T:
    """As retried()."""
    retries = _Retries(deadline)
    waits = False
    while True:
        try:
            return await attempt(waits)
        except TokendrawError as error:
            wait = retries.wait_after(error)
        waits = True
        await asyncio.sleep(wait)
