"""Callers that call without a pause until they are told to stop."""

from collections import Counter
from collections.abc import Callable
import threading

import grpc

from client import Client
from client import Stream
from client import retry
from harness import PATIENCE_S
from requests_of import Params
from requests_of import request

_GREEDY = request([[1, 3, 2]], Params(temperature=0))

# Makes the next call of one caller: it may fail with grpc.RpcError.
_Call = Callable[[], None]


def unary_caller(client: Client, wait_for_ready: bool) -> _Call:
    def call() -> None:
        reply = client.stub.SampleTokens(
            _GREEDY, timeout=5, wait_for_ready=wait_for_ready
        )
        assert list(reply.token_ids) == [1]

    return call


def stream_caller(client: Client, wait_for_ready: bool) -> _Call:
    """Steps of one stream, which is opened again when it has ended."""
    streams: list[Stream] = []

    def call() -> None:
        if not streams:
            streams.append(client.open_stream(wait_for_ready))
        try:
            reply = streams[-1].step(_GREEDY)
        except grpc.RpcError:
            streams.pop().close()
            raise
        assert list(reply.token_ids) == [1]

    return call


class Load:
    """Calls from threads: half of them unary, half of them on streams.

    Attributes:
        done: calls that were answered.
        faults: statuses that callers saw, with their number.
        broken: what callers died of beside them; nothing, if all is well.
    """

    def __init__(
        self, address: str, callers: int = 4, *, patient: bool
    ) -> None:
        """Patient callers wait for a server and retry for 5 s."""
        self.done = 0
        self.faults: Counter[str] = Counter()
        self.broken: list[BaseException] = []
        self._patient = patient
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._clients = [Client(address) for _ in range(callers)]
        self._threads = [
            threading.Thread(target=self._run, args=(number, client))
            for number, client in enumerate(self._clients)
        ]

    def __enter__(self) -> 'Load':
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *unused: object) -> None:
        self._stop.set()
        for thread, client in zip(self._threads, self._clients, strict=True):
            # Whoever waits for a server that does not come is told here.
            thread.join(PATIENCE_S)
            client.channel.close()
            thread.join()

    def _run(self, number: int, client: Client) -> None:
        make = stream_caller if number % 2 else unary_caller
        try:
            self._loop(make(client, self._patient))
        except BaseException as error:  # pylint: disable=broad-except
            self.broken.append(error)
            raise

    def _loop(self, call: _Call) -> None:
        while not self._stop.is_set():
            try:
                if self._patient:
                    retry(call, patience_s=5)
                else:
                    call()
            except grpc.RpcError as error:
                with self._lock:
                    self.faults[error.code().name] += 1
                self._stop.wait(0.001)  # a refused caller would only spin
            else:
                with self._lock:
                    self.done += 1
