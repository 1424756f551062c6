"""A server is replaced while its clients call."""

import pathlib
import signal

import grpc
import pytest

from client import NOT_SERVING
from client import RETRYABLE
from client import SERVING
from client import Client
from conftest import StartServer
from harness import Server
from harness import scaled
from harness import wait_until
from load import Load


def _replace(start_server: StartServer, server: Server, *flags: str) -> Server:
    """The old one drains and ends; the next one takes its address."""
    server.signal(signal.SIGTERM)
    assert server.wait() == 0
    return start_server(*flags, listen=(server.address,))


def _wait_for_calls(load: Load, more: int) -> None:
    enough = load.done + scaled(more)
    wait_until('calls are answered', lambda: load.done >= enough)


@pytest.mark.parametrize('kind', ['socket', 'port'])
# Field case G03.
def test_a_second_server_takes_over_and_patient_clients_see_no_error(
    start_server: StartServer, tmp_path: pathlib.Path, kind: str
) -> None:
    address = f'unix:{tmp_path}/s' if kind == 'socket' else '127.0.0.1:0'
    server = start_server(listen=(address,))
    with Load(server.address, 8, patient=True) as load:
        _wait_for_calls(load, 1000)
        _replace(start_server, server)
        _wait_for_calls(load, 1000)
    assert not load.broken
    assert not load.faults, load.faults


def _ten_restarts(start_server: StartServer, patient: bool) -> Load:
    """The load that went on meanwhile."""
    server = start_server()
    with Load(server.address, 8, patient=patient) as load:
        for _ in range(10):
            _wait_for_calls(load, 200)
            server = _replace(start_server, server)
        _wait_for_calls(load, 200)
    assert not load.broken
    return load


# Field case G04.
def test_ten_restarts_under_load_are_not_seen_by_patient_clients(
    start_server: StartServer,
) -> None:
    load = _ten_restarts(start_server, patient=True)
    assert not load.faults, load.faults


# Field case G04.
def test_ten_restarts_under_load_are_unavailable_and_nothing_else(
    start_server: StartServer,
) -> None:
    load = _ten_restarts(start_server, patient=False)
    allowed = {code.name for code in RETRYABLE}
    assert 'UNAVAILABLE' in load.faults and set(load.faults) <= allowed


# Field case G04.
def test_health_says_not_serving_before_the_listener_closes(
    start_server: StartServer,
) -> None:
    server = start_server('--drain_delay_ms', '500')
    seen: list[int | None] = []

    def probe() -> bool:
        """As a load balancer does, on a new connection each time."""
        with Client(server.address) as client:
            try:
                seen.append(client.health(wait_for_ready=False))
            except grpc.RpcError as error:
                assert error.code() == grpc.StatusCode.UNAVAILABLE
                seen.append(None)
        return seen[-1] is None

    probe()
    server.signal(signal.SIGTERM)
    wait_until('the listener is closed', probe)
    order = [SERVING, NOT_SERVING, None]
    assert sorted(set(seen), key=order.index) == order
    assert seen == sorted(seen, key=order.index)
    assert server.wait() == 0
