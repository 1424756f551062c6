"""The real `tokendraw` command against a real server."""

import json
import os
import pathlib
import signal
import subprocess

import numpy as np
import pytest

from client import Client
from conftest import StartServer
from harness import COMMAND
from harness import PATIENCE_S
from harness import Server
from harness import wait_until
import oracle
from protos import ROOT
from requests_of import BF16
from requests_of import Params
from requests_of import RowSpec
from requests_of import real_rows
from requests_of import request
from requests_of import to_bf16

_DATA = ROOT / 'tests/data'
_ROWS = str(_DATA / 'smollm2_rows.safetensors')
_VOCAB = str(_DATA / 'smollm2_vocab.json')

_OK, _FAILED, _USAGE, _ROW_ERRORS = 0, 1, 2, 3

_SEED = 11
_FLAGS = {
    'typical_p': ('--typical_p', '0.9'),
    'xtc': ('--xtc_probability', '0.5', '--xtc_threshold', '0.1'),
}
_PARAMS = {
    'typical_p': Params(typical_p=0.9),
    'xtc': Params(xtc_probability=0.5, xtc_threshold=0.1),
}


def _run(
    *args: str, server: Server | None = None, stdin: str = ''
) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    variables = {'TOKENDRAW_SERVER': server.address} if server else {}
    done = subprocess.run(
        [COMMAND, *args],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env={**os.environ, **variables},
    )
    return done.returncode, done.stdout, done.stderr


def _wanted_tokens(server: Server, params: Params) -> list[int]:
    """What the Python client gets for the real rows: one position each."""
    rows = real_rows()
    specs = [RowSpec(seed=_SEED, position=i) for i in range(len(rows))]
    with Client(server.address) as client:
        asked = request(rows, params, specs, data_type=BF16)
        tokens = list(client.sample(asked).token_ids)
    # By the outside implementation, too: equal is not equally wrong.
    for i in (0, 12):
        assert tokens[i] == oracle.sample(rows[i], params, specs[i])[0].token
    return tokens


def _table_of(text: str) -> tuple[list[str], list[list[str]]]:
    """Header and first columns (row, token) with the text of the token."""
    header, *lines = text.splitlines()
    return header.split(), [line.split() for line in lines]


@pytest.mark.parametrize('name', _PARAMS)
def test_real_rows_as_a_table(server: Server, name: str) -> None:
    wanted = _wanted_tokens(server, _PARAMS[name])
    flags = ['--seed', str(_SEED), *_FLAGS[name], '--vocab', _VOCAB]
    address = ['--server', server.addresses[1]]
    code, out, err = _run('sample', *address, *flags, _ROWS)
    assert (code, err) == (_OK, '')
    header, lines = _table_of(out)
    assert header[:3] == ['row', 'token', 'text']
    assert [line[0] for line in lines] == [str(i) for i in range(24)]
    assert [int(line[1]) for line in lines] == wanted
    vocab = json.loads(pathlib.Path(_VOCAB).read_text(encoding='utf-8'))
    for token, line in zip(wanted, out.splitlines()[1:], strict=True):
        assert vocab[token].strip() in line


@pytest.mark.parametrize('name', _PARAMS)
def test_real_rows_as_json(server: Server, name: str) -> None:
    wanted = _wanted_tokens(server, _PARAMS[name])
    flags = ['--seed', str(_SEED), *_FLAGS[name], '--json']
    code, out, err = _run('sample', *flags, _ROWS, server=server)
    assert (code, err) == (_OK, '')
    reply = json.loads(out)
    assert reply['token_ids'] == wanted
    assert reply['seeds'] == [str(_SEED)] * 24


def test_some_rows_from_npy(server: Server, tmp_path: pathlib.Path) -> None:
    wanted = _wanted_tokens(server, _PARAMS['xtc'])
    rows = real_rows()
    files = {
        'f4': rows.astype('<f4'),
        'f2': rows.astype('<f2'),
        'u2': to_bf16(rows),
    }
    for name, values in files.items():
        path = tmp_path / f'{name}.npy'
        np.save(path, values)
        # The rows are counted as they are drawn: 5, 6, 7 at positions 5, 6, 7.
        flags = ['--rows', '5-7', '--seed', str(_SEED), '--position', '5']
        command = ['sample', *flags, *_FLAGS['xtc'], '--json', str(path)]
        code, out, err = _run(*command, server=server)
        assert (code, err) == (_OK, ''), name
        assert json.loads(out)['token_ids'] == wanted[5:8], name


def test_json_rows_from_stdin(server: Server) -> None:
    rows = '[[1, 3, 2], [null, "-inf", -7]]'
    greedy = ['sample', '--temperature', '0', '--json']
    for file in ([], ['-']):
        code, out, err = _run(*greedy, *file, server=server, stdin=rows)
        assert (code, err) == (_OK, '')
        assert json.loads(out)['token_ids'] == [1, 2]


def test_the_request_of_the_readme(server: Server) -> None:
    # ln of 0.45, 0.275, 0.275.
    row = '[-0.7985077, -1.2909842, -1.2909842]'
    flags = ['--typical_p', '0.3', '--return_kept', '--json']
    code, out, _ = _run('sample', *flags, server=server, stdin=row)
    assert code == _OK
    assert json.loads(out)['details'][0]['kept_ids'] == [1, 2]


def test_a_row_without_a_token_exits_3(server: Server) -> None:
    rows = '[[1, "nan"], [0, "-inf"]]'
    code, out, _ = _run('sample', server=server, stdin=rows)
    assert code == _ROW_ERRORS
    header, lines = _table_of(out)
    assert header[:2] == ['row', 'token']
    assert lines[0][:2] == ['1', '0']
    assert 'row 0: NOT_FINITE: ' in out


def test_validate(server: Server) -> None:
    code, out, err = _run('validate', '--typical_p', '0.9', server=server)
    assert (code, out, err) == (_OK, '', '')
    bad = ['validate', '--typical_p', '0', '--xtc_threshold', '1.1']
    code, out, err = _run(*bad, server=server)
    assert (code, err) == (_FAILED, '')
    assert out.splitlines() == [
        'params[0].typical_p: typical_p must be in (0.0, 1.0]',
        'params[0].xtc_threshold: xtc_threshold must be in (0.0, 1.0]',
    ]
    code, out, _ = _run(*bad, '--lenient', server=server)
    assert (code, out) == (_OK, '')


def test_info(server: Server) -> None:
    code, out, err = _run('info', '--json', server=server)
    assert (code, err) == (_OK, '')
    info = json.loads(out)
    assert info['version'] == '0.1.0'
    assert info['semantics_version'] == '1'
    assert info['max_message_bytes'] == str(64 << 20)
    code, out, err = _run('info', server=server)
    assert (code, err) == (_OK, '')
    fields = [line.partition(' ') for line in out.splitlines()]
    told = {name: value.strip() for name, _, value in fields}
    assert int(told.pop('uptime_ms')) >= int(info.pop('uptime_ms')) >= 0
    assert told == {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in info.items()
    }


def test_health_is_for_probes(
    start_server: StartServer, tmp_path: pathlib.Path
) -> None:
    tokens = tmp_path / 'tokens'
    tokens.write_text('a-token-that-no-probe-has\n')
    flags = ('--token_file', str(tokens), '--drain_delay_ms', '3000')
    server = start_server(*flags)
    healthy = f'{server.address}  SERVING\n'
    assert _run('health', server=server) == (_OK, healthy, '')

    nobody = f'unix:{tmp_path}/nobody'
    both = ('--server', nobody, '--server', server.address)
    code, out, err = _run('health', *both)
    assert (code, nobody in err) == (_FAILED, True)
    assert [line.split()[1] for line in out.splitlines()] == [
        'UNAVAILABLE',
        'SERVING',
    ]
    code, out, err = _run('health', '--service', 'other', server=server)
    assert (code, err.partition(':')[0]) == (_FAILED, 'NOT_FOUND')

    server.signal(signal.SIGTERM)
    wait_until('it drains', lambda: _run('health', server=server)[0] != _OK)
    code, out, err = _run('health', server=server)
    assert (code, out, err) == (
        _FAILED,
        f'{server.address}  NOT_SERVING\n',
        '',
    )
    assert _run('health', '--service=', server=server) == (_OK, healthy, '')


def test_a_refused_call_exits_1(server: Server) -> None:
    refused = ['sample', '--typical_p', '1.5']
    code, out, err = _run(*refused, server=server, stdin='[1, 2]')
    assert (code, out) == (_FAILED, '')
    text = 'params[0].typical_p: typical_p must be in (0.0, 1.0]'
    assert err == f'INVALID_ARGUMENT: {text}\n'
    code, _, _ = _run(*refused, '--lenient', server=server, stdin='[1, 2]')
    assert code == _OK


def test_no_server_exits_1_at_once(tmp_path: pathlib.Path) -> None:
    nobody = f'unix:{tmp_path}/nobody'
    code, out, err = _run('info', '--server', nobody)
    assert (code, out) == (_FAILED, '')
    assert err.startswith('UNAVAILABLE: ')
    assert f'{tmp_path}/nobody' in err


# Field case G19: at its start a worker may be ahead of its sidecar.
def test_a_command_with_a_deadline_finds_a_server_that_starts_later(
    start_server: StartServer, tmp_path: pathlib.Path
) -> None:
    address = f'unix:{tmp_path}/s'
    args = ['sample', '--server', address, '--temperature', '0', '--json']
    with subprocess.Popen(
        [COMMAND, *args, '--deadline_ms', '60000'],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as ahead:
        with pytest.raises(subprocess.TimeoutExpired):
            ahead.communicate('[1, 3, 2]', timeout=1)
        start_server(listen=(address,))
        out, _ = ahead.communicate(timeout=PATIENCE_S)
    assert ahead.returncode == _OK
    assert json.loads(out)['token_ids'] == [1]


@pytest.mark.parametrize(
    ('args', 'text'),
    [
        (['sample', '--typical', '0.5'], '--typical'),
        (['sample', '--typical_p', 'half'], '--typical_p'),
        (['sample', '/no/such.npy'], '/no/such.npy'),
        (['sample', '--rows', '24', _ROWS], '--rows'),
        (['sample', '--vocab', _ROWS, _ROWS], _ROWS),
        (['validate', 'file'], 'validate'),
        (['info', '--server', 'nowhere'], '--server'),
        (['draw'], 'Usage:'),
        ([], 'Usage:'),
    ],
)
def test_bad_usage_exits_2_and_names_it(
    server: Server, args: list[str], text: str
) -> None:
    code, out, err = _run(*args, server=server)
    assert (code, out) == (_USAGE, '')
    assert text in err
