"""Logits in a file of a memory file system that a server on this host reads."""

import fcntl
import mmap
import os
import re
import secrets
import stat
import time
import weakref

from tokendraw.row_buffer import RowBuffer, check_nbytes
from tokendraw.v1 import logits_pb2

# The C++ client has the same names and rules: each removes what a killed
# process of the other left.
_NAME = re.compile(r'tokendraw-[0-9]+-[0-9a-f]{16}\.rows')
# Longer than a file is between its creation and its lock.
_ORPHAN_AGE_S = 60.0


class SharedRows(RowBuffer):
    """A file that lives until close(), which also the end of the process does.

    Its owner holds a lock on it (flock), so that what a killed process left
    can be told from what is in use.
    """

    def __init__(self, file: int, path: str, nbytes: int) -> None:
        """See create()."""
        super().__init__(mmap.mmap(file, nbytes))
        self._name = os.path.basename(path)
        self._remove = weakref.finalize(self, _remove, os.getpid(), file, path)

    @classmethod
    def create(cls, directory: str, nbytes: int) -> 'SharedRows':
        """A new file, `tokendraw-<pid>-<random hex>.rows`, of zeros.

        Its memory is taken at once, so that a full file system is an error
        here and not a SIGBUS later. Before that, files that dead processes of
        this user left in `directory` are removed.

        Raises:
            OSError: the directory or the file system would not have it.
            ValueError: `nbytes` < 1.
        """
        check_nbytes(nbytes)
        remove_orphans(directory)
        name = f'tokendraw-{os.getpid()}-{secrets.token_hex(8)}.rows'
        path = os.path.join(os.path.abspath(directory), name)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        file = os.open(path, flags | os.O_CLOEXEC, 0o640)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            os.posix_fallocate(file, 0, nbytes)
            return cls(file, path, nbytes)
        except BaseException:
            _remove(os.getpid(), file, path)
            raise

    def close(self) -> None:
        """Removes the file. Arrays over it stay, seen by this process alone."""
        super().close()
        self._remove()

    def reference(self, offset: int = 0) -> logits_pb2.SharedMemory:
        """What a request says in place of the bytes from `offset` on."""
        return logits_pb2.SharedMemory(name=self._name, offset=offset)


def _remove(owner: int, file: int, path: str) -> None:
    os.close(file)
    if os.getpid() != owner:
        return  # a fork of the owner
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def remove_orphans(directory: str) -> None:
    """Removes what dead processes of this user left in `directory`.

    Regular files of that name and of this user, not changed for a minute, that
    no process has locked. What cannot be removed stays.

    Raises:
        OSError: the directory cannot be read.
    """
    with os.scandir(directory) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name):
                _remove_if_orphan(entry.path)


def _remove_if_orphan(path: str) -> None:
    # Neither a link nor, waiting for a writer, a pipe.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        file = os.open(path, flags)
    except OSError:
        return  # gone, or not ours
    try:
        if _is_old_file_of_ours(os.fstat(file)):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)
    except OSError:
        pass  # in use, or removed by another process just now
    finally:
        os.close(file)


def _is_old_file_of_ours(status: os.stat_result) -> bool:
    changed = max(status.st_mtime, status.st_ctime)
    return (
        stat.S_ISREG(status.st_mode)
        and status.st_uid == os.geteuid()
        and time.time() - changed >= _ORPHAN_AGE_S
    )
