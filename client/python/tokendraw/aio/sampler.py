"""What asyncio's Client and SampleStream have in common."""

import abc
from collections.abc import Coroutine
from typing import Any

from tokendraw.aio.connection import Connection
from tokendraw.batch import Batch
from tokendraw.conversation import converse_async
from tokendraw.result import SampleResult
from tokendraw.retry import Deadline
from tokendraw.sample_batch import sample_batch
from tokendraw.sampler import Sampler
from tokendraw.sharing import Sharing
from tokendraw.v1 import sampling_pb2


class AsyncSampler(Sampler[Coroutine[Any, Any, SampleResult]]):
    """One whose calls are awaited."""

    def __init__(
        self, connection: Connection, sharing: Sharing, deadline: float
    ) -> None:
        """`deadline` is in seconds, for one batch."""
        self._connection = connection
        self._sharing = sharing
        self._deadline = deadline

    @abc.abstractmethod
    async def _exchange(
        self, request: sampling_pb2.SampleTokensRequest, deadline: Deadline
    ) -> sampling_pb2.SampleTokensResponse:
        """Sends one message and returns its reply; raises TokendrawError."""

    async def _answer(self, batch: Batch) -> SampleResult:
        deadline = Deadline(self._deadline)
        link = await self._connection.link(deadline)
        return await converse_async(
            sample_batch(batch, self._sharing, link.info.max_message_bytes),
            lambda request: self._exchange(request, deadline),
        )
