"""Servers that can be killed, stopped and replaced, on ports that stay."""

import pathlib
import signal
import socket
import threading
import time

from harness import Server


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


class Replica:
    """One address, and the server process that has it now."""

    def __init__(self, directory: pathlib.Path, *flags: str) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._flags = flags
        self.port = _free_port()
        self.address = f'127.0.0.1:{self.port}'
        self.server = self._start()

    def _start(self) -> Server:
        return Server(
            self._directory,
            *self._flags,
            f'--metrics_listen=127.0.0.1:{_free_port()}',
            '--grace_ms=5000',
            listen=(self.address,),
        )

    def kill(self) -> None:
        """SIGKILL, and a new one."""
        self.server.kill()
        self.server = self._start()

    def restart(self) -> None:
        """SIGTERM, and a new one when it has drained."""
        self.server.signal(signal.SIGTERM)
        code = self.server.wait()
        assert code == 0, f'ended with {code}: {self.server.stderr}'
        self.server = self._start()

    def pause(self, seconds: float) -> None:
        """SIGSTOP, and SIGCONT."""
        self.server.signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.server.signal(signal.SIGCONT)

    def close(self) -> None:
        self.server.close()


class Disturbance(threading.Thread):
    """Does something to one replica after the other, until told to end."""

    def __init__(self, faults: list, pause_s: float) -> None:
        super().__init__()
        self._faults = faults
        self._pause_s = pause_s
        self._end = threading.Event()
        self.count = 0
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            while not self._end.wait(self._pause_s):
                self._faults[self.count % len(self._faults)]()
                self.count += 1
        except BaseException as error:
            self.error = error

    def finish(self) -> int:
        """How many faults there were. Raises what went wrong."""
        self._end.set()
        self.join()
        if self.error:
            raise self.error
        return self.count
