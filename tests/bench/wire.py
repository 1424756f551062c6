"""Measures the ways of a row to the service and back.

Round trips of the client library over every payload, beside a raw echo of the
same bytes, the chain alone, and the service as one would write it first, in
turns: each turn gives every worker some round trips, as a decode loop makes
them, so that a machine whose speed drifts drifts for all of them. Prints JSON
lines, then a table with the targets.

Usage: wire.py BUILD_DIRECTORY [--quick]
"""

from collections.abc import Iterator
import contextlib
import dataclasses
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

_V = 151_936
_BYTES = {'F32': 4, 'BF16': 2}
_THREADS = 2
_ROWS = (1, 8, 64)


@dataclasses.dataclass(frozen=True)
class Way:
    """What is measured: how so many rows of a type go, and where to."""

    kind: str
    data_type: str
    rows: int
    transport: str
    threads: int = _THREADS
    worker: int = 0  # of several of this way at the same time

    @property
    def bytes(self) -> int:
        return _V * _BYTES[self.data_type] * self.rows


class Worker:
    """A process that makes round trips when it is told to."""

    def __init__(self, build: pathlib.Path, way: Way, *args: str) -> None:
        self.times_us: list[float] = []
        self._process = subprocess.Popen(
            [build / 'tests/wire_worker', way.kind, way.data_type]
            + [str(way.rows), *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._line() == 'ready\n', way

    def _line(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline()

    def start(self, count: int) -> None:
        assert self._process.stdin
        self._process.stdin.write(f'{count}\n')
        self._process.stdin.flush()

    def finish(self) -> None:
        self.times_us += map(float, self._line().split())

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()


@contextlib.contextmanager
def _serving(command: list[str]) -> Iterator[str]:
    """A server; gives the line with which it says that it serves."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert process.stdout
        yield process.stdout.readline()
    finally:
        process.kill()
        process.wait()


class Bench:
    """All servers, and the workers that a measurement needs."""

    def __init__(
        self, build: pathlib.Path, directory: str, stack: contextlib.ExitStack
    ) -> None:
        self._build = build
        self._directory = directory
        self._stack = stack
        self._addresses: dict[tuple[str, str, int, Way | None], str] = {}
        # A file system in memory, if there is one.
        shm = '/dev/shm' if pathlib.Path('/dev/shm').is_dir() else None
        self._shm = stack.enter_context(
            tempfile.TemporaryDirectory(prefix='tokendraw.', dir=shm)
        )

    def address(self, server: str, way: Way) -> str:
        """Where that server is; it starts when it is first asked for."""
        transport, threads = way.transport, way.threads
        # An echo serves one stream: each worker has its own.
        key = (server, transport, threads, way if server == 'echo' else None)
        if key not in self._addresses:
            listen = (
                f'unix:{self._directory}/{len(self._addresses)}'
                if transport == 'unix'
                else '127.0.0.1:0'
            )
            command = [str(self._build / 'tests/wire_peer'), server]
            if server == 'tokendrawd':
                command = [str(self._build / 'tokendrawd'), '--listen', listen]
                command += ['--threads', str(threads), '--shm_dir', self._shm]
            else:
                command += [listen, str(threads)]
            line = self._stack.enter_context(_serving(command))
            serving = re.search(r'serving on (\S+)', line)
            assert serving, line
            self._addresses[key] = serving[1] if ':0' in listen else listen
        return self._addresses[key]

    def worker(self, way: Way) -> Worker:
        server = {'echo': 'echo', 'obvious': 'obvious'}.get(
            way.kind, 'tokendrawd'
        )
        if way.kind == 'chain':
            return Worker(self._build, way, str(way.threads))
        address = self.address(server, way)
        shm = self._shm if way.kind == 'shared_memory' else '/nowhere'
        return Worker(self._build, way, address, shm)

    def measure(
        self, ways: list[Way], turns: int, trips: int
    ) -> dict[Way, list[float]]:
        """Times of round trips in microseconds. Workers of one way that
        differ in `worker` alone run at the same time."""
        workers = {way: self.worker(way) for way in ways}
        groups: dict[Way, list[Worker]] = {}
        for way, worker in workers.items():
            key = dataclasses.replace(way, worker=0)
            groups.setdefault(key, []).append(worker)
        for _ in range(turns):
            for group in groups.values():
                for worker in group:
                    worker.start(trips)
                for worker in group:
                    worker.finish()
        for worker in workers.values():
            worker.close()
        return {way: worker.times_us for way, worker in workers.items()}


def _median(times: list[float]) -> float:
    return statistics.median(times)


def _report(way: Way, times: list[float], beside: dict[str, float]) -> None:
    p50 = _median(times)
    print(
        json.dumps(
            {
                'payload': way.kind,
                'data_type': way.data_type,
                'rows': way.rows,
                'transport': way.transport,
                'threads': way.threads,
                'p50_us': round(p50, 1),
                'p99_us': round(statistics.quantiles(times, n=100)[98], 1),
                'rows_per_s': round(way.rows / p50 * 1e6),
                'gb_per_s': round(way.bytes / p50 / 1e3, 2),
            }
            | {name: round(value, 1) for name, value in beside.items()}
        ),
        flush=True,
    )


@dataclasses.dataclass
class Target:
    """A number that must be on the right side of a bound."""

    name: str
    value: float
    bound: float
    at_most: bool

    def __str__(self) -> str:
        met = (
            self.value <= self.bound
            if self.at_most
            else self.value >= self.bound
        )
        sign = '<=' if self.at_most else '>='
        verdict = 'met' if met else 'MISSED'
        return f'{self.name:<58}{self.value:8.2f}  {sign} {self.bound:<6} {verdict}'


def _one_size(
    bench: Bench, rows: int, transport: str, turns: int, targets: list[Target]
) -> None:
    def way(kind: str, data_type: str = 'F32') -> Way:
        return Way(kind, data_type, rows, transport)

    trips = max(8, 64 // rows)
    ways = [way('inline'), way('inline', 'BF16'), way('candidates')]
    ways += [way('echo'), way('echo', 'BF16'), way('chain')]
    ways += [way('chain', 'BF16'), way('obvious'), way('small')]
    if transport == 'unix':
        ways += [way('shared_memory'), way('shared_memory', 'BF16')]
    times = bench.measure(ways, turns, trips)
    p50 = {(w.kind, w.data_type): _median(t) for w, t in times.items()}
    for measured in ways:
        beside = {}
        if measured.kind in (
            'inline',
            'shared_memory',
            'candidates',
            'obvious',
        ):
            beside = {
                'echo_us': p50['echo', measured.data_type],
                'chain_us': p50['chain', measured.data_type],
                'small_us': p50['small', 'F32'],
            }
        _report(measured, times[measured], beside)

    def add(name: str, value: float, bound: float, at_most: bool) -> None:
        where = f'{transport}, {rows} rows: '
        targets.append(Target(where + name, value, bound, at_most))

    inline, chain = p50['inline', 'F32'], p50['chain', 'F32']
    add(
        'inline / (echo + chain)',
        inline / (p50['echo', 'F32'] + chain),
        1.15,
        True,
    )
    if rows <= 8:
        bound = 2 if rows == 1 else 3
        add('obvious / inline', p50['obvious', 'F32'] / inline, bound, False)
    add('inline BF16 / F32', p50['inline', 'BF16'] / inline, 0.75, True)
    if rows == 64:
        candidates = p50['candidates', 'F32']
        add('candidates / inline', candidates / inline, 0.05, True)
    if rows == 64 and transport == 'unix':
        shared = p50['shared_memory', 'F32']
        small = p50['small', 'F32']
        add(
            'shared memory / (1.5 chain + small)',
            shared / (1.5 * chain + small),
            1,
            True,
        )
        add('inline / shared memory', inline / shared, 2.5, False)


def _two_workers(bench: Bench, turns: int, targets: list[Target]) -> None:
    rows = 64
    one = Way('shared_memory', 'F32', rows, 'unix', threads=1)
    two = [
        Way('shared_memory', 'F32', rows, 'unix', 2, worker)
        for worker in (0, 1)
    ]
    times = bench.measure([one, *two], turns, 4)
    _report(one, times[one], {})
    both = sum(1 / _median(times[way]) for way in two)
    _report(two[0], times[two[0]], {'workers': 2})
    targets.append(
        Target(
            'two workers on two threads / one on one',
            both * _median(times[one]),
            1.7,
            False,
        )
    )


def main() -> None:
    build = pathlib.Path(sys.argv[1])
    turns = 3 if '--quick' in sys.argv else 15
    targets: list[Target] = []
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(
            tempfile.TemporaryDirectory(prefix='tokendraw.')
        )
        bench = Bench(build, directory, stack)
        for transport in ('unix', 'tcp'):
            for rows in _ROWS:
                _one_size(bench, rows, transport, turns, targets)
        _two_workers(bench, turns, targets)
    for target in targets:
        print(target, file=sys.stderr)


if __name__ == '__main__':
    main()
