"""The Python package of the tree, installed when a session starts.

It takes the place of the modules that protos.py compiled; their messages are
the same classes.
"""

import atexit
from collections.abc import Iterator
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest

from protos import ROOT


def _install() -> None:
    out = tempfile.TemporaryDirectory(prefix='tokendraw_package.')
    atexit.register(out.cleanup)
    # A build leaves files beside its sources: not in the tree.
    source = pathlib.Path(out.name, 'source')
    ignored = shutil.ignore_patterns('build', '*.egg-info', '*_pb2*')
    shutil.copytree(ROOT / 'client/python', source, ignore=ignored)
    site = f'{out.name}/site'
    pip = [sys.executable, '-m', 'pip', '--disable-pip-version-check']
    offline = ['--no-index', '--no-deps', '--no-build-isolation']
    subprocess.run(
        [*pip, 'install', '--quiet', *offline, '--target', site, source],
        check=True,
    )
    for name in [name for name in sys.modules if name.startswith('tokendraw')]:
        del sys.modules[name]
    sys.path.insert(0, site)


_install()

# pylint: disable=wrong-import-position
import tokendraw  # noqa: E402

__all__ = ['tokendraw']

SITE = pathlib.Path(tokendraw.__file__).parents[1]


@pytest.fixture(name='shm_dir')
def fixture_shm_dir() -> Iterator[pathlib.Path]:
    """A directory on a memory file system, if there is one."""
    memory = '/dev/shm' if os.access('/dev/shm', os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as directory:
        yield pathlib.Path(directory)
