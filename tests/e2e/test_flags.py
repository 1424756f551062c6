"""What an operator sets: flags, environment variables, and what is refused."""

import pathlib

import pytest

from client import Client
from conftest import StartServer
from harness import run_server
from protos import sampling_pb2

_DEFAULTS = {
    'listen': '127.0.0.1:50051',
    'socket_mode': '0600',
    'socket_owner': 'none',
    'tls_cert': 'none',
    'tls_key': 'none',
    'tls_client_ca': 'none',
    'token_file': 'none',
    'allow_insecure': 'false',
    'shm_dir': 'none',
    'threads': '0',
    'max_message_bytes': '67108864',
    'max_rows': '4096',
    'max_draws': '65536',
    'max_in_flight': '2',
    'max_queued_bytes': '536870912',
    'max_queued_rows': '65536',
    'write_timeout_ms': '30000',
    'max_connection_age_ms': '0',
    'metrics_listen': 'none',
    'log_format': 'text',
    'log_requests': 'failed',
    'channelz': 'false',
    'drain_delay_ms': '0',
    'grace_ms': '10000',
}

_INT32 = 2**31 - 1
_INT64 = 2**63 - 1
_RANGES = {
    'threads': (0, 1024),
    'max_message_bytes': (1024, _INT32),
    'max_rows': (1, 1 << 20),
    'max_draws': (1, 1 << 24),
    'max_in_flight': (1, 1024),
    'max_queued_bytes': (1024, _INT64),
    'max_queued_rows': (1, _INT64),
    'write_timeout_ms': (1, _INT32),
    'max_connection_age_ms': (0, _INT32),
    'drain_delay_ms': (0, _INT32),
    'grace_ms': (0, _INT32),
}

# What GetServerInfo tells of the flags.
_SETTINGS = {
    'threads': 3,
    'max_message_bytes': 1 << 20,
    'max_rows': 7,
    'max_draws': 9,
    'max_in_flight': 5,
    'max_queued_bytes': 3 << 20,
    'max_queued_rows': 11,
}


def _info(address: str) -> dict[str, int]:
    with Client(address) as client:
        asked = sampling_pb2.GetServerInfoRequest()
        info = client.stub.GetServerInfo(asked, wait_for_ready=True)
    return {name: getattr(info, name) for name in _SETTINGS}


def test_help_lists_each_flag_with_its_default_and_variable() -> None:
    done = run_server('--help')
    assert (done.returncode, done.stderr) == (0, '')
    for name, default in _DEFAULTS.items():
        assert f'--{name}  (default {default})\n' in done.stdout
        assert f' TOKENDRAW_{name.upper()}\n' in done.stdout
    assert done.stdout.count(' TOKENDRAW_') == len(_DEFAULTS)


def test_version() -> None:
    done = run_server('--version')
    assert (done.returncode, done.stdout) == (0, 'tokendrawd 0.1.0\n')


def test_flags_act(start_server: StartServer) -> None:
    flags = [f'--{name}={value}' for name, value in _SETTINGS.items()]
    assert _info(start_server(*flags).address) == _SETTINGS


def test_environment_variables_act_and_flags_win(
    start_server: StartServer, tmp_path: pathlib.Path
) -> None:
    env = {f'TOKENDRAW_{k.upper()}': str(v) for k, v in _SETTINGS.items()}
    env['TOKENDRAW_LISTEN'] = f'unix:{tmp_path}/from_environment'
    server = start_server('--max_rows', '6', listen=None, env=env)
    assert server.addresses == [env['TOKENDRAW_LISTEN']]
    assert _info(server.address) == {**_SETTINGS, 'max_rows': 6}


@pytest.mark.parametrize('name', _RANGES)
@pytest.mark.parametrize('side', ['below', 'above', 'text', 'fraction'])
def test_a_number_out_of_range_names_the_flag_and_the_range(
    name: str, side: str
) -> None:
    low, high = _RANGES[name]
    value = {
        'below': str(low - 1),
        'above': str(high + 1),
        'text': '5x',
        'fraction': '5.5',
    }[side]
    text = f"must be a number in [{low}, {high}], got '{value}'\n"
    done = run_server(f'--{name}', value)
    assert (done.returncode, done.stdout) == (2, '')
    assert done.stderr == f'tokendrawd: --{name} {text}'
    variable = f'TOKENDRAW_{name.upper()}'
    done = run_server(env={variable: value})
    assert (done.returncode, done.stdout) == (2, '')
    assert done.stderr == f'tokendrawd: {variable} {text}'


@pytest.mark.parametrize(
    ('args', 'text'),
    [
        (['--treads', '2'], "unknown flag '--treads'; see --help"),
        (['serve'], "unknown flag 'serve'; see --help"),
        (['--threads'], '--threads needs a value'),
        (['--threads='], "--threads must be a number in [0, 1024], got ''"),
        (
            ['--socket_mode', '0668'],
            "--socket_mode must be an octal number in [0, 0777], got '0668'",
        ),
        (
            ['--socket_mode', '1777'],
            "--socket_mode must be an octal number in [0, 0777], got '1777'",
        ),
        (
            ['--listen', '50051'],
            "--listen: '50051' must be unix:PATH or HOST:PORT",
        ),
        (
            ['--listen', '127.0.0.1:65536'],
            "--listen: '127.0.0.1:65536' must be unix:PATH or HOST:PORT",
        ),
        (
            ['--listen', '127.0.0.1:0,'],
            "--listen: '' must be unix:PATH or HOST:PORT",
        ),
        (
            ['--listen', 'unix:'],
            "--listen: the path of 'unix:' must have 1 to 107 bytes",
        ),
        (
            ['--listen', f'unix:/{"a" * 107}'],
            f"--listen: the path of 'unix:/{'a' * 107}' must have 1 to 107 "
            'bytes',
        ),
        (
            ['--max_queued_bytes', '1024'],
            '--max_queued_bytes must be >= --max_message_bytes',
        ),
        (
            ['--max_queued_rows', '4095'],
            '--max_queued_rows must be >= --max_rows',
        ),
    ],
)
def test_a_bad_command_line_exits_2(args: list[str], text: str) -> None:
    done = run_server(*args)
    assert (done.returncode, done.stdout) == (2, '')
    assert done.stderr == f'tokendrawd: {text}\n'


def test_serves_on_several_addresses_at_a_time(
    start_server: StartServer, tmp_path: pathlib.Path
) -> None:
    sockets = [f'unix:{tmp_path}/{name}' for name in 'abc']
    server = start_server(
        '--listen',
        f'{sockets[0]},127.0.0.1:0',
        '--listen',
        sockets[1],
        f'--listen={sockets[2]},127.0.0.1:0',
        listen=None,
    )
    assert len(server.addresses) == 5
    assert server.addresses[::2][0] == sockets[0]
    assert server.addresses[2:4] == sockets[1:]
    ports = {address for address in server.addresses if ':0' not in address}
    assert len(ports) == 5
    for address in server.addresses:
        assert _info(address)['max_rows'] == 4096
