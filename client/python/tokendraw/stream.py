"""A worker's decode loop: one message a step, one reply a message."""

import queue
import threading
from typing import Self

import grpc

from tokendraw import errors
from tokendraw.connection import Connection
from tokendraw.errors import TokendrawError
from tokendraw.retry import Deadline, retried
from tokendraw.sampler import BlockingSampler
from tokendraw.sharing import Sharing
from tokendraw.v1 import sampling_pb2, sampling_pb2_grpc


class SampleStream(BlockingSampler):
    """A stream that outlives its servers. For one thread at a time.

    When the server goes away, the message that it has not answered is sent to
    the next one.
    """

    def __init__(
        self, connection: Connection, sharing: Sharing, deadline: float
    ) -> None:
        """Made by Client.stream. Connects with the first step."""
        super().__init__(connection, sharing, deadline)
        self._call: _Call | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the stream. A later step opens another one."""
        if self._call:
            self._call.finish(self._deadline)
            self._call = None

    # A message that the server refuses is an error of this step alone.
    step = BlockingSampler._sample

    def _exchange(
        self, request: sampling_pb2.SampleTokensRequest, deadline: Deadline
    ) -> sampling_pb2.SampleTokensResponse:
        request.timeout_ms = 1 + int(1000 * deadline.left())
        return retried(
            lambda waits: self._attempt(request, deadline, waits), deadline
        )

    def _attempt(
        self,
        request: sampling_pb2.SampleTokensRequest,
        deadline: Deadline,
        waits: bool,
    ) -> sampling_pb2.SampleTokensResponse:
        call = self._call
        if not call:
            link = self._connection.link(deadline)
            call = _Call(link.stub, self._connection, waits)
        # Whatever happens before the reply, nobody must take it for the next.
        self._call = None
        try:
            response = call.exchange(request, deadline)
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
    """One gRPC stream to one server.

    A thread reads it: gRPC's own reading has no deadline but that of all the
    stream.
    """

    def __init__(
        self,
        stub: sampling_pb2_grpc.SamplingServiceStub,
        connection: Connection,
        waits: bool,
    ) -> None:
        self._address = connection.address
        self._requests: queue.SimpleQueue[
            sampling_pb2.SampleTokensRequest | None
        ] = queue.SimpleQueue()
        self._replies: queue.SimpleQueue[
            sampling_pb2.SampleTokensResponse | TokendrawError
        ] = queue.SimpleQueue()
        self._call = stub.StreamSampleTokens(
            iter(self._requests.get, None),
            metadata=connection.identity.authorization(),
            wait_for_ready=waits,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        try:
            for response in self._call:
                self._replies.put(response)
            end = errors.of_end(self._address)
        except grpc.RpcError as error:
            end = errors.of_call(error, self._address)
        self._replies.put(end)

    def exchange(
        self, request: sampling_pb2.SampleTokensRequest, deadline: Deadline
    ) -> sampling_pb2.SampleTokensResponse:
        """Raises TokendrawError if the stream ends, or the deadline passes."""
        self._requests.put(request)
        try:
            reply = self._replies.get(timeout=deadline.left())
        except queue.Empty:
            raise errors.of_late(self._address) from None
        if isinstance(reply, TokendrawError):
            raise reply
        return reply

    def finish(self, timeout: float) -> None:
        """Says that no message follows, and waits for the server's status."""
        self._requests.put(None)
        self._reader.join(timeout)
        self._call.cancel()

    def cancel(self) -> None:
        self._requests.put(None)
        self._call.cancel()
