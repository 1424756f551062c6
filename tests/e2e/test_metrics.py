"""The Prometheus endpoint, and what the server logs."""

from collections.abc import Iterator
import json
import re
import urllib.request

import grpc
import numpy as np
import pytest

from client import Client
from client import fault_of
from conftest import StartServer
from harness import PATIENCE_S
from harness import Server
from harness import run_server
from harness import wait_until
from protos import sampling_pb2
from requests_of import Params
from requests_of import RowSpec
from requests_of import request

Metrics = dict[str, float]


def _address(server: Server) -> str:
    found = re.search(r'metrics=(\S+)\)', server.stderr)
    assert found, server.stderr
    return found[1]


def _page(server: Server) -> str:
    url = f'http://{_address(server)}/metrics'
    with urllib.request.urlopen(url, timeout=PATIENCE_S) as page:
        return page.read().decode()


def _scrape(server: Server) -> Metrics:
    """Values by name with labels."""
    lines = [line for line in _page(server).splitlines() if line[:1] != '#']
    pairs = (line.rsplit(' ', 1) for line in lines)
    return {name: float(value) for name, value in pairs}


@pytest.fixture(name='measured')
def fixture_measured(start_server: StartServer) -> Iterator[Server]:
    yield start_server('--metrics_listen=127.0.0.1:0')


def test_counts_what_was_done(measured: Server) -> None:
    before = _scrape(measured)
    rows = np.zeros((3, 8), np.float32)
    rows[2, 5] = np.nan
    xtc = Params(xtc_probability=1.0, xtc_threshold=0.1, top_k=4)
    with Client(measured.address) as client:
        specs = [RowSpec(seed=i, sample_count=2) for i in range(3)]
        batch = request(rows, xtc, specs)
        client.sample(batch)
        bad = request(rows, Params(top_p=2.0))
        assert fault_of(lambda: client.sample(bad))[0]
        client.stub.GetServerInfo(sampling_pb2.GetServerInfoRequest())
    now = _scrape(measured)
    gained = {name: now[name] - before.get(name, 0) for name in now}
    for name, wanted in {
        'tokendraw_rows_total': 3,
        'tokendraw_tokens_total': 4,
        'tokendraw_row_errors_total{code="NOT_FINITE"}': 1,
        'tokendraw_row_errors_total{code="NO_CANDIDATE"}': 0,
        'tokendraw_requests_total{rpc="SampleTokens",code="OK"}': 1,
        'tokendraw_requests_total{rpc="SampleTokens",code="INVALID_ARGUMENT"}': 1,
        'tokendraw_requests_total{rpc="GetServerInfo",code="OK"}': 1,
        'tokendraw_payload_messages_total{payload="inline"}': 1,
        'tokendraw_payload_rows_total{payload="inline"}': 3,
        'tokendraw_payload_rows_total{payload="candidates"}': 0,
        'tokendraw_payload_bytes_total{payload="inline"}': batch.ByteSize(),
        'tokendraw_messages_invalid_total': 1,
        'tokendraw_xtc_armed_total': 4,
        'tokendraw_xtc_fired_total': 4,
        'tokendraw_kept_tokens_count': 2,
        'tokendraw_kept_tokens_sum': 2,
        'tokendraw_kept_tokens_bucket{le="1"}': 2,
        'tokendraw_queue_wait_seconds_count': 1,
        'tokendraw_row_compute_seconds_count': 3,
    }.items():
        assert gained[name] == wanted, name
    assert now['tokendraw_serving'] == 1
    assert now['tokendraw_queued_rows'] == 0
    assert now['tokendraw_queued_bytes'] == 0
    assert now['tokendraw_queued_bytes_limit'] == 512 << 20
    [build] = [name for name in now if name.startswith('tokendraw_build_info')]
    assert 'semantics_version="1"' in build and 'simd_target="' in build


def test_streams_are_gauged(measured: Server) -> None:
    rows = np.zeros((1, 4), np.float32)
    with Client(measured.address) as client:
        with client.open_stream() as stream:
            stream.step(request(rows))
            assert _scrape(measured)['tokendraw_streams'] == 1
    wait_until('it ends', lambda: _scrape(measured)['tokendraw_streams'] == 0)
    name = 'tokendraw_requests_total{rpc="StreamSampleTokens",code="OK"}'
    assert _scrape(measured)[name] == 1


def test_an_address_that_is_taken(measured: Server) -> None:
    taken = _address(measured)
    done = run_server('--listen=127.0.0.1:0', f'--metrics_listen={taken}')
    assert done.returncode == 1
    assert f'cannot listen on {taken}' in done.stderr


_TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
_PARENT = '00f067aa0ba902b7'


def _lines(server: Server) -> list[dict[str, object]]:
    return [json.loads(line) for line in server.stderr.splitlines()]


def test_logs_failed_requests_with_their_trace(
    start_server: StartServer,
) -> None:
    server = start_server('--log_format=json', listen=('127.0.0.1:0',))
    rows = np.full((1, 4), 3.25, np.float32)
    spec = RowSpec(output_ids=[918273])
    batch = request(rows, Params(top_p=2.0), [spec], step=77)
    metadata = [('traceparent', f'00-{_TRACE}-{_PARENT}-01')]
    with Client(server.address) as client:
        client.sample(request(rows))
        code, text = fault_of(
            lambda: client.stub.SampleTokens(batch, metadata=metadata)
        )
        assert code == grpc.StatusCode.INVALID_ARGUMENT
        assert '918273' in text, 'the caller is told'
    wait_until('it is logged', lambda: 'request' in server.stderr)
    [line] = [line for line in _lines(server) if line['message'] == 'request']
    assert line['level'] == 'warning'
    assert line['rpc'] == 'SampleTokens'
    assert line['code'] == 'INVALID_ARGUMENT'
    assert line['fields'] == 'params[0].top_p,rows[0].output_ids[0]'
    assert line['step'] == 77
    assert line['trace_id'] == _TRACE
    assert line['parent_id'] == _PARENT
    assert '918273' not in server.stderr, 'nobody else is'
    assert '3.25' not in server.stderr


def test_logs_all_requests_if_asked(start_server: StartServer) -> None:
    server = start_server('--log_requests=all')
    with Client(server.address) as client:
        client.sample(request(np.zeros((2, 4), np.float32)))
    wait_until('it is logged', lambda: 'code=OK' in server.stderr)
    assert 'rpc=SampleTokens code=OK' in server.stderr
    assert 'rows=2' in server.stderr
