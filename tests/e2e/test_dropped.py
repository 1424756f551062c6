"""Streams and connections that are opened and dropped in every way."""

from collections.abc import Callable
import pathlib
import socket
import struct

import numpy as np
import pytest

from client import Client
from conftest import StartServer
from harness import SLOW_FACTOR
from harness import Server
from harness import scaled
from harness import wait_until
from requests_of import Params
from requests_of import request

_SMALL = request([[1, 3, 2]], Params(temperature=0))
_LARGE = request(np.zeros((4, 50_000), np.float32), Params(temperature=0))
_PREFACE = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + bytes(
    [0, 0, 0, 4, 0, 0, 0, 0, 0]
)


def _cancel_at_once(client: Client) -> None:
    client.open_stream().call.cancel()


def _cancel_with_a_message_under_way(client: Client) -> None:
    stream = client.open_stream()
    stream.send(_LARGE)
    stream.call.cancel()
    stream.close()


def _end_without_reading(client: Client) -> None:
    stream = client.open_stream()
    stream.send(_SMALL)
    stream.close()
    stream.call.cancel()


def _close_the_connection(client: Client) -> None:
    with Client(client.address) as other:
        stream = other.open_stream()
        stream.send(_LARGE)
    stream.close()


def _reset_the_connection(client: Client) -> None:
    """In the middle of a frame, with a RST instead of a FIN."""
    host, port = client.address.rsplit(':', 1)
    with socket.create_connection((host, int(port))) as raw:
        raw.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0)
        )
        raw.sendall(_PREFACE + b'\x00\x40\x00\x00')


def _open_files(server: Server) -> int:
    return len(list(pathlib.Path(f'/proc/{server.process.pid}/fd').iterdir()))


@pytest.mark.parametrize(
    'drop',
    [
        _cancel_at_once,
        _cancel_with_a_message_under_way,
        _end_without_reading,
        _close_the_connection,
        _reset_the_connection,
    ],
)
def test_1000_drops_leave_nothing_behind(
    start_server: StartServer, drop: Callable[[Client], None]
) -> None:
    server = start_server(listen=('127.0.0.1:0',))
    with Client(server.address) as client:

        client.sample(_SMALL)
        files = _open_files(server)

        def drop_many(count: int) -> None:
            for i in range(1, count + 1):
                drop(client)
                if i % 50 == 0:  # many at a time may take more memory
                    wait_until(
                        'files are closed',
                        lambda: _open_files(server) <= files,
                    )
            assert list(client.sample(_SMALL).token_ids) == [1]

        drop_many(scaled(300))
        before = server.rss_bytes
        drop_many(scaled(1000))
        assert server.rss_bytes - before < SLOW_FACTOR * 8e6
