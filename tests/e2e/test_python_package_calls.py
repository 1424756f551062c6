"""The Python package's calls: deadlines, restarts, limits, a full server."""

from collections.abc import Callable
from concurrent import futures
import pathlib
import signal
import threading
import time
from typing import Any

import grpc
import numpy as np
import pytest

from python_package import tokendraw
import client as generated
from conftest import StartServer
from fake_service import FakeService
from harness import Server
from harness import scaled
from harness import wait_until
from protos import sampling_pb2
from requests_of import Params
from requests_of import Request
from requests_of import Response
from requests_of import real_rows
from requests_of import tensor
from slow import CpuMark
from slow import slow_request

_ROW = np.array([[1, 3, 2]], np.float32)
_GREEDY = Params(temperature=0)
_CODE = grpc.StatusCode

# sample() and step() take the same arguments.
_Call = Callable[..., tokendraw.SampleResult]


def _both(address: str, deadline: float, check: Callable[[_Call], Any]) -> None:
    with (
        tokendraw.Client(address, deadline=deadline) as client,
        client.stream() as stream,
    ):
        for call in (client.sample, stream.step):
            check(call)


def test_the_deadline_holds_where_nobody_serves(
    tmp_path: pathlib.Path,
) -> None:
    address = f'unix:{tmp_path}/none'

    def check(call: _Call) -> None:
        start = time.monotonic()
        with pytest.raises(tokendraw.TokendrawError) as caught:
            call(_ROW)
        assert 0.3 <= time.monotonic() - start < 10
        assert caught.value.code is _CODE.DEADLINE_EXCEEDED
        assert address in caught.value.details

    _both(address, 0.3, check)


def test_a_late_reply_is_nobodys(start_server: StartServer) -> None:
    server = start_server()

    def check(call: _Call) -> None:
        assert call(_ROW, step=1).response.step == 1
        server.signal(signal.SIGSTOP)
        try:
            start = time.monotonic()
            with pytest.raises(tokendraw.TokendrawError) as caught:
                call(_ROW, step=2)
            assert 3 <= time.monotonic() - start < 20
        finally:
            server.signal(signal.SIGCONT)
        assert caught.value.code is _CODE.DEADLINE_EXCEEDED
        assert server.address in caught.value.details
        for step in (3, 4):
            assert call(_ROW, step=step).response.step == step

    _both(server.address, 3.0, check)


def test_restarts_are_not_seen(start_server: StartServer) -> None:
    server = start_server()
    done = [0] * 8
    stop = threading.Event()
    rows = real_rows()[:2]
    with tokendraw.Client(server.address) as client:
        wanted = client.sample(rows, seeds=[1, 2]).response

        def loop(number: int) -> None:
            with client.stream() as stream:
                call = stream.step if number % 2 else client.sample
                while not stop.is_set():
                    assert call(rows, seeds=[1, 2]).response == wanted
                    done[number] += 1

        def wait_for_calls() -> None:
            enough = [count + scaled(30) for count in done]
            wait_until(
                'all are answered',
                lambda: (
                    all(map(int.__ge__, done, enough))
                    or any(run.done() for run in runs)
                ),
            )

        with futures.ThreadPoolExecutor(8) as pool:
            runs = [pool.submit(loop, number) for number in range(8)]
            try:
                for end in (signal.SIGTERM, signal.SIGKILL) * 3:
                    wait_for_calls()
                    server.signal(end)
                    server.wait()
                    server = start_server(listen=(server.address,))
                wait_for_calls()
            finally:
                stop.set()
            for run in runs:
                run.result()


def test_messages_are_as_large_as_the_server_takes_them(
    start_server: StartServer,
) -> None:
    server = start_server('--max_message_bytes', str(8 << 20))
    everything = Params(return_kept=True)

    def check(call: _Call) -> None:
        rows = np.tile(real_rows(), (2, 1)).astype(np.float16)
        response = call(rows, everything).response
        # More than the 4 MiB that gRPC takes by default.
        assert rows.nbytes > 4 << 20 and response.ByteSize() > 4 << 20
        assert [d.kept_count for d in response.details] == [49_152] * 48
        large = np.zeros((1, (2 << 20) + 1), np.float32)
        with pytest.raises(tokendraw.TokendrawError) as caught:
            call(large)
        assert caught.value.code is _CODE.RESOURCE_EXHAUSTED
        assert str(8 << 20) in caught.value.details
        assert call(_ROW, _GREEDY).token_ids.tolist() == [1]

    _both(server.address, 30.0, check)


def test_what_is_too_large_is_not_sent() -> None:
    limits = sampling_pb2.GetServerInfoResponse(max_message_bytes=1000)
    asked: list[Request] = []

    def answer(request: Request, _: grpc.ServicerContext) -> Response:
        asked.append(request)
        return Response(token_ids=[1], seeds=[0])

    def check(call: _Call) -> None:
        assert call(_ROW)
        with pytest.raises(tokendraw.TokendrawError, match='1000') as caught:
            call(np.zeros((1, 300), np.float32))
        assert caught.value.code is _CODE.RESOURCE_EXHAUSTED

    with FakeService(answer, limits) as service:
        _both(service.address, 30.0, check)
    assert len(asked) == 2


def test_a_closed_client_ends_what_runs(server: Server) -> None:
    with tokendraw.Client(server.address) as client:
        stream = client.stream()
        stream.step(_ROW)
    with pytest.raises(ValueError, match='closed channel'):
        client.sample(_ROW)
    stream.close()


# From here on: the real server, which must say when to come back.


@pytest.mark.parametrize('kind', ['unary', 'stream'])
def test_a_full_server_is_asked_again_when_it_has_room(
    start_server: StartServer, kind: str
) -> None:
    server = start_server('--max_rows', '2', '--max_queued_rows', '2')
    with generated.Client(server.address) as raw:
        slow = slow_request(raw, 0.5)
        mark = CpuMark(server)
        running = [raw.stub.SampleTokens.future(slow) for _ in range(2)]
        mark.wait_for_work()
        asked = Request(logits=tensor(_ROW))
        code, _ = generated.fault_of(lambda: raw.sample(asked))
        assert code is _CODE.RESOURCE_EXHAUSTED
        with (
            tokendraw.Client(server.address) as client,
            client.stream() as stream,
        ):
            call = client.sample if kind == 'unary' else stream.step
            assert call(_ROW, _GREEDY).token_ids.tolist() == [1]
        for run in running:
            assert run.result().token_ids
