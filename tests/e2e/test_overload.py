"""More than the server can do: it sheds by name, and stays itself."""

from collections import Counter
from collections.abc import Iterator
from concurrent import futures
import statistics
import time

import grpc
import numpy as np
import pytest

from client import SERVING
from client import Client
from client import fault_of
from conftest import StartServer
from harness import SLOW_FACTOR
from harness import Server
from harness import scaled
from harness import wait_until
from requests_of import Params
from requests_of import Request
from requests_of import RowSpec
from requests_of import request
from slow import CpuMark
from slow import slow_request

_SMALL = request([[1, 3, 2]], Params(temperature=0))

_LATE = (
    grpc.StatusCode.DEADLINE_EXCEEDED,
    'the deadline passed while the message was queued; it was not computed',
)


def _heavy(rows: int, draws: int = 64) -> Request:
    """Small on the wire; each row makes 1024 noises a draw."""
    spec = RowSpec(seed=1, sample_count=draws)
    return request(np.zeros((rows, 1024)), rows=[spec] * rows)


class _Stalled:
    """A stream that sends and never reads, until it is told to."""

    _MESSAGES = 200
    # Every reply is larger than the 64 KiB that a client which does not read,
    # and does not let its window grow, has room for.
    _REQUEST = request(np.zeros((1, 50_000)), Params(return_kept=True))

    def __init__(self, address: str, messages: int = _MESSAGES) -> None:
        options = {'http2.bdp_probe': 0}
        self.client = Client(address, **options)
        self._messages = messages
        self.sent = 0
        self._call = self.client.stub.StreamSampleTokens(
            self._send(), wait_for_ready=True
        )

    def _send(self) -> Iterator[Request]:
        for _ in range(self._messages):
            yield self._REQUEST
            self.sent += 1

    def read(self) -> tuple[int, grpc.StatusCode]:
        """All replies that there are, and the status."""
        replies = 0
        try:
            for reply in self._call:
                assert reply.details[0].kept_count == 50_000
                replies += 1
        except grpc.RpcError as error:
            return replies, error.code()
        return replies, grpc.StatusCode.OK


def _call_for(seconds: float, server: Server) -> tuple[int, int]:
    """A client that is served meanwhile: its calls, and the most memory."""
    calls = most = 0
    end = time.monotonic() + seconds
    with Client(server.address) as client:
        while time.monotonic() < end:
            assert list(client.sample(_SMALL).token_ids) == [1]
            calls += 1
            most = max(most, server.rss_bytes)
    return calls, most


# Field case G05.
def test_streams_that_never_read_are_cancelled_and_cost_little(
    start_server: StartServer,
) -> None:
    """50 clients offer 40 MB each; what the transport holds is 6 MB or so."""
    server = start_server('--write_timeout_ms', '1000')
    _call_for(0.2, server)
    before = server.rss_bytes
    streams = [_Stalled(server.address) for _ in range(50)]
    sent, most = -1, 0
    # Until no stream has sent anything for longer than the time.
    while sent != (sent := sum(stream.sent for stream in streams)):
        calls, most_now = _call_for(2.5, server)
        assert calls > 0
        most = max(most, most_now)
    assert most - before < SLOW_FACTOR * 50 * 9e6
    ends = [stream.read() for stream in streams]
    assert Counter(code for _, code in ends) == {grpc.StatusCode.CANCELLED: 50}
    assert max(replies for replies, _ in ends) < 5
    assert _call_for(0.2, server)[0] > 0
    for stream in streams:
        stream.client.channel.close()


# Field case G05.
def test_streams_that_never_read_do_not_slow_a_client_that_does(
    start_server: StartServer,
) -> None:
    server = start_server('--write_timeout_ms', '600000')

    def median_s() -> float:
        with Client(server.address) as client:
            times: list[float] = []
            for _ in range(201):
                start = time.monotonic()
                client.sample(_SMALL)
                times.append(time.monotonic() - start)
        return statistics.median(times)

    alone_s = median_s()
    streams = [_Stalled(server.address, messages=4) for _ in range(50)]
    wait_until('all have sent', lambda: all(s.sent == 4 for s in streams))
    assert median_s() < 5 * alone_s + 0.01
    assert Counter(stream.read() for stream in streams) == {
        (4, grpc.StatusCode.OK): 50
    }
    for stream in streams:
        stream.client.channel.close()


def test_a_stream_that_reads_within_the_time_is_not_cancelled(
    start_server: StartServer,
) -> None:
    server = start_server('--write_timeout_ms', '600000')
    stream = _Stalled(server.address, messages=20)
    _call_for(2.0, server)
    assert stream.read() == (20, grpc.StatusCode.OK)
    stream.client.channel.close()


@pytest.mark.parametrize('how', ['deadline', 'timeout_ms'])
# Field case G08.
def test_late_calls_are_not_computed(
    start_server: StartServer, how: str
) -> None:
    """100 calls of 64 rows, 1 ms each, then one that has time."""
    server = start_server('--threads', '1')
    asked = _heavy(64)
    with Client(server.address) as client:
        start = server.cpu_s
        client.sample(asked)
        one_call_s = server.cpu_s - start

        slow = slow_request(client, 0.5)
        mark = CpuMark(server)
        blocker = client.stub.SampleTokens.future(slow)
        mark.wait_for_work()
        start = server.cpu_s
        late = Request()
        late.CopyFrom(asked)
        late.timeout_ms = 1 if how == 'timeout_ms' else 0
        time_s = 0.001 if how == 'deadline' else None
        calls = [
            client.stub.SampleTokens.future(late, timeout=time_s)
            for _ in range(100)
        ]
        faults = Counter(fault_of(call.result) for call in calls)
        reply = client.sample(asked, timeout_s=5 * SLOW_FACTOR)
        spent_s = server.cpu_s - start
        assert blocker.result().token_ids
    assert len(reply.token_ids) == 64 * 64
    assert {code for code, _ in faults} == {grpc.StatusCode.DEADLINE_EXCEEDED}
    if how == 'timeout_ms':
        assert faults == {_LATE: 100}
    # The rest of the blocker, one call, and the refusals; far from 100 calls.
    assert spent_s < 0.5 + 10 * one_call_s


def test_a_late_message_of_a_stream_is_told_so_in_band(
    start_server: StartServer,
) -> None:
    server = start_server('--threads', '1')
    late = Request(timeout_ms=1)
    late.MergeFrom(_SMALL)
    with Client(server.address) as client, client.open_stream() as stream:
        stream.step(_SMALL)
        slow = slow_request(client, 0.5)
        mark = CpuMark(server)
        blocker = client.stub.SampleTokens.future(slow)
        mark.wait_for_work()
        reply = stream.step(late)
        assert (reply.error.code, reply.error.message) == (4, _LATE[1])
        assert not reply.token_ids
        assert blocker.result().token_ids
        assert list(stream.step(_SMALL).token_ids) == [1]


# Field case G18.
def test_health_answers_while_all_workers_are_busy(
    start_server: StartServer,
) -> None:
    server = start_server('--threads', '2')
    with Client(server.address) as client, Client(server.address) as prober:
        slow = slow_request(client, 1.0)
        mark = CpuMark(server)
        calls = [client.stub.SampleTokens.future(slow) for _ in range(4)]
        mark.wait_for_work()
        for _ in range(20):
            assert (prober.health(''), prober.health()) == (SERVING, SERVING)
        assert not any(call.done() for call in calls)
        assert all(call.result().token_ids for call in calls)


# Field case G20.
def test_three_clients_in_a_closed_loop_see_no_error(
    start_server: StartServer,
) -> None:
    server = start_server('--threads', '4')
    with futures.ThreadPoolExecutor(3) as pool:
        runs = [pool.submit(_call_for, 3.0, server) for _ in range(3)]
        assert min(run.result()[0] for run in runs) > 10


# Field case G20.
def test_400_clients_see_only_the_documented_refusal(
    start_server: StartServer,
) -> None:
    server = start_server(
        '--threads', '4', '--max_rows', '8', '--max_queued_rows', '8'
    )
    full = 'the queue is full: max_queued_rows is 8; retry with backoff'
    clients = [Client(server.address) for _ in range(400)]
    for client in clients:
        assert client.health() == SERVING  # connected
    for _ in range(scaled(3)):
        calls = [c.stub.SampleTokens.future(_heavy(2, 1024)) for c in clients]
        healthy = [client.health() for client in clients[:5]]
        assert healthy == [SERVING] * 5
        ends: Counter[str | None] = Counter()
        for call in calls:
            error = call.exception()
            ends[error and f'{error.code().name}: {error.details()}'] += 1
        assert set(ends) == {None, f'RESOURCE_EXHAUSTED: {full}'}
        assert ends[None] >= 4
    assert len(clients[0].sample(_heavy(8)).token_ids) == 8 * 64
    for client in clients:
        client.channel.close()
