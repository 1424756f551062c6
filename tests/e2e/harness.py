"""Real server processes, and waiting that ends as soon as it can."""

from collections.abc import Callable, Mapping
import os
import pathlib
import re
import signal
import subprocess
import time
from typing import TypeVar

from protos import ROOT

BUILD = pathlib.Path(os.environ.get('TOKENDRAW_BUILD', ROOT / 'build/release'))
SERVER = BUILD / 'tokendrawd'
COMMAND = BUILD / 'tokendraw'
GRPCURL = ROOT / 'build/tools/grpcurl'

SERVICE = 'tokendraw.v1.SamplingService'

# What a step may take at most. Nothing waits that long unless it is broken:
# sanitizers make the server many times slower, and a machine may be busy.
PATIENCE_S = 60.0

_T = TypeVar('_T')


_SCALE = float(os.environ.get('TOKENDRAW_E2E_SCALE', 1))

# What bounds on memory and time are multiplied with: sanitizers cost both.
SLOW_FACTOR = 1 if _SCALE >= 1 else 4


def scaled(load: int) -> int:
    """`load` under a TOKENDRAW_E2E_SCALE of 1, less with slow builds."""
    return max(1, round(load * _SCALE))


def wait_until(
    what: str, probe: Callable[[], _T | None], patience_s: float = PATIENCE_S
) -> _T:
    """Polls `probe` until it gives something true, and returns that.

    Raises:
        TimeoutError: it did not within `patience_s`.
    """
    end = time.monotonic() + patience_s
    while True:
        value = probe()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f'waited {patience_s} s until {what}')
        time.sleep(0.005)


class Server:
    """One tokendrawd process, from its start to its end.

    Attributes:
        process: the process.
        addresses: what it says it serves on, with the ports that were bound.
    """

    def __init__(
        self,
        directory: pathlib.Path,
        *flags: str,
        listen: tuple[str, ...] | None = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Starts it and waits until it serves.

        Args:
            directory: where its socket and its log go.
            *flags: of the command line, beside --listen.
            listen: addresses; () is a socket in `directory`, and None leaves
                them to `flags` and `env`.
            env: variables beside those of this process.

        Raises:
            RuntimeError: it ended instead; the text has its stderr.
        """
        self._log = directory / f'tokendrawd.{time.monotonic_ns()}.log'
        if listen is not None:
            addresses = ','.join(listen) or f'unix:{directory}/s'
            flags = ('--listen', addresses, *flags)
        with self._log.open('wb') as log:
            self.process = subprocess.Popen(
                [SERVER, *flags],
                stderr=log,
                env={**os.environ, **(env or {})},
            )
        self.addresses = wait_until('the server serves', self._serving)

    def _serving(self) -> list[str] | None:
        line = re.search(r'serving on (.+?)(?: \(|")', self.stderr)
        if line:
            return line[1].split(', ')
        if self.process.poll() is not None:
            raise RuntimeError(
                f'ended with {self.process.returncode}: {self.stderr}'
            )
        return None

    @property
    def stderr(self) -> str:
        return self._log.read_text(encoding='utf-8', errors='replace')

    @property
    def address(self) -> str:
        """The first address."""
        return self.addresses[0]

    @property
    def rss_bytes(self) -> int:
        """Memory that the process has resident now."""
        status = pathlib.Path(f'/proc/{self.process.pid}/status').read_text(
            encoding='ascii'
        )
        found = re.search(r'VmRSS:\s+(\d+) kB', status)
        assert found, status
        return int(found[1]) * 1024

    @property
    def cpu_s(self) -> float:
        """Processor time that it has used so far."""
        stat = pathlib.Path(f'/proc/{self.process.pid}/stat').read_text(
            encoding='ascii'
        )
        user, system = stat.rpartition(')')[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf('SC_CLK_TCK')

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)
        if number == signal.SIGSTOP:
            wait_until('all threads have stopped', self._has_stopped)

    def _has_stopped(self) -> bool:
        tasks = pathlib.Path(f'/proc/{self.process.pid}/task').glob('*/stat')
        # "PID (NAME) STATE ...", and a name may hold anything.
        try:
            texts = [task.read_text() for task in tasks]
        except FileNotFoundError:  # a thread ended
            return False
        return {text.rpartition(')')[2].split()[0] for text in texts} == {'T'}

    def wait(self) -> int:
        """Returns the exit code."""
        return self.process.wait(PATIENCE_S)

    def kill(self) -> None:
        """Ends it without a chance to do anything."""
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """Ends it in order, if it has not been ended.

        Raises:
            RuntimeError: it crashed, before or now, or a sanitizer complains.
        """
        code = self.process.returncode
        if code is None:
            self.process.terminate()
            try:
                code = self.wait()
            except subprocess.TimeoutExpired:
                self.kill()
        if code not in (0, -signal.SIGKILL) or 'Sanitizer' in self.stderr:
            raise RuntimeError(f'ended with {code}: {self.stderr}')


def run_server(
    *args: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """A tokendrawd that is expected to end by itself."""
    return subprocess.run(
        [SERVER, *args],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env={**os.environ, **(env or {})},
    )
