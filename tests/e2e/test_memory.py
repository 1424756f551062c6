"""What the server holds when far more is sent to it than it can take."""

from collections import Counter
import signal
import threading
import time

import grpc
import numpy as np

from client import Client
from conftest import StartServer
from harness import SLOW_FACTOR
from harness import Server
from requests_of import Params
from requests_of import request

_MIB = 1 << 20
_BUDGET = 256 * _MIB
_CALLS = 200
_METHOD = '/tokendraw.v1.SamplingService/SampleTokens'
_SMALL = request([[1, 3, 2]], Params(temperature=0))


class _Peak(threading.Thread):
    """Watches how much memory a server has until it is stopped."""

    def __init__(self, server: Server) -> None:
        super().__init__()
        self._server = server
        self._stopped = threading.Event()
        self.bytes = 0

    def run(self) -> None:
        while not self._stopped.wait(0.01):
            self.bytes = max(self.bytes, self._server.rss_bytes)

    def stop(self) -> None:
        self._stopped.set()
        self.join()


# Field case G06.
def test_200_calls_of_16_mib_stay_within_three_times_the_budget(
    start_server: StartServer,
) -> None:
    """3.2 GiB at a time, each call over a connection of its own."""
    server = start_server('--max_queued_bytes', str(_BUDGET))
    rows = np.zeros((32, 16 * _MIB // 32 // 4), np.float32)
    message = request(rows, Params(temperature=0)).SerializeToString()
    with Client(server.address) as client:
        client.sample(_SMALL)
        peak = _Peak(server)
        peak.start()
        channels = [
            grpc.insecure_channel(
                server.address,
                options=[
                    ('grpc.max_send_message_length', -1),
                    ('grpc.use_local_subchannel_pool', 1),
                ],
            )
            for _ in range(_CALLS)
        ]
        for channel in channels:
            grpc.channel_ready_future(channel).result(timeout=60)
        calls = [channel.unary_unary(_METHOD) for channel in channels]
        # All of them are under way before the first one is read.
        server.signal(signal.SIGSTOP)
        futures = [call.future(message, timeout=60) for call in calls]
        server.signal(signal.SIGCONT)
        start = time.monotonic()
        codes = Counter(future.code() for future in futures)
        took_s = time.monotonic() - start
        start = time.monotonic()
        assert list(client.sample(_SMALL).token_ids) == [1]
        assert time.monotonic() - start < 1 * SLOW_FACTOR
        peak.stop()
        for channel in channels:
            channel.close()
    assert set(codes) <= {
        grpc.StatusCode.OK,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        # Its connection was closed before the call was read.
        grpc.StatusCode.UNAVAILABLE,
    }
    assert codes[grpc.StatusCode.OK] > 0
    assert codes[grpc.StatusCode.RESOURCE_EXHAUSTED] > 0
    assert took_s < 30 * SLOW_FACTOR
    assert peak.bytes < 3 * _BUDGET * SLOW_FACTOR, f'{peak.bytes / _MIB} MiB'
