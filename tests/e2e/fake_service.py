"""A service that answers what a test tells it to."""

from collections.abc import Callable, Iterator
from concurrent import futures
import threading

import grpc

from protos import sampling_pb2
from protos import sampling_pb2_grpc
from requests_of import Request
from requests_of import Response

# Answers one message, or ends the call through the context.
Answer = Callable[[Request, grpc.ServicerContext], Response]


class FakeService(sampling_pb2_grpc.SamplingServiceServicer):
    """Leaving it as a context stops it.

    Attributes:
        address: where it serves.
        streams: that were opened so far.
    """

    def __init__(
        self,
        answer: Answer,
        info: sampling_pb2.GetServerInfoResponse | None = None,
    ) -> None:
        """`answer` is for one thread at a time."""
        self._answer = answer
        self._info = info or sampling_pb2.GetServerInfoResponse(
            max_message_bytes=64 << 20
        )
        self._lock = threading.Lock()
        self.streams = 0
        self._server = grpc.server(futures.ThreadPoolExecutor(8))
        sampling_pb2_grpc.add_SamplingServiceServicer_to_server(
            self, self._server
        )
        port = self._server.add_insecure_port('127.0.0.1:0')
        self.address = f'127.0.0.1:{port}'
        self._server.start()

    def __enter__(self) -> 'FakeService':
        return self

    def __exit__(self, *unused: object) -> None:
        self._server.stop(grace=None).wait()

    # pylint: disable=invalid-name
    def GetServerInfo(
        self,
        request: sampling_pb2.GetServerInfoRequest,
        context: grpc.ServicerContext,
    ) -> sampling_pb2.GetServerInfoResponse:
        return self._info

    def SampleTokens(
        self, request: Request, context: grpc.ServicerContext
    ) -> Response:
        with self._lock:
            return self._answer(request, context)

    def StreamSampleTokens(
        self, requests: Iterator[Request], context: grpc.ServicerContext
    ) -> Iterator[Response]:
        self.streams += 1
        context.send_initial_metadata(())  # as the real one does
        for request in requests:
            yield self.SampleTokens(request, context)
