"""`tokendraw load`, and servers that are told to end at any moment."""

import json
import os
import random
import re
import signal
import subprocess
import time

import pytest

from conftest import StartServer
from harness import COMMAND
from harness import PATIENCE_S
from harness import SERVER
from harness import Server
from harness import scaled
from harness import wait_until

_PLAN = ('--workers', '3', '--rows', '2', '--vocab_size', '500')


def _load(*args: str) -> tuple[int, dict[str, object]]:
    done = subprocess.run(
        [COMMAND, 'load', *args, '--json'],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert not done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_the_same_steps_give_the_same_tokens(
    server: Server, start_server: StartServer
) -> None:
    plan = (*_PLAN, '--steps', '50', '--top_p', '0.9')
    code, result = _load('--server', server.address, *plan)
    assert code == 0
    assert result['steps'] == 150
    assert result['rows'] == 300
    assert result['failed'] == 0
    assert 0 < result['p50_ms'] <= result['p99_ms'] <= result['max_ms']
    other = start_server()
    pool = ('--server', server.address, '--server', other.address)
    assert _load(*pool, *plan)[1]['tokens_hash'] == result['tokens_hash']
    changed = _load('--server', server.address, *plan, '--load_seed', '1')[1]
    assert changed['tokens_hash'] != result['tokens_hash']
    candidates = ('--candidates', '64', '--deadline_ms', '30000')
    assert (
        _load('--server', server.address, *plan, *candidates)[1]['tokens_hash']
        == result['tokens_hash']
    )


def test_the_rate_holds(server: Server) -> None:
    _, result = _load(
        *('--server', server.address, *_PLAN),
        *('--rate', '20', '--duration_s', '1'),
    )
    assert 3 <= result['steps'] <= 63
    assert result['seconds'] >= 1


def test_failed_steps_are_counted(server: Server) -> None:
    code, result = _load(
        '--server', server.address, *_PLAN, '--steps', '2', '--top_p', '7'
    )
    assert code == 1
    assert result['failed'] == 6
    assert result['faults'] == {'INVALID_ARGUMENT': 6}


@pytest.mark.parametrize(
    ('flags', 'text'),
    [
        (('--workers', '0'), '--workers must be in [1, 1024], got "0"'),
        (('--rate', 'nan'), '--rate must be in'),
        (('x',), 'load takes flags alone'),
    ],
)
def test_bad_flags_are_named(flags: tuple[str, ...], text: str) -> None:
    done = subprocess.run(
        [COMMAND, 'load', *flags],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 2
    assert text in done.stderr


def test_sigterm_at_any_moment_is_exit_zero(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Also before it serves, and while it has calls."""
    dice = random.Random(1)
    times = int(os.environ.get('TOKENDRAW_SIGTERMS', scaled(30)))
    socket = tmp_path_factory.mktemp('sigterm') / 's'
    load = subprocess.Popen(
        [COMMAND, 'load', '--server', f'unix:{socket}', *_PLAN]
        + ['--deadline_ms', '60000', '--duration_s', '86400'],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for turn in range(times):
            log = socket.parent / 'log'
            with log.open('wb') as out:
                process = subprocess.Popen(
                    [SERVER, f'--listen=unix:{socket}', '--grace_ms=20000'],
                    stderr=out,
                )
            if turn % 3:
                wait_until('it serves', lambda: 'serving' in log.read_text())
                time.sleep(dice.uniform(0, 0.2))
            else:
                # main() has blocked the signal once it reads its flags.
                wait_until('it runs', lambda: _blocks_sigterm(process.pid))
                time.sleep(dice.uniform(0, 0.02))
            process.send_signal(signal.SIGTERM)
            code = process.wait(PATIENCE_S)
            assert code == 0, f'turn {turn}: {code}: {log.read_text()}'
    finally:
        load.kill()
        load.wait()


def _blocks_sigterm(pid: int) -> bool:
    with open(f'/proc/{pid}/status', encoding='ascii') as status:
        found = re.search(r'SigBlk:\s+([0-9a-f]+)', status.read())
    assert found
    return bool(int(found[1], 16) >> (signal.SIGTERM - 1) & 1)
