"""Faults under load: no call may fail, and no token may be another.

Usage: python tests/chaos/chaos.py MINUTES

Each scenario runs `tokendraw load` against three servers that meet one kind
of fault again and again, and compares its tokens with those of a run that met
none. Prints one line a scenario, and fails if a step failed or a token
differed.
"""

from collections.abc import Callable, Iterator
import contextlib
import dataclasses
import json
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parents[1] / 'e2e'))

from certificates import Authority
from harness import COMMAND
from proxies import haproxy
from proxies import nginx
from replicas import Disturbance
from replicas import Replica

_WORKERS = 4
_RATE = 50
_PLAN = (
    *('--workers', str(_WORKERS), '--rows', '4', '--vocab_size', '4096'),
    *('--rate', str(_RATE), '--deadline_ms', '30000', '--json'),
    *('--typical_p', '0.9', '--xtc_probability', '0.5', '--temperature', '0.8'),
)


@dataclasses.dataclass
class _Run:
    """What a run under faults came to."""

    faults: int
    result: dict[str, object]


def _load(addresses: list[str], steps: int, *flags: str) -> subprocess.Popen:
    servers = [word for a in addresses for word in ('--server', a)]
    return subprocess.Popen(
        [COMMAND, 'load', *servers, *_PLAN, '--steps', str(steps), *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _end(load: subprocess.Popen) -> dict[str, object]:
    out, err = load.communicate()
    if not out:
        raise RuntimeError(f'load ended with {load.returncode}: {err}')
    return json.loads(out)


@contextlib.contextmanager
def _replicas(directory: pathlib.Path, *flags: str) -> Iterator[list[Replica]]:
    replicas = [Replica(directory / str(i), *flags) for i in range(3)]
    try:
        yield replicas
    finally:
        for replica in replicas:
            replica.close()


def _under(
    faults: list[Callable[[], None]],
    addresses: list[str],
    steps: int,
    *flags: str,
    pause_s: float = 0.3,
) -> _Run:
    load = _load(addresses, steps, *flags)
    disturbance = Disturbance(faults, pause_s)
    disturbance.start()
    result = _end(load)
    return _Run(disturbance.finish(), result)


def _kill(directory: pathlib.Path, steps: int) -> _Run:
    with _replicas(directory) as replicas:
        return _under(
            [r.kill for r in replicas], [r.address for r in replicas], steps
        )


def _rolling_restarts(directory: pathlib.Path, steps: int) -> _Run:
    with _replicas(directory) as replicas:
        return _under(
            [r.restart for r in replicas], [r.address for r in replicas], steps
        )


def _pause(directory: pathlib.Path, steps: int) -> _Run:
    with _replicas(directory) as replicas:
        dice = random.Random(1)
        faults = [
            lambda r=r: r.pause(dice.uniform(0.05, 0.8)) for r in replicas
        ]
        return _under(faults, [r.address for r in replicas], steps)


def _connection_age(directory: pathlib.Path, steps: int) -> _Run:
    with _replicas(directory, '--max_connection_age_ms=500') as replicas:
        return _under([lambda: None], [r.address for r in replicas], steps)


def _certificates(directory: pathlib.Path, steps: int) -> _Run:
    authority = Authority(directory)
    cert, key = authority.issue('server')
    flags = (f'--tls_cert={cert}', f'--tls_key={key}')

    def renew() -> None:
        for new, old in zip(authority.issue('new'), (cert, key), strict=True):
            new.replace(old)

    with _replicas(directory, *flags) as replicas:
        faults = [renew, *(r.restart for r in replicas)]
        return _under(
            faults,
            [r.address for r in replicas],
            steps,
            *('--tls_ca', str(authority.cert)),
        )


def _full_disk(directory: pathlib.Path, steps: int) -> _Run:
    """Rows in shared memory, on a file system that is filled and emptied."""
    rows = directory / 'rows'
    rows.mkdir()
    # Not as root, or in a container without mounts: then this ends in an error.
    subprocess.run(
        ['mount', '-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', str(rows)],
        check=True,
    )
    filler = rows / 'filler'

    def fill() -> None:
        with contextlib.suppress(OSError), filler.open('wb') as file:
            while file.write(b'x' * 65536):
                pass

    def free() -> None:
        filler.unlink(missing_ok=True)

    try:
        with _replicas(directory, f'--shm_dir={rows}') as replicas:
            return _under(
                [fill, free], [r.address for r in replicas], steps
            )
    finally:
        subprocess.run(['umount', '-l', str(rows)], check=True)


def _behind(proxy: Callable) -> Callable[[pathlib.Path, int], _Run]:
    def run(directory: pathlib.Path, steps: int) -> _Run:
        with _replicas(directory) as replicas:
            backends = [r.address for r in replicas]
            with proxy(directory, backends) as address:
                faults = [f for r in replicas for f in (r.restart, r.kill)]
                return _under(faults, [address], steps)

    return run


_SCENARIOS: dict[str, Callable[[pathlib.Path, int], _Run]] = {
    'kill -9': _kill,
    'rolling restarts': _rolling_restarts,
    'SIGSTOP': _pause,
    'connection age': _connection_age,
    'certificates': _certificates,
    'full disk': _full_disk,
    'behind nginx': _behind(nginx),
    'behind haproxy': _behind(haproxy),
}


def main() -> int:
    """Runs all scenarios in the time given."""
    minutes = float(sys.argv[1])
    steps = max(int(minutes * 60 / len(_SCENARIOS) * _RATE), _RATE)
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        with _replicas(directory / 'undisturbed') as replicas:
            wanted = _end(_load([r.address for r in replicas], steps))
        assert wanted['failed'] == 0, wanted
        total = {'faults': 0, 'calls': 0, 'failures': 0, 'differing': 0}
        for scenario, run in _SCENARIOS.items():
            place = directory / scenario.replace(' ', '_')
            place.mkdir()
            try:
                done = run(place, steps)
            except subprocess.CalledProcessError as error:
                if scenario != 'full disk':
                    raise
                print(f'{scenario:18} NOT TRIED: {error}', flush=True)
                continue
            differs = done.result['tokens_hash'] != wanted['tokens_hash']
            calls = done.result['steps'] + done.result['failed']
            print(
                f'{scenario:18} faults {done.faults:4}  calls {calls:6}  '
                f'failures {done.result["failed"]}  '
                f'tokens {"DIFFER" if differs else "equal"}  '
                f'p50 {done.result["p50_ms"]:.1f} ms  '
                f'max {done.result["max_ms"]:.0f} ms  '
                f'{done.result["faults"] or ""}',
                flush=True,
            )
            total['faults'] += done.faults
            total['calls'] += calls
            total['failures'] += done.result['failed']
            total['differing'] += int(differs)
    print(
        f'faults tried {total["faults"]}, calls {total["calls"]}, '
        f'failures {total["failures"]}, '
        f'runs with differing tokens {total["differing"]}'
    )
    return 1 if total['failures'] or total['differing'] else 0


if __name__ == '__main__':
    sys.exit(main())
