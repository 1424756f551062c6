"""The Python package, blocking and asyncio's, behind a proxy that resets."""

import asyncio
from collections.abc import Callable
import contextlib
import socket
import threading

import grpc
import numpy as np
import pytest

from python_package import tokendraw
from conftest import StartServer
from requests_of import Params

# pylint: disable=wrong-import-position,ungrouped-imports
import tokendraw.aio  # noqa: E402

_ROW = np.array([[1, 3, 2]], np.float32)
_GREEDY = Params(temperature=0)
_CODE = grpc.StatusCode

# HTTP/2: what a connection of a client begins with, types of frames, codes.
_PREFACE = 24
_DATA, _RST_STREAM = 0, 3
_NO_ERROR, _INTERNAL_ERROR, _REFUSED, _CANCEL, _CALM = 0, 2, 7, 8, 11


class _Proxy:
    """Hands on all bytes, and ends streams with RST_STREAM as it is told.

    Attributes:
        address: where it serves.
        resets: codes with which the next messages of the client are answered,
            whatever stream they are of; each is taken out.
        always: the code, once `resets` are through; None: no reset.
    """

    def __init__(self, server: str) -> None:
        self._server = server
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(('127.0.0.1', 0))
        self.address = f'127.0.0.1:{self._listener.getsockname()[1]}'
        self.resets: list[int] = []
        self.always: int | None = None
        self._start(self._accept)

    def __enter__(self) -> '_Proxy':
        return self

    def __exit__(self, *unused: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in self._sockets:
            each.close()

    def _start(self, run: Callable[..., None], *args: object) -> None:
        def until_it_ends() -> None:
            with contextlib.suppress(OSError, EOFError):
                run(*args)

        threading.Thread(target=until_it_ends, daemon=True).start()

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            server = socket.socket(socket.AF_UNIX)
            self._sockets += [client, server]
            server.connect(self._server.removeprefix('unix:'))
            lock = threading.Lock()
            self._start(self._from_client, client, server, lock)
            self._start(self._from_server, client, server, lock)

    def _from_client(
        self, client: socket.socket, server: socket.socket, lock: threading.Lock
    ) -> None:
        server.sendall(_read(client, _PREFACE))
        while True:
            frame = _read_frame(client)
            if frame[3] == _DATA and len(frame) > 9:
                code = self.resets.pop(0) if self.resets else self.always
                if code is not None:
                    with lock:
                        client.sendall(_reset(frame[5:9], code))
            # What the server says to it comes too late.
            server.sendall(frame)

    def _from_server(
        self, client: socket.socket, server: socket.socket, lock: threading.Lock
    ) -> None:
        while True:
            frame = _read_frame(server)
            with lock:
                client.sendall(frame)


def _read(source: socket.socket, size: int) -> bytes:
    data = b''
    while len(data) < size:
        more = source.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def _read_frame(source: socket.socket) -> bytes:
    """Length (3 bytes), type, flags, stream (4 bytes), and the payload."""
    head = _read(source, 9)
    return head + _read(source, int.from_bytes(head[:3], 'big'))


def _reset(stream: bytes, code: int) -> bytes:
    head = (4).to_bytes(3, 'big') + bytes([_RST_STREAM, 0]) + stream
    return head + code.to_bytes(4, 'big')


def _blocking(proxy: _Proxy, resets: list[int], deadline: float) -> None:
    with (
        tokendraw.Client(proxy.address, deadline=deadline) as client,
        client.stream() as stream,
    ):
        for call in (client.sample, stream.step, stream.step):
            proxy.resets[:] = resets
            assert call(_ROW, _GREEDY).token_ids.tolist() == [1]
            assert not proxy.resets


def _asyncio(proxy: _Proxy, resets: list[int], deadline: float) -> None:
    async def run() -> None:
        async with (
            tokendraw.aio.Client(proxy.address, deadline=deadline) as client,
            client.stream() as stream,
        ):
            for call in (client.sample, stream.step, stream.step):
                proxy.resets[:] = resets
                result = await call(_ROW, _GREEDY)
                assert result.token_ids.tolist() == [1]
                assert not proxy.resets

    asyncio.run(run())


_both = pytest.mark.parametrize('calls', [_blocking, _asyncio])
_Calls = Callable[[_Proxy, list[int], float], None]


@_both
@pytest.mark.parametrize(
    'code', [_NO_ERROR, _INTERNAL_ERROR, _REFUSED, _CANCEL]
)
def test_a_call_that_is_cut_off_is_made_again(
    start_server: StartServer, calls: _Calls, code: int
) -> None:
    """Three times: with the question for limits, and with the message."""
    with _Proxy(start_server().address) as proxy:
        calls(proxy, [code] * 3, 30.0)


@_both
def test_cut_off_until_the_deadline_is_said(
    start_server: StartServer, calls: _Calls
) -> None:
    with _Proxy(start_server().address) as proxy:
        proxy.always = _CANCEL
        with pytest.raises(tokendraw.TokendrawError) as caught:
            calls(proxy, [], 0.5)
    assert caught.value.code is _CODE.DEADLINE_EXCEEDED
    assert 'UNAVAILABLE: cut off: ' in caught.value.details
    assert 'RST_STREAM' in caught.value.details


@_both
def test_a_reset_that_has_a_meaning_is_not_called_a_cut(
    start_server: StartServer, calls: _Calls
) -> None:
    """So a server says that a message is more than it can take."""
    with _Proxy(start_server().address) as proxy:
        with pytest.raises(tokendraw.TokendrawError) as caught:
            calls(proxy, [_CALM], 30.0)
    assert caught.value.code is _CODE.RESOURCE_EXHAUSTED
