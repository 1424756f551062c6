"""When a call is made again, and when it is over."""

from collections.abc import Callable
import random
import time
from typing import TypeVar

import grpc

from tokendraw.errors import TokendrawError

_FIRST_PAUSE_S = 0.01
_LONGEST_PAUSE_S = 1.0

_T = TypeVar('_T')


class Deadline:
    """The end of a call, retries included."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds left; 0 once it has passed."""
        return max(0.0, self._end - time.monotonic())


def retried(attempt: Callable[[], _T], deadline: Deadline) -> _T:
    """Calls `attempt` until it succeeds or its error has no retry_after.

    Always safe: a token is a pure function of its request (a row without a
    seed draws another, valid, one). gRPC's own retries give up above 256 KiB,
    less than one row of logits.

    Raises:
        TokendrawError: the last one; DEADLINE_EXCEEDED with its text if there
            is no time for another attempt.
    """
    pause = _FIRST_PAUSE_S
    attempts = 0
    while True:
        try:
            return attempt()
        except TokendrawError as error:
            attempts += 1
            if error.retry_after is None:
                raise
            # Clients that lost the same server must not come back in step.
            wait = max(error.retry_after, pause) * random.uniform(1.0, 1.4)
            if wait >= deadline.left():
                raise TokendrawError(
                    grpc.StatusCode.DEADLINE_EXCEEDED,
                    f'no server took the call in {attempts} attempts; '
                    f'the last one: {error}',
                ) from error
        time.sleep(wait)
        pause = min(2 * pause, _LONGEST_PAUSE_S)
