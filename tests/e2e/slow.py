"""Requests that are small on the wire and long to compute."""

import time

import numpy as np

from client import Client
from harness import Server
from harness import wait_until
from requests_of import BF16
from requests_of import Request
from requests_of import RowSpec
from requests_of import request

# Each draw makes noise for every token. 80 KiB on the wire.
_ROW = np.zeros((1, 40_960), np.float32)


def _draws(count: int) -> Request:
    rows = [RowSpec(seed=1, sample_count=count)]
    return request(_ROW, rows=rows, data_type=BF16)


def _time(client: Client, asked: Request) -> float:
    start = time.monotonic()
    client.sample(asked)
    return time.monotonic() - start


def slow_request(client: Client, seconds: float) -> Request:
    """A request of one row that takes about so long, here and now.

    Raises:
        ValueError: it takes more draws than a message may have.
    """
    count = 128
    while (took := _time(client, _draws(count))) < 0.05:
        count *= 2
    # The shortest: another process may have slowed one of them.
    took = min(took, *(_time(client, _draws(count)) for _ in range(2)))
    wanted = max(1, round(count * seconds / took))
    if wanted > 65_536:
        raise ValueError(f'{wanted} draws for {seconds} s')
    return _draws(wanted)


class CpuMark:
    """A moment from which on the server's work is watched."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._used = server.cpu_s

    def wait_for_work(self) -> None:
        """Returns when it has computed for 50 ms: slow requests are running."""
        wait_until('it works', lambda: self._server.cpu_s - self._used >= 0.05)
