"""SIGTERM: health first, then the listener, and no work is lost."""

from concurrent import futures
import itertools
import signal
import time

import grpc
import pytest

from client import NOT_SERVING
from client import SERVING
from client import Client
from client import Stream
from client import fault_of
from conftest import StartServer
from harness import Server
from harness import wait_until
from requests_of import Params
from requests_of import Request
from requests_of import request
from slow import CpuMark
from slow import slow_request

_GREEDY = request([[1, 3, 2]], Params(temperature=0))

_UNAVAILABLE = (grpc.StatusCode.UNAVAILABLE, 'the server is draining')

_SIGNALS = pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT])


def _start_slow(server: Server, client: Client) -> tuple[grpc.Future, int]:
    """A call that the server is computing, and the draws it asks for."""
    slow = slow_request(client, 1.0)
    mark = CpuMark(server)
    call = client.stub.SampleTokens.future(slow, timeout=600)
    mark.wait_for_work()
    return call, slow.rows[0].sample_count


def _with_step(step: int, asked: Request) -> Request:
    copy = Request()
    copy.CopyFrom(asked)
    copy.step = step
    return copy


def _last_words(server: Server) -> str:
    return server.stderr.splitlines()[-1]


# Field cases G18, G19.
def test_a_draining_server_says_not_serving_and_still_answers(
    start_server: StartServer,
) -> None:
    server = start_server('--drain_delay_ms', '3000')
    with Client(server.address) as client:
        assert client.health() == SERVING
        start = time.monotonic()
        server.signal(signal.SIGTERM)
        wait_until(
            'health says NOT_SERVING', lambda: client.health() == NOT_SERVING
        )
        told_after = time.monotonic() - start
        assert client.health('') == SERVING
        assert list(client.sample(_GREEDY).token_ids) == [1]
        with Client(server.address) as newcomer:
            assert list(newcomer.sample(_GREEDY).token_ids) == [1]
            with newcomer.open_stream() as stream:
                assert list(stream.step(_GREEDY).token_ids) == [1]
        assert server.wait() == 0
    assert told_after < 3
    assert time.monotonic() - start >= 3
    assert _last_words(server) == 'tokendrawd: drained'


@_SIGNALS
def test_a_call_that_runs_is_finished(
    start_server: StartServer, number: signal.Signals
) -> None:
    server = start_server('--threads', '1', '--grace_ms', '600000')
    with Client(server.address) as client:
        call, draws = _start_slow(server, client)
        assert not call.done()
        server.signal(number)
        wait_until('it drains', lambda: 'draining' in server.stderr)
        assert not call.done()
        reply = call.result()
        assert len(reply.token_ids) == draws
        assert server.wait() == 0
    assert _last_words(server) == 'tokendrawd: drained'


def test_a_call_that_outlasts_the_grace_is_cut_off(
    start_server: StartServer,
) -> None:
    server = start_server('--threads', '1', '--grace_ms', '0')
    with Client(server.address) as client:
        call, _ = _start_slow(server, client)
        server.signal(signal.SIGTERM)
        fault = fault_of(call.result)
        assert fault[0] == grpc.StatusCode.UNAVAILABLE, fault
    assert server.wait() == 0


def test_an_idle_stream_ends_with_unavailable_draining(
    start_server: StartServer,
) -> None:
    server = start_server('--grace_ms', '600000')
    with Client(server.address) as client:
        with client.open_stream() as fresh, client.open_stream() as used:
            # Headers come with the first reply: a used stream is open for sure.
            assert list(used.step(_GREEDY).token_ids) == [1]
            fresh.step(_GREEDY)
            server.signal(signal.SIGTERM)
            assert fault_of(used.receive) == _UNAVAILABLE
            assert fault_of(fresh.receive) == _UNAVAILABLE
        # Well before the grace has passed.
        assert server.wait() == 0


def test_a_busy_stream_is_answered_before_it_ends(
    start_server: StartServer,
) -> None:
    server = start_server('--threads', '1', '--grace_ms', '600000')
    with Client(server.address) as client, client.open_stream() as stream:
        slow = slow_request(client, 0.5)
        draws = slow.rows[0].sample_count
        stream.step(_GREEDY)
        mark = CpuMark(server)
        for step in (1, 2):  # max_in_flight is 2
            stream.send(_with_step(step, slow))
        mark.wait_for_work()
        server.signal(signal.SIGTERM)
        replies = [stream.receive() for _ in range(2)]
        assert [reply.step for reply in replies] == [1, 2]
        assert [len(reply.token_ids) for reply in replies] == [draws] * 2
        assert fault_of(stream.receive) == _UNAVAILABLE
    assert server.wait() == 0


def _decode(stream: Stream) -> tuple[int, tuple[grpc.StatusCode, str]]:
    """Steps until the stream ends: how many, and how it ended."""
    for step in itertools.count():
        try:
            reply = stream.step(_with_step(step, _GREEDY))
        except grpc.RpcError as error:
            return step, (error.code(), error.details())
        assert (reply.step, list(reply.token_ids)) == (step, [1])
    raise AssertionError


@_SIGNALS
def test_streams_under_load_end_in_order(
    start_server: StartServer, number: signal.Signals
) -> None:
    server = start_server('--grace_ms', '600000')
    with (
        Client(server.address) as client,
        futures.ThreadPoolExecutor(8) as pool,
    ):
        streams = [client.open_stream() for _ in range(8)]
        for stream in streams:
            stream.step(_GREEDY)
        runs = [pool.submit(_decode, stream) for stream in streams]
        with Client(server.address) as other:
            for _ in range(100):  # the load runs meanwhile
                other.sample(_GREEDY)
        server.signal(number)
        ends = [run.result() for run in runs]
        for stream in streams:
            stream.close()
    assert [fault for _, fault in ends] == [_UNAVAILABLE] * 8
    assert min(steps for steps, _ in ends) > 0
    assert server.wait() == 0
