"""The Python package, blocking and asyncio's: TLS, mutual TLS and tokens."""

import asyncio
from collections.abc import Callable
import os
import pathlib
from typing import Any

import grpc
import numpy as np
import pytest

from certificates import Authority
from python_package import fixture_shm_dir  # noqa: F401
from python_package import tokendraw
from conftest import StartServer
from harness import Server
from harness import wait_until
from requests_of import Params

# pylint: disable=wrong-import-position,ungrouped-imports
import tokendraw.aio  # noqa: E402

_ROWS = np.zeros((1, 16_384), np.float32)
_ROWS[0, 7] = 1.0
_GREEDY = Params(temperature=0)
_CODE = grpc.StatusCode

# Makes every call once, and once more after each of `changes`.
_Calls = Callable[..., None]


def _blocking(
    address: str, *changes: Callable[[], None], **options: Any
) -> None:
    with tokendraw.Client(address, **options) as client:
        for change in (lambda: None, *changes):
            change()
            assert client.info().semantics_version == '1'
            assert client.validate(_GREEDY) == []
            assert client.explain(_ROWS[0], _GREEDY).token_id == 7
            logits = client.row_buffer(_ROWS.nbytes).array(
                np.float32, _ROWS.shape
            )
            logits[:] = _ROWS
            with client.stream() as stream:
                for call in (client.sample, stream.step):
                    assert call(logits, _GREEDY).token_ids.tolist() == [7]


def _asyncio(
    address: str, *changes: Callable[[], None], **options: Any
) -> None:
    async def run() -> None:
        async with tokendraw.aio.Client(address, **options) as client:
            for change in (lambda: None, *changes):
                change()
                assert (await client.info()).semantics_version == '1'
                assert await client.validate(_GREEDY) == []
                explained = await client.explain(_ROWS[0], _GREEDY)
                assert explained.token_id == 7
                buffer = await client.row_buffer(_ROWS.nbytes)
                logits = buffer.array(np.float32, _ROWS.shape)
                logits[:] = _ROWS
                async with client.stream() as stream:
                    for call in (client.sample, stream.step):
                        result = await call(logits, _GREEDY)
                        assert result.token_ids.tolist() == [7]

    asyncio.run(run())


_both = pytest.mark.parametrize('calls', [_blocking, _asyncio])


def _fault(calls: _Calls, address: str, **options: Any) -> tuple[_CODE, str]:
    with pytest.raises(tokendraw.TokendrawError) as caught:
        calls(address, **options)
    return caught.value.code, caught.value.details


@pytest.fixture
def authority(tmp_path: pathlib.Path) -> Authority:
    return Authority(tmp_path)


def _credentials(
    ca: Authority, own: tuple[pathlib.Path, pathlib.Path] | None = None
) -> grpc.ChannelCredentials:
    if own is None:
        return grpc.ssl_channel_credentials(ca.cert.read_bytes())
    cert, key = own
    return grpc.ssl_channel_credentials(
        ca.cert.read_bytes(), key.read_bytes(), cert.read_bytes()
    )


def _start(
    start_server: StartServer,
    authority: Authority,
    *flags: str,
    listen: str = '127.0.0.1:0',
) -> Server:
    cert, key = authority.issue('server')
    return start_server(
        f'--tls_cert={cert}', f'--tls_key={key}', *flags, listen=(listen,)
    )


@_both
def test_tls(
    start_server: StartServer, authority: Authority, calls: _Calls
) -> None:
    address = _start(start_server, authority).address
    calls(address, credentials=_credentials(authority))
    other = Authority(authority.cert.parent, 'other')
    code, text = _fault(
        calls, address, credentials=_credentials(other), deadline=1.0
    )
    assert code is _CODE.DEADLINE_EXCEEDED
    assert address in text and 'CERTIFICATE_VERIFY_FAILED' in text
    code, text = _fault(calls, address, deadline=1.0)
    assert code is _CODE.DEADLINE_EXCEEDED
    assert address in text and 'UNAVAILABLE' in text


@_both
def test_mutual_tls(
    start_server: StartServer, authority: Authority, calls: _Calls
) -> None:
    server = _start(
        start_server, authority, f'--tls_client_ca={authority.cert}'
    )
    own = authority.issue('client')
    calls(server.address, credentials=_credentials(authority, own))
    other = Authority(authority.cert.parent, 'other')
    for bad in (None, other.issue('stranger')):
        code, text = _fault(
            calls,
            server.address,
            credentials=_credentials(authority, bad),
            deadline=1.0,
        )
        assert code is _CODE.DEADLINE_EXCEEDED
        assert server.address in text


@_both
def test_the_name_in_the_certificate_may_be_another(
    start_server: StartServer, authority: Authority, calls: _Calls
) -> None:
    """The certificate is for 127.0.0.1 and localhost."""
    server = _start(start_server, authority, listen='127.0.0.2:0')
    credentials = _credentials(authority)
    calls(server.address, credentials=credentials, server_name='localhost')
    for name in (None, 'example.org'):
        code, text = _fault(
            calls,
            server.address,
            credentials=credentials,
            server_name=name,
            deadline=1.0,
        )
        assert code is _CODE.DEADLINE_EXCEEDED
        assert 'Hostname Verification Check failed' in text


@_both
def test_a_unix_socket_stays_plain(
    server: Server, authority: Authority, calls: _Calls
) -> None:
    assert server.address.startswith('unix:')
    calls(server.address, credentials=_credentials(authority))


def _replace(file: pathlib.Path, text: str) -> None:
    new = file.with_suffix('.new')
    new.write_text(text)
    os.replace(new, file)


def _takes(address: str, token: str) -> bool:
    """Whether the server does; an UNAUTHENTICATED call is not made again."""
    file = pathlib.Path(f'{address.removeprefix("unix:")}.{token}')
    file.write_text(token)
    try:
        with tokendraw.Client(address, token_file=file) as client:
            client.info()
    except tokendraw.TokendrawError as error:
        assert error.code is _CODE.UNAUTHENTICATED
        return False
    return True


@_both
def test_a_token_goes_with_every_call(
    start_server: StartServer,
    tmp_path: pathlib.Path,
    shm_dir: pathlib.Path,
    calls: _Calls,
) -> None:
    servers, own = tmp_path / 'tokens', tmp_path / 'token'
    servers.write_text('first\n')
    own.write_text('  first second\n')
    # The proof that it shares a directory is a call, too.
    server = start_server(f'--token_file={servers}', f'--shm_dir={shm_dir}')

    def renew() -> None:
        _replace(servers, 'third\n')
        wait_until('it is taken', lambda: _takes(server.address, 'third'))
        _replace(own, 'third\n')

    def empty() -> None:
        _replace(own, '\n')

    for token_file in (own, str(own)):
        calls(server.address, token_file=token_file)
    calls(server.address, renew, empty, own.unlink, token_file=own)
    assert 'third' not in server.stderr


@_both
def test_a_wrong_token_is_refused(
    start_server: StartServer, tmp_path: pathlib.Path, calls: _Calls
) -> None:
    servers, own = tmp_path / 'tokens', tmp_path / 'token'
    servers.write_text('first\n')
    server = start_server(f'--token_file={servers}')
    for options in ({}, {'token_file': own}):
        own.write_text('wrong\n')
        code, text = _fault(calls, server.address, **options)
        assert code is _CODE.UNAUTHENTICATED
        assert 'wrong' not in text
    own.write_text('first\n')
    calls(server.address, token_file=own)


def test_each_call_of_a_connection_is_refused_for_itself(
    start_server: StartServer, tmp_path: pathlib.Path
) -> None:
    servers, own = tmp_path / 'tokens', tmp_path / 'token'
    servers.write_text('first\n')
    server = start_server(f'--token_file={servers}')
    row = np.array([[1, 3, 2]], np.float32)

    async def awaited() -> None:
        async with tokendraw.aio.Client(
            server.address, token_file=own
        ) as client:
            own.write_text('first\n')
            assert await client.sample(row)
            own.write_text('wrong\n')
            for call in (client.sample, client.stream().step):
                with pytest.raises(tokendraw.TokendrawError) as caught:
                    await call(row)
                assert caught.value.code is _CODE.UNAUTHENTICATED

    own.write_text('first\n')
    with tokendraw.Client(server.address, token_file=own) as client:
        assert client.sample(row)
        own.write_text('wrong\n')
        for call in (client.sample, client.stream().step):
            with pytest.raises(tokendraw.TokendrawError) as caught:
                call(row)
            assert caught.value.code is _CODE.UNAUTHENTICATED
    asyncio.run(awaited())


@pytest.mark.parametrize('kind', [tokendraw.Client, tokendraw.aio.Client])
def test_what_makes_no_sense_is_named(
    tmp_path: pathlib.Path, kind: Callable[..., object]
) -> None:
    file = tmp_path / 'token'
    none = tmp_path / 'none'
    for content, text in (
        (b' \n', f'token_file: {file} has no token'),
        (b'a\x01\n', f'token_file: {file} has no token'),
        (b'\xff\n', f'token_file: {file} is not ASCII'),
    ):
        file.write_bytes(content)
        with pytest.raises(ValueError) as caught:
            kind('localhost:1', token_file=file)
        assert str(caught.value) == text
    with pytest.raises(ValueError, match=f'token_file cannot .*{none}'):
        kind('localhost:1', token_file=none)
    with pytest.raises(ValueError, match='server_name .* needs credentials'):
        kind('localhost:1', server_name='x')
    with pytest.raises(TypeError, match='credentials must .* got bytes'):
        kind('localhost:1', credentials=b'PEM')
