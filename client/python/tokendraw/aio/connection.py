"""The channel below the client."""

import asyncio
from collections.abc import Iterator
import contextlib
from typing import Any
import weakref

import grpc

from tokendraw import errors
from tokendraw.connection import GRPC_MESSAGE_BYTES, Link, channel_options
from tokendraw.errors import TokendrawError
from tokendraw.retry import Deadline, retried_async
from tokendraw.v1 import sampling_pb2, sampling_pb2_grpc


class Connection:
    """One address, for the tasks of one event loop.

    Connects with the first call.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._link: Link[grpc.aio.Channel] | None = None
        # See tokendraw.connection.
        self._question = _channel(address, GRPC_MESSAGE_BYTES)
        # The end of an asyncio channel does not end them.
        self._streams: weakref.WeakSet[grpc.aio.StreamStreamCall] = (
            weakref.WeakSet()
        )

    async def close(self) -> None:
        """Ends all calls; they fail with CANCELLED."""
        for stream in self._streams:
            stream.cancel()
        await self._question.close()
        if self._link:
            await self._link.channel.close()

    async def link(self, deadline: Deadline) -> Link[grpc.aio.Channel]:
        """The channel, its stub and what the server said of itself.

        Raises:
            TokendrawError: it did not say it.
        """
        return await retried_async(lambda: self._connect(deadline), deadline)

    async def _connect(self, deadline: Deadline) -> Link[grpc.aio.Channel]:
        if self._link:
            return self._link
        stub = sampling_pb2_grpc.SamplingServiceStub(self._question)
        with as_tokendraw_error(self.address):
            info = await stub.GetServerInfo(
                sampling_pb2.GetServerInfoRequest(),
                timeout=deadline.left(),
                wait_for_ready=True,
            )
        if not self._link:  # another task may have been faster
            channel = _channel(self.address, info.max_message_bytes)
            stub = sampling_pb2_grpc.SamplingServiceStub(channel)
            self._link = Link(channel, stub, info)
        return self._link

    async def call(self, method: str, request: Any, deadline: Deadline) -> Any:
        """One unary call of SamplingService, retried.

        Raises:
            TokendrawError: it failed, or there was no time for a retry.
        """

        async def attempt() -> Any:
            link = await self.link(deadline)
            with as_tokendraw_error(self.address):
                return await getattr(link.stub, method)(
                    request, timeout=deadline.left(), wait_for_ready=True
                )

        return await retried_async(attempt, deadline)

    async def open_stream(
        self, deadline: Deadline
    ) -> grpc.aio.StreamStreamCall:
        """A call of StreamSampleTokens, which may not have reached a server.

        Raises:
            TokendrawError: the server did not tell its limits.
        """
        link = await self.link(deadline)
        stream = link.stub.StreamSampleTokens(wait_for_ready=True)
        self._streams.add(stream)
        return stream


@contextlib.contextmanager
def as_tokendraw_error(address: str) -> Iterator[None]:
    """What gRPC raises for the end of a call, as our own error.

    That includes the cancellation of a call by the end of its channel, but
    not that of the task.
    """
    try:
        yield
    except grpc.RpcError as error:
        raise errors.of_call(error, address) from error
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if not task or task.cancelling():
            raise
        raise TokendrawError(
            grpc.StatusCode.CANCELLED, f'the client was closed ({address})'
        ) from None


def _channel(address: str, message_bytes: int) -> grpc.aio.Channel:
    return grpc.aio.insecure_channel(
        address, channel_options(address, message_bytes)
    )
