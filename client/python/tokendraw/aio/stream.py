"""A worker's decode loop, for asyncio."""

import asyncio
from typing import Self

import grpc

from tokendraw import errors
from tokendraw.aio.connection import Connection
from tokendraw.aio.sampler import AsyncSampler
from tokendraw.errors import TokendrawError
from tokendraw.retry import Deadline, retried_async
from tokendraw.sharing import Sharing
from tokendraw.v1 import sampling_pb2, sampling_pb2_grpc


class SampleStream(AsyncSampler):
    """tokendraw.SampleStream, for one task at a time."""

    def __init__(
        self, connection: Connection, sharing: Sharing, deadline: float
    ) -> None:
        """Made by Client.stream. Connects with the first step."""
        super().__init__(connection, sharing, deadline)
        self._call: _Call | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *unused: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the stream. A later step opens another one."""
        if self._call:
            call, self._call = self._call, None
            await call.finish(self._deadline)

    # A message that the server refuses is an error of this step alone.
    step = AsyncSampler._sample

    async def _exchange(
        self, request: sampling_pb2.SampleTokensRequest, deadline: Deadline
    ) -> sampling_pb2.SampleTokensResponse:
        link = await self._connection.link(deadline)
        request.timeout_ms = 1 + int(1000 * deadline.left())
        # gRPC would say no more than that the stream has ended.
        errors.check_size(request, link.info.max_message_bytes)
        return await retried_async(
            lambda waits: self._attempt(request, deadline, waits), deadline
        )

    async def _attempt(
        self,
        request: sampling_pb2.SampleTokensRequest,
        deadline: Deadline,
        waits: bool,
    ) -> sampling_pb2.SampleTokensResponse:
        call = self._call
        if not call:
            link = await self._connection.link(deadline)
            call = _Call(link.stub, self._connection, waits)
        # Whatever happens before the reply, nobody must take it for the next.
        self._call = None
        try:
            response = await call.exchange(request, deadline)
        except BaseException:
            call.cancel()
            raise
        if not response.HasField('error'):
            self._call = call
            return response
        error = errors.of_message(response.error)
        if error.code is grpc.StatusCode.UNAVAILABLE:
            call.cancel()
        else:
            self._call = call
        raise error


class _Call:
    """One gRPC stream to one server."""

    def __init__(
        self,
        stub: sampling_pb2_grpc.SamplingServiceStub,
        connection: Connection,
        waits: bool,
    ) -> None:
        self._connection = connection
        self._call = stub.StreamSampleTokens(
            metadata=connection.identity.authorization(), wait_for_ready=waits
        )

    async def exchange(
        self, request: sampling_pb2.SampleTokensRequest, deadline: Deadline
    ) -> sampling_pb2.SampleTokensResponse:
        """Raises TokendrawError if the stream ends, or the deadline passes."""
        try:
            async with asyncio.timeout(deadline.left()):
                with self._connection.waiting():
                    await self._write(request)
                    response = await self._call.read()
        except TimeoutError:
            raise errors.of_late(self._connection.address) from None
        if response is grpc.aio.EOF:
            raise errors.of_end(self._connection.address)
        reply: sampling_pb2.SampleTokensResponse = response
        return reply

    async def _write(self, request: sampling_pb2.SampleTokensRequest) -> None:
        try:
            await self._call.write(request)
        except asyncio.InvalidStateError:
            pass  # it has ended since the last reply: what is read says why
        except grpc.aio.AioRpcError as error:
            # So gRPC calls an end while it writes, whatever the status is.
            if error.code() is grpc.StatusCode.INTERNAL:
                raise errors.of_end(self._connection.address) from error
            raise

    async def finish(self, timeout: float) -> None:
        """Says that no message follows, and waits for the server's status."""
        try:
            async with asyncio.timeout(timeout):
                with self._connection.waiting():
                    await self._call.done_writing()
                    await self._call.code()
        except (TimeoutError, TokendrawError):
            pass
        finally:
            self.cancel()

    def cancel(self) -> None:
        self._call.cancel()
