"""The channel below the client."""

import asyncio
from collections.abc import Iterator
import contextlib
from typing import Any

import grpc

from tokendraw import errors
from tokendraw.connection import (
    GRPC_MESSAGE_BYTES,
    Link,
    channel_credentials,
    channel_options,
)
from tokendraw.errors import TokendrawError
from tokendraw.identity import Identity
from tokendraw.retry import Deadline, retried_async
from tokendraw.v1 import sampling_pb2, sampling_pb2_grpc


class Connection:
    """One address, for the tasks of one event loop.

    Connects with the first call.
    """

    def __init__(self, address: str, identity: Identity) -> None:
        self.address = address
        self.identity = identity
        self._link: Link[grpc.aio.Channel] | None = None
        # See tokendraw.connection.
        self._question = _channel(address, identity, GRPC_MESSAGE_BYTES)
        # Tasks that gRPC lets wait. It does not wake each one itself when their
        # channel is closed.
        self._waiting: set[asyncio.Task[Any]] = set()
        self._closed = False

    async def close(self) -> None:
        """Ends all calls; they fail with CANCELLED."""
        self._closed = True
        for task in self._waiting:
            task.cancel()
        await self._question.close()
        if self._link:
            await self._link.channel.close()

    async def link(self, deadline: Deadline) -> Link[grpc.aio.Channel]:
        """The channel, its stub and what the server said of itself.

        Raises:
            TokendrawError: it did not say it.
        """
        return await retried_async(
            lambda waits: self._connect(deadline, waits), deadline
        )

    async def _connect(
        self, deadline: Deadline, waits: bool
    ) -> Link[grpc.aio.Channel]:
        if self._link:
            return self._link
        stub = sampling_pb2_grpc.SamplingServiceStub(self._question)
        with self.waiting():
            info = await stub.GetServerInfo(
                sampling_pb2.GetServerInfoRequest(),
                timeout=deadline.left(),
                metadata=self.identity.authorization(),
                wait_for_ready=waits,
            )
        if not self._link:  # another task may have been faster
            channel = _channel(
                self.address, self.identity, info.max_message_bytes
            )
            stub = sampling_pb2_grpc.SamplingServiceStub(channel)
            self._link = Link(channel, stub, info)
        return self._link

    async def call(self, method: str, request: Any, deadline: Deadline) -> Any:
        """One unary call of SamplingService, retried.

        Raises:
            TokendrawError: it failed, or there was no time for a retry.
        """

        async def attempt(waits: bool) -> Any:
            link = await self.link(deadline)
            with self.waiting():
                return await getattr(link.stub, method)(
                    request,
                    timeout=deadline.left(),
                    metadata=self.identity.authorization(),
                    wait_for_ready=waits,
                )

        return await retried_async(attempt, deadline)

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Around what waits for gRPC: raises TokendrawError in place of its."""
        task = asyncio.current_task()
        assert task, 'a call is made by a task'
        self._waiting.add(task)
        try:
            yield
        except grpc.RpcError as error:
            raise errors.of_call(error, self.address) from error
        except asyncio.CancelledError:
            # By close(), or by whoever else cancels the task.
            if not self._closed or task.uncancel() > 0:
                raise
            raise TokendrawError(
                grpc.StatusCode.CANCELLED,
                f'the client was closed ({self.address})',
            ) from None
        finally:
            self._waiting.discard(task)


def _channel(
    address: str, identity: Identity, message_bytes: int
) -> grpc.aio.Channel:
    options = channel_options(address, identity, message_bytes)
    credentials = channel_credentials(address, identity)
    if credentials:
        return grpc.aio.secure_channel(address, credentials, options)
    return grpc.aio.insecure_channel(address, options)
