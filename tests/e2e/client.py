"""Channels, calls and streams of a client made by the gRPC code generator."""

from collections.abc import Callable, Iterator
import queue
import time
from typing import TypeVar

import grpc
from grpc_health.v1 import health_pb2
from grpc_health.v1 import health_pb2_grpc

from harness import PATIENCE_S
from harness import SERVICE
from protos import sampling_pb2_grpc
from requests_of import Request
from requests_of import Response

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING

# Statuses that say: nothing was computed, call again.
RETRYABLE = (grpc.StatusCode.UNAVAILABLE,)

_T = TypeVar('_T')


class Client:
    """One connection of its own. Leaving it as a context closes it."""

    def __init__(self, address: str, **options: int) -> None:
        """Options are gRPC's channel arguments, without their `grpc.`."""
        settings = {
            'grpc.use_local_subchannel_pool': 1,
            'grpc.max_receive_message_length': 1 << 30,
            'grpc.initial_reconnect_backoff_ms': 20,
            'grpc.max_reconnect_backoff_ms': 100,
            **{f'grpc.{name}': value for name, value in options.items()},
        }
        self.address = address
        self.channel = grpc.insecure_channel(address, list(settings.items()))
        self.stub = sampling_pb2_grpc.SamplingServiceStub(self.channel)
        self._health = health_pb2_grpc.HealthStub(self.channel)

    def __enter__(self) -> 'Client':
        return self

    def __exit__(self, *unused: object) -> None:
        self.channel.close()

    def sample(
        self, request: Request, timeout_s: float = PATIENCE_S
    ) -> Response:
        """One SampleTokens call that waits for a server."""
        return self.stub.SampleTokens(
            request, timeout=timeout_s, wait_for_ready=True
        )

    def sample_bytes(self, request: Request) -> bytes:
        """The serialised reply of SampleTokens, as it came."""
        call = self.channel.unary_unary(
            f'/{SERVICE}/SampleTokens',
            request_serializer=Request.SerializeToString,
        )
        return call(request, timeout=PATIENCE_S, wait_for_ready=True)

    def health(
        self, service: str = SERVICE, wait_for_ready: bool = True
    ) -> int:
        reply = self._health.Check(
            health_pb2.HealthCheckRequest(service=service),
            timeout=PATIENCE_S,
            wait_for_ready=wait_for_ready,
        )
        return reply.status

    def open_stream(self, wait_for_ready: bool = True) -> 'Stream':
        return Stream(self, wait_for_ready)


class Stream:
    """One StreamSampleTokens call: send and receive at will."""

    def __init__(self, client: Client, wait_for_ready: bool) -> None:
        self._outgoing: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self.call = client.stub.StreamSampleTokens(
            iter(self._outgoing.get, None), wait_for_ready=wait_for_ready
        )

    def __enter__(self) -> 'Stream':
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()
        self.call.cancel()

    def send(self, request: Request) -> None:
        self._outgoing.put(request)

    def receive(self) -> Response:
        """The next reply. Raises grpc.RpcError when the stream has ended."""
        return next(self.call)

    def step(self, request: Request) -> Response:
        self.send(request)
        return self.receive()

    def close(self) -> None:
        """Says that nothing more will be sent."""
        self._outgoing.put(None)

    def rest(self) -> Iterator[Response]:
        """The replies still to come, when nothing more will be sent."""
        self.close()
        return iter(self.call)


def fault_of(call: Callable[[], object]) -> tuple[grpc.StatusCode, str]:
    """The status of a call that must fail."""
    try:
        reply = call()
    except grpc.RpcError as error:
        return error.code(), error.details()
    raise AssertionError(f'the call did not fail: {reply}')


def retry(call: Callable[[], _T], patience_s: float) -> _T:
    """Calls until the status is not RETRYABLE, at most for `patience_s`.

    Safe for every call of the service: a token is a function of its request.
    """
    end = time.monotonic() + patience_s
    while True:
        try:
            return call()
        except grpc.RpcError as error:
            if time.monotonic() > end or error.code() not in RETRYABLE:
                raise
