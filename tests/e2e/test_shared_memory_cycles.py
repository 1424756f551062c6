"""10,000 row buffers, made, used and removed: neither process keeps any."""

from collections.abc import Callable
import os
import pathlib
import re
from typing import NamedTuple

import numpy as np

from python_package import fixture_shm_dir  # noqa: F401
from python_package import tokendraw
from conftest import StartServer
from harness import SLOW_FACTOR
from harness import scaled
from harness import wait_until
from requests_of import Params

# In F32 the 64 KiB from which on the client uses a file.
_ROWS, _VOCAB = 16, 1024
_ROW_BYTES = 4 * _VOCAB

# After it, thread arenas are there, and AddressSanitizer's quarantine is full:
# not scaled.
_WARM_UP = 1000

# 210 bytes a cycle, of which a leaked file would take 65,536. Without a leak the
# server grows by 0.1 MiB, and the client once by 0.9, after 8,000 cycles.
_MOST_GROWTH = 2 << 20


class _Held(NamedTuple):
    """What a process holds now.

    Attributes:
        rss_bytes: of memory, shared or not.
        files: descriptors.
        mapped: files of the shared directory, those that were removed as well.
    """

    rss_bytes: int
    files: int
    mapped: int


def _held(pid: int, directory: pathlib.Path) -> _Held:
    process = pathlib.Path(f'/proc/{pid}')
    status = (process / 'status').read_text(encoding='ascii')
    rss = re.search(r'VmRSS:\s+(\d+) kB', status)
    assert rss, status
    maps = (process / 'maps').read_text(encoding='utf-8')
    return _Held(
        rss_bytes=int(rss[1]) * 1024,
        files=len(os.listdir(process / 'fd')),
        mapped=maps.count(f' {directory}/'),
    )


def _cycle(
    client: tokendraw.Client,
    call: Callable[..., tokendraw.SampleResult],
    number: int,
) -> None:
    """The tokens differ from file to file: none is read in another's place."""
    tokens = (np.arange(_ROWS) * 7 + number) % _VOCAB
    with client.row_buffer(_ROWS * _ROW_BYTES) as buffer:
        logits = buffer.array(np.float32, (_ROWS, _VOCAB))
        logits[np.arange(_ROWS), tokens] = 1.0
        result = call(logits, Params(temperature=0))
    assert result.payload == 'shared_memory'
    assert result.token_ids.tolist() == tokens.tolist()


# Field case G17.
def test_10000_cycles_leave_nothing_behind(
    start_server: StartServer, shm_dir: pathlib.Path
) -> None:
    server = start_server('--shm_dir', str(shm_dir))
    with (
        tokendraw.Client(server.address, shm_dir=str(shm_dir)) as client,
        client.stream() as stream,
    ):
        calls = (client.sample, stream.step)

        def cycles(count: int) -> tuple[_Held, _Held]:
            """What the server and this process hold after so many."""
            for number in range(count):
                _cycle(client, calls[number % 2], number)
            assert not list(shm_dir.iterdir())
            # It keeps the last one until it maps another. The one before may
            # go a moment after its reply.
            wait_until(
                'the server has at most one removed file mapped',
                lambda: _held(server.process.pid, shm_dir).mapped <= 1,
            )
            return (
                _held(server.process.pid, shm_dir),
                _held(os.getpid(), shm_dir),
            )

        before = cycles(_WARM_UP)
        after = cycles(scaled(10_000))
    most = SLOW_FACTOR * _MOST_GROWTH
    for start, end in zip(before, after, strict=True):
        assert end.rss_bytes - start.rss_bytes < most
        assert end.files == start.files
    assert after[1].mapped == 0
