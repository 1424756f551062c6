"""The Python package's files in shared memory: made, used, removed, swept."""

import fcntl
import os
import pathlib
import re
import stat
import subprocess
import sys
import time

import numpy as np
import pytest

from python_package import SITE
from python_package import fixture_shm_dir  # noqa: F401
from python_package import tokendraw
from conftest import StartServer
from harness import PATIENCE_S
from harness import SLOW_FACTOR
from harness import scaled
from requests_of import Params

SharedRows = tokendraw.SharedRows

_DIGITS = '0123456789abcdef'

# Makes a file in argv[1], says its name, and goes on as stdin says.
_CHILD = """
import os, sys, tokendraw
rows = tokendraw.SharedRows.create(sys.argv[1], 4096)
print(rows.reference().name, flush=True)
exec(sys.stdin.readline())
"""


class _Child:
    """Another process with a file in the directory."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, '-c', _CHILD, directory],
            env={**os.environ, 'PYTHONPATH': str(SITE)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.path = directory / self.process.stdout.readline().strip()

    def go_on(self, code: str) -> int:
        """Its exit code, after it has run `code`."""
        self.process.communicate(f'{code}\n', timeout=PATIENCE_S)
        return self.process.returncode

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=PATIENCE_S)


def _sweep(directory: pathlib.Path, later_s: float = 0.0) -> None:
    """As a process would that comes so much later."""
    now = time.time
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, 'time', lambda: now() + later_s)
        SharedRows.create(str(directory), 1).close()


def test_a_file_has_its_name_mode_and_memory(shm_dir: pathlib.Path) -> None:
    mask = os.umask(0)
    try:
        rows = SharedRows.create(str(shm_dir), 10_000_000)
    finally:
        os.umask(mask)
    with rows:
        reference = rows.reference(24)
        assert reference.offset == 24
        name = rf'tokendraw-{os.getpid()}-[0-9a-f]{{16}}\.rows'
        assert re.fullmatch(name, reference.name)
        path = shm_dir / reference.name
        status = path.stat()
        assert stat.S_IMODE(status.st_mode) == 0o640
        assert status.st_size == 10_000_000
        # All of it is there, before a byte is written.
        assert status.st_blocks * 512 >= 10_000_000
        array = rows.array(np.uint16, (2, 3), offset=8)
        array[:] = [[1, 2, 3], [4, 5, 6]]
        wanted = bytes(8) + np.arange(1, 7, dtype='<u2').tobytes()
        assert path.read_bytes()[:20] == wanted
        with path.open('rb') as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
    assert rows.closed
    assert not path.exists()
    array[1, 2] = 7  # its memory is still there
    rows.close()


def test_a_full_file_system_is_an_error_of_create(
    shm_dir: pathlib.Path,
) -> None:
    with pytest.raises(OSError):
        SharedRows.create(str(shm_dir), 1 << 50)
    with pytest.raises(FileNotFoundError):
        SharedRows.create(str(shm_dir / 'none'), 1)
    with pytest.raises(ValueError, match='nbytes must be >= 1'):
        SharedRows.create(str(shm_dir), 0)
    assert not list(shm_dir.iterdir())


def test_what_a_killed_process_left_is_removed(shm_dir: pathlib.Path) -> None:
    dead, alive = _Child(shm_dir), _Child(shm_dir)
    _sweep(shm_dir, 61)
    assert dead.path.exists() and alive.path.exists()
    dead.kill()
    assert dead.path.exists()
    _sweep(shm_dir, 61)
    assert not dead.path.exists() and alive.path.exists()
    alive.kill()
    _sweep(shm_dir, 61)
    assert not list(shm_dir.iterdir())


def test_an_orphan_is_as_old_as_its_last_change(shm_dir: pathlib.Path) -> None:
    orphan = shm_dir / f'tokendraw-1-{_DIGITS}.rows'
    orphan.touch()
    now = time.time()
    os.utime(orphan, (now - 1e6, now - 1e6))  # of its inode, too
    _sweep(shm_dir, 50)
    assert orphan.exists()
    os.utime(orphan, (now + 100, now + 100))
    _sweep(shm_dir, 150)
    assert orphan.exists()
    _sweep(shm_dir, 161)
    assert not orphan.exists()


def test_only_files_of_this_user_and_of_that_name_are_removed(
    shm_dir: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [
        f'tokendraw-1-{_DIGITS}.row',
        f'tokendraw-1-{_DIGITS}.rows.old',
        f'tokendraw-1-{_DIGITS.upper()}.rows',
        f'tokendraw-1-{_DIGITS[1:]}.rows',
        f'tokendraw-1-0{_DIGITS}.rows',
        'tokendraw-1-.rows',
        f'tokendraw--{_DIGITS}.rows',
        f'tokendraw-x-{_DIGITS}.rows',
        f'xtokendraw-1-{_DIGITS}.rows',
        f'tokendraw-1-{_DIGITS}.rows\n',
        'other',
    ]
    for name in names:
        (shm_dir / name).touch()
    (shm_dir / f'tokendraw-2-{_DIGITS}.rows').symlink_to(shm_dir / 'other')
    (shm_dir / f'tokendraw-3-{_DIGITS}.rows').symlink_to('none')
    os.mkfifo(shm_dir / f'tokendraw-4-{_DIGITS}.rows')
    (shm_dir / f'tokendraw-5-{_DIGITS}.rows').mkdir()
    kept = set(shm_dir.iterdir())
    old = shm_dir / f'tokendraw-1-{_DIGITS}.rows'
    old.touch()

    user = os.geteuid()
    files = len(os.listdir('/proc/self/fd'))
    with monkeypatch.context() as patch:
        patch.setattr(os, 'geteuid', lambda: user + 1)
        _sweep(shm_dir, 61)
        assert set(shm_dir.iterdir()) == kept | {old}
    _sweep(shm_dir, 61)
    assert set(shm_dir.iterdir()) == kept
    assert len(os.listdir('/proc/self/fd')) == files


def test_what_cannot_be_removed_stays(
    shm_dir: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    orphan = shm_dir / f'tokendraw-1-{_DIGITS}.rows'
    orphan.touch()
    unlink = os.unlink

    def deny(path: str) -> None:
        if path == str(orphan):
            raise PermissionError(path)
        unlink(path)

    monkeypatch.setattr(os, 'unlink', deny)
    _sweep(shm_dir, 61)
    assert list(shm_dir.iterdir()) == [orphan]


@pytest.mark.parametrize('end', ['', 'sys.exit(3)', '1 / 0', 'del rows'])
def test_a_process_that_ends_removes_its_files(
    shm_dir: pathlib.Path, end: str
) -> None:
    child = _Child(shm_dir)
    assert child.path.exists()
    child.go_on(end)
    assert not child.path.exists()


def test_a_fork_that_ends_leaves_the_files_of_its_parent(
    shm_dir: pathlib.Path,
) -> None:
    child = _Child(shm_dir)
    code = child.go_on(
        'pid = os.fork(); pid or sys.exit(); os.waitpid(pid, 0); '
        f'os._exit(os.path.exists({str(child.path)!r}))'
    )
    assert code == 1


def test_cycles_leave_nothing_behind(
    start_server: StartServer, shm_dir: pathlib.Path
) -> None:
    """A leak of each file would be 2,000 MiB; of each object, 700 KiB."""
    server = start_server('--shm_dir', str(shm_dir))

    def rss_bytes() -> int:
        pages = pathlib.Path('/proc/self/statm').read_text('ascii').split()[1]
        return int(pages) * os.sysconf('SC_PAGE_SIZE')

    def cycle(client: tokendraw.Client, number: int) -> None:
        with client.row_buffer(1 << 20) as buffer:
            logits = buffer.array(np.float32, (16, 16_384))
            logits[:, number % 16_384] = 1.0
            result = client.sample(logits, Params(temperature=0))
            assert result.token_ids.tolist() == [number % 16_384] * 16
            assert result.payload == 'shared_memory'

    with tokendraw.Client(server.address, shm_dir=str(shm_dir)) as client:
        # The server keeps up to 256 files mapped, until it looks.
        for number in range(300):
            cycle(client, number)
        before = rss_bytes()
        files = len(os.listdir('/proc/self/fd'))
        for number in range(scaled(2000)):
            cycle(client, number)
        assert not list(shm_dir.iterdir())
        assert rss_bytes() - before < 400 << 10
        assert len(os.listdir('/proc/self/fd')) == files
        assert server.rss_bytes < SLOW_FACTOR * (64 << 20)
