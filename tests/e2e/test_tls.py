"""TLS and mutual TLS, tokens, and who may not come in."""

from collections.abc import Iterator
import contextlib
import os
import pathlib
import ssl
import stat
import subprocess

import grpc
import pytest

from certificates import Authority
from client import fault_of
from conftest import StartServer
from harness import COMMAND
from harness import PATIENCE_S
from harness import Server
from harness import run_server
from harness import wait_until
from protos import sampling_pb2
from protos import sampling_pb2_grpc

_Files = tuple[pathlib.Path, pathlib.Path]


def _read(path: pathlib.Path | None) -> bytes | None:
    return path.read_bytes() if path else None


@contextlib.contextmanager
def _stub(
    address: str, ca: pathlib.Path, own: _Files | None = None
) -> Iterator[sampling_pb2_grpc.SamplingServiceStub]:
    cert, key = own or (None, None)
    credentials = grpc.ssl_channel_credentials(
        _read(ca), _read(key), _read(cert)
    )
    with grpc.secure_channel(address, credentials) as channel:
        yield sampling_pb2_grpc.SamplingServiceStub(channel)


def _info(
    stub: sampling_pb2_grpc.SamplingServiceStub, token: str | None = None
) -> sampling_pb2.GetServerInfoResponse:
    metadata = [('authorization', f'Bearer {token}')] if token else []
    return stub.GetServerInfo(
        sampling_pb2.GetServerInfoRequest(),
        timeout=PATIENCE_S,
        metadata=metadata,
    )


@pytest.fixture
def authority(tmp_path: pathlib.Path) -> Authority:
    return Authority(tmp_path)


def _start(start_server: StartServer, files: _Files, *flags: str) -> Server:
    cert, key = files
    return start_server(
        f'--tls_cert={cert}',
        f'--tls_key={key}',
        *flags,
        listen=('127.0.0.1:0',),
    )


def _command(*args: str) -> tuple[int, str]:
    done = subprocess.run(
        [COMMAND, *args],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_tls(start_server: StartServer, authority: Authority) -> None:
    server = _start(start_server, authority.issue('server'))
    with _stub(server.address, authority.cert) as stub:
        assert _info(stub).semantics_version == '1'
    with grpc.insecure_channel(server.address) as channel:
        plain = sampling_pb2_grpc.SamplingServiceStub(channel)
        assert fault_of(lambda: _info(plain))[0] == grpc.StatusCode.UNAVAILABLE
    other = Authority(authority.cert.parent, 'other')
    with _stub(server.address, other.cert) as stub:
        assert fault_of(lambda: _info(stub))[0] == grpc.StatusCode.UNAVAILABLE


def test_mutual_tls(start_server: StartServer, authority: Authority) -> None:
    server = _start(
        start_server,
        authority.issue('server'),
        f'--tls_client_ca={authority.cert}',
    )
    own = authority.issue('client')
    with _stub(server.address, authority.cert, own) as stub:
        assert _info(stub).semantics_version == '1'
    with _stub(server.address, authority.cert) as stub:
        assert fault_of(lambda: _info(stub))[0] == grpc.StatusCode.UNAVAILABLE
    stranger = Authority(authority.cert.parent, 'other').issue('stranger')
    with _stub(server.address, authority.cert, stranger) as stub:
        assert fault_of(lambda: _info(stub))[0] == grpc.StatusCode.UNAVAILABLE

    code, text = _command(
        *('info', '--server', server.address, '--tls_ca', str(authority.cert)),
        *('--tls_cert', str(own[0]), '--tls_key', str(own[1])),
    )
    assert code == 0, text
    assert 'semantics_version' in text


def _serial(address: str) -> int:
    """The serial number of the certificate that is shown."""
    host, _, port = address.rpartition(':')
    pem = ssl.get_server_certificate((host, int(port)))
    text = subprocess.run(
        ['openssl', 'x509', '-noout', '-serial'],
        input=pem,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return int(text.partition('=')[2], 16)


def test_a_new_certificate_needs_no_restart(
    start_server: StartServer, authority: Authority
) -> None:
    files = authority.issue('server')
    server = _start(start_server, files)
    before = _serial(server.address)
    with _stub(server.address, authority.cert) as stub:
        _info(stub)
        for new, old in zip(authority.issue('renewed'), files, strict=True):
            os.replace(new, old)
        wait_until('it shows it', lambda: _serial(server.address) != before)
        assert _info(stub).semantics_version == '1', 'an old connection lives'
    with _stub(server.address, authority.cert) as stub:
        assert _info(stub).semantics_version == '1'


def test_files_that_are_none(tmp_path: pathlib.Path) -> None:
    text = tmp_path / 'x'
    text.write_text('no PEM')
    for path, says in (
        (text, 'is not a PEM file'),
        ('/none', 'cannot be read'),
    ):
        done = run_server(
            '--listen=localhost:0', f'--tls_cert={path}', f'--tls_key={path}'
        )
        assert done.returncode == 1
        assert f'--tls_cert: {path} {says}' in done.stderr


def test_a_public_address_wants_tls_or_a_word() -> None:
    done = run_server('--listen=0.0.0.0:0')
    assert done.returncode == 2
    assert '--allow_insecure' in done.stderr


def test_a_public_address_warns(start_server: StartServer) -> None:
    server = start_server('--allow_insecure', listen=('0.0.0.0:0',))
    wait_until('it warns', lambda: 'in the clear' in server.stderr)


def test_tokens(start_server: StartServer, tmp_path: pathlib.Path) -> None:
    file = tmp_path / 'tokens'
    file.write_text('first\n')
    server = start_server(f'--token_file={file}')
    with grpc.insecure_channel(server.address) as channel:
        stub = sampling_pb2_grpc.SamplingServiceStub(channel)
        for token in (None, 'second'):
            code, text = fault_of(lambda: _info(stub, token))
            assert code == grpc.StatusCode.UNAUTHENTICATED
            assert 'second' not in text
        code, _ = fault_of(
            lambda: stub.SampleTokens(
                sampling_pb2.SampleTokensRequest(), timeout=PATIENCE_S
            )
        )
        assert code == grpc.StatusCode.UNAUTHENTICATED
        code, _ = fault_of(
            lambda: list(
                stub.StreamSampleTokens(
                    iter([sampling_pb2.SampleTokensRequest()]),
                    timeout=PATIENCE_S,
                )
            )
        )
        assert code == grpc.StatusCode.UNAUTHENTICATED
        assert _info(stub, 'first').semantics_version == '1'

        (tmp_path / 'new').write_text('second\nthird\n')
        os.replace(tmp_path / 'new', file)

        def takes_the_new_one() -> bool:
            try:
                return bool(_info(stub, 'third'))
            except grpc.RpcError:
                return False

        wait_until('it takes the new token', takes_the_new_one)
        code, _ = fault_of(lambda: _info(stub, 'first'))
        assert code == grpc.StatusCode.UNAUTHENTICATED

    code, text = _command('info', '--server', server.address)
    assert code == 1 and 'UNAUTHENTICATED' in text
    code, text = _command(
        'info', '--server', server.address, '--token_file', str(file)
    )
    assert code == 0, text
    assert 'third' not in server.stderr and 'first' not in server.stderr


def test_the_owner_of_a_socket(
    start_server: StartServer, tmp_path: pathlib.Path
) -> None:
    if os.getuid() != 0:
        done = run_server(f'--listen=unix:{tmp_path}/s', '--socket_owner=root')
        assert done.returncode == 1 and '--socket_owner' in done.stderr
        return
    server = start_server('--socket_owner=nobody:daemon', '--socket_mode=0660')
    found = os.stat(server.address.removeprefix('unix:'))
    assert stat.S_ISSOCK(found.st_mode)
    assert stat.S_IMODE(found.st_mode) == 0o660
    assert (found.st_uid, found.st_gid) == (65534, 1)
    done = run_server(f'--listen=unix:{tmp_path}/t', '--socket_owner=:nogrp')
    assert done.returncode == 1
    assert "--socket_owner: there is no 'nogrp'" in done.stderr


def test_channelz_is_for_who_asks(start_server: StartServer) -> None:
    method = '/grpc.channelz.v1.Channelz/GetServers'

    def asked(server: Server) -> bytes:
        with grpc.insecure_channel(server.address) as channel:
            return channel.unary_unary(method)(b'', timeout=PATIENCE_S)

    assert asked(start_server('--channelz'))
    without = start_server(listen=('127.0.0.1:0',))
    code, _ = fault_of(lambda: asked(without))
    assert code == grpc.StatusCode.UNIMPLEMENTED
