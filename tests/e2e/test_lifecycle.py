"""Starts and ends of a server: who owns an address, and how it is given up."""

import pathlib
import signal
import stat

import pytest

from client import Client
from conftest import StartServer
from harness import Server
from harness import run_server
from requests_of import Params
from requests_of import request


def _answers(address: str) -> bool:
    """Whether a call on a new connection is answered rightly."""
    greedy = Params(temperature=0)
    with Client(address) as client:
        return list(client.sample(request([[1, 3, 2]], greedy)).token_ids) == [
            1
        ]


def _mode(server: Server) -> int:
    path = pathlib.Path(server.address.removeprefix('unix:'))
    assert stat.S_ISSOCK(path.stat().st_mode)
    return stat.S_IMODE(path.stat().st_mode)


def _listen(kind: str, directory: pathlib.Path) -> tuple[str]:
    return (f'unix:{directory}/s' if kind == 'socket' else '127.0.0.1:0',)


_both_kinds = pytest.mark.parametrize('kind', ['socket', 'port'])


@_both_kinds
# Field case G14.
def test_a_second_server_on_one_address_ends_and_the_first_serves_on(
    start_server: StartServer, tmp_path: pathlib.Path, kind: str
) -> None:
    first = start_server(listen=_listen(kind, tmp_path))
    with Client(first.address) as client:
        client.health()
        second = run_server('--listen', first.address)
        assert (second.returncode, second.stdout) == (1, '')
        path = first.address.removeprefix('unix:')
        if path == first.address:
            text = f'cannot listen on {path}: it is taken or not allowed'
        else:
            text = f'another server is serving on {path} (it holds {path}.lock)'
        assert second.stderr.splitlines()[-1] == f'tokendrawd: {text}'
        assert client.health() == 1
    assert _answers(first.address)


def test_a_server_that_gets_only_some_of_its_addresses_takes_none(
    start_server: StartServer, tmp_path: pathlib.Path
) -> None:
    first = start_server(listen=('127.0.0.1:0',))
    free = f'unix:{tmp_path}/free'
    second = run_server('--listen', f'{free},{first.address}')
    assert second.returncode == 1
    assert f'cannot listen on {first.address}' in second.stderr
    assert _answers(start_server(listen=(free,)).address)
    assert _answers(first.address)


@_both_kinds
# Field case G14.
def test_a_server_starts_again_after_kill_9(
    start_server: StartServer, tmp_path: pathlib.Path, kind: str
) -> None:
    first = start_server(listen=_listen(kind, tmp_path))
    assert _answers(first.address)
    first.kill()
    second = start_server(listen=(first.address,))
    assert second.address == first.address
    assert _answers(second.address)


@_both_kinds
def test_a_server_starts_again_after_an_orderly_end(
    start_server: StartServer, tmp_path: pathlib.Path, kind: str
) -> None:
    first = start_server(listen=_listen(kind, tmp_path))
    assert _answers(first.address)
    first.close()
    assert not (tmp_path / 's').exists()
    assert _answers(start_server(listen=(first.address,)).address)


# Field case G14.
def test_a_socket_is_its_owners_alone(start_server: StartServer) -> None:
    server = start_server()
    assert _mode(server) == 0o600
    assert _answers(server.address)


@pytest.mark.parametrize('mode', [0o660, 0o666, 0o700])
def test_a_socket_has_the_mode_that_was_set(
    start_server: StartServer, mode: int
) -> None:
    assert _mode(start_server('--socket_mode', f'0{mode:o}')) == mode


def test_a_file_that_is_no_socket_is_not_removed(
    tmp_path: pathlib.Path,
) -> None:
    path = tmp_path / 'notes'
    path.write_text('keep me', encoding='ascii')
    done = run_server('--listen', f'unix:{path}')
    assert done.returncode == 1
    assert f'cannot listen on unix:{path}: ' in done.stderr
    assert path.read_text(encoding='ascii') == 'keep me'


def test_a_directory_that_is_not_there_is_named(tmp_path: pathlib.Path) -> None:
    done = run_server('--listen', f'unix:{tmp_path}/none/s')
    assert done.returncode == 1
    assert f'cannot open {tmp_path}/none/s.lock: No such file' in done.stderr


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_an_idle_server_in_order(
    start_server: StartServer, number: signal.Signals
) -> None:
    server = start_server()
    assert _answers(server.address)
    server.signal(number)
    assert server.wait() == 0
    lines = server.stderr.splitlines()[-2:]
    assert lines == [
        f'tokendrawd: draining (signal={number.name})',
        'tokendrawd: drained',
    ]
