"""Mixed load for a while: memory and descriptors of the server stay flat.

Usage: python tests/chaos/soak.py MINUTES
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).parents[1] / 'e2e'))

from harness import COMMAND
from harness import Server
from harness import wait_until

# Of the payloads and the parameters that callers use.
_LOADS = (
    ('--rows', '8', '--vocab_size', '50000', '--typical_p', '0.9'),
    ('--rows', '1', '--vocab_size', '151936', '--top_p', '0.9'),
    ('--rows', '4', '--vocab_size', '32000', '--candidates', '128')
    + ('--top_k', '40', '--xtc_probability', '0.5'),
    ('--rows', '64', '--vocab_size', '2000', '--mirostat', '2'),
)
_SAMPLE_S = 1.0
# Growth over the second half of the run that is noise: of the allocator.
_NOISE_BYTES = 8 << 20


def _descriptors(server: Server) -> int:
    return len(list(pathlib.Path(f'/proc/{server.process.pid}/fd').iterdir()))


def main() -> int:
    """Fails if memory or descriptors grow, or if a call fails."""
    seconds = float(sys.argv[1]) * 60
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        rows = directory / 'rows'
        rows.mkdir()
        server = Server(directory, f'--shm_dir={rows}')
        try:
            return _soak(server, seconds)
        finally:
            server.close()


def _start_loads(server: Server, seconds: float) -> list[subprocess.Popen]:
    return [
        subprocess.Popen(
            [COMMAND, 'load', '--server', server.address, *flags]
            + ['--workers', '2', '--rate', '20', '--deadline_ms', '30000']
            + ['--duration_s', str(seconds), '--json'],
            stdout=subprocess.PIPE,
            text=True,
        )
        for flags in _LOADS
    ]


def _soak(server: Server, seconds: float) -> int:
    for load in _start_loads(server, 2):  # gRPC opens some for itself
        load.communicate()
    before = _descriptors(server)
    loads = _start_loads(server, seconds)
    memory: list[int] = []
    descriptors: list[int] = []
    while any(load.poll() is None for load in loads):
        memory.append(server.rss_bytes)
        descriptors.append(_descriptors(server))
        time.sleep(_SAMPLE_S)
    results = [json.loads(load.communicate()[0]) for load in loads]
    steps = sum(result['steps'] for result in results)
    failed = sum(result['failed'] for result in results)
    # The second half against the end of the first: what is kept is kept by then.
    quarter = len(memory) // 4
    early = statistics.median(memory[quarter : 2 * quarter])
    late = statistics.median(memory[-quarter:])
    wait_until(
        'connections are closed', lambda: _descriptors(server) <= before + 2
    )
    after = _descriptors(server)
    print(
        f'{seconds:.0f} s, steps {steps}, failed {failed}, '
        f'RSS {early / 1e6:.1f} -> {late / 1e6:.1f} MB, '
        f'descriptors {before} -> {max(descriptors)} -> {after}'
    )
    return 0 if failed == 0 and late - early < _NOISE_BYTES else 1


if __name__ == '__main__':
    sys.exit(main())
