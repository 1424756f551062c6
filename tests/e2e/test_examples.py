"""The examples of client/examples build, and all draw the same tokens."""

import functools
import os
import pathlib
import subprocess
import sys
import time

import grpc
import pytest

from python_package import SITE
from python_package import tokendraw
import client as generated
from fake_service import FakeService
from harness import BUILD
from harness import PATIENCE_S
from harness import Server
from protos import ROOT
from protos import sampling_pb2
from requests_of import Params
from requests_of import Request
from requests_of import Response
from requests_of import RowSpec
from requests_of import real_rows

_EXAMPLES = ROOT / 'client/examples'
_OUT = ROOT / 'build/examples'
# Each build has a client library of its own.
_CPP = BUILD.resolve() / 'examples/cpp'
_ROWS = ROOT / 'tests/data/smollm2_rows.safetensors'

# How each is run once it is built.
_COMMANDS: dict[str, list[str | pathlib.Path]] = {
    'python': [sys.executable, _EXAMPLES / 'python/decode.py'],
    'go': [_OUT / 'go/decode'],
    'rust': [_OUT / 'rust/debug/decode'],
    'typescript': ['node', _OUT / 'typescript/dist/decode.js'],
    'cpp': [_CPP / 'decode'],
}
_BUILD_PATIENCE_S = 800


@functools.cache
def _build(language: str) -> None:
    """Builds it; what is there from an earlier time is used."""
    if language == 'python':
        return
    arguments = [_CPP] if language == 'cpp' else []
    done = subprocess.run(
        ['bash', _EXAMPLES / language / 'build.sh', *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_BUILD_PATIENCE_S,
        check=False,
        env={**os.environ, 'TOKENDRAW_BUILD': str(BUILD)},
    )
    assert done.returncode == 0, done.stdout


def _run(language: str, address: str) -> subprocess.CompletedProcess[str]:
    _build(language)
    return subprocess.run(
        [*_COMMANDS[language], address, _ROWS],
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
        check=False,
        env={**os.environ, 'PYTHONPATH': str(SITE)},
    )


def _tokens(language: str, address: str) -> list[int]:
    done = _run(language, address)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('\n') == 1
    return [int(token) for token in done.stdout.split()]


@pytest.fixture(name='wanted', scope='module')
def fixture_wanted(server: Server) -> list[int]:
    """The tokens that the package gets, one unary call after the other."""
    rows = real_rows()
    params = Params(
        temperature=0.8,
        typical_p=0.9,
        xtc_probability=0.5,
        xtc_threshold=0.1,
        repetition_penalty=1.1,
    )
    output: list[int] = []
    with tokendraw.Client(server.address) as client:
        for step in range(50):
            row = RowSpec(seed=42, position=step, output_ids=output)
            result = client.sample(rows[[step % 24]], params, [row])
            output += result.token_ids.tolist()
    assert len(set(output)) > 20
    return output


def test_every_example_is_run() -> None:
    directories = {path.parent.name for path in _EXAMPLES.glob('*/build.sh')}
    assert directories | {'python'} == set(_COMMANDS)


@pytest.mark.parametrize('language', _COMMANDS)
def test_the_tokens_are_those_of_the_package(
    server: Server, wanted: list[int], language: str
) -> None:
    for address in server.addresses:
        assert _tokens(language, address) == wanted


class _Reluctant(FakeService):
    """A real server's replies, from one that is away, then full, then long.

    Attributes:
        asked: how often for its limits.
        messages: of streams, how many.
    """

    def __init__(self, to: generated.Client) -> None:
        super().__init__(self._reply)
        self._to = to
        self.asked = 0
        self.messages = 0

    # pylint: disable=invalid-name
    def GetServerInfo(
        self,
        request: sampling_pb2.GetServerInfoRequest,
        context: grpc.ServicerContext,
    ) -> sampling_pb2.GetServerInfoResponse:
        self.asked += 1
        if self.asked == 1:
            context.abort(grpc.StatusCode.UNAVAILABLE, 'not yet')
        return super().GetServerInfo(request, context)

    def _reply(
        self, request: Request, context: grpc.ServicerContext
    ) -> Response:
        del context
        self.messages += 1
        if self.messages == 1:
            error = sampling_pb2.Error(
                code=grpc.StatusCode.RESOURCE_EXHAUSTED.value[0],
                message='full',
                retry_after_ms=1,
            )
            return Response(step=request.step, error=error)
        reply = self._to.sample(request)
        if self.messages == 2:
            # More than the 4 MiB that gRPC takes by default.
            reply.details.add(kept_ids=[2**31 - 1] * (1 << 20))
            assert reply.ByteSize() > 4 << 20
        return reply


@pytest.mark.parametrize('language', _COMMANDS)
def test_a_server_that_is_away_or_full_is_asked_again(
    server: Server, wanted: list[int], language: str
) -> None:
    with (
        generated.Client(server.address) as raw,
        _Reluctant(raw) as service,
    ):
        assert _tokens(language, service.address) == wanted
        assert (service.asked, service.messages) == (2, 51)
        # The library's stream asks again over a new one: other messages that
        # are on their way would be answered first on the old one.
        assert service.streams == (2 if language == 'cpp' else 1)


@pytest.mark.parametrize('language', _COMMANDS)
def test_what_the_server_refuses_is_said(language: str) -> None:
    _build(language)
    refused = Response(error={'code': 3, 'message': 'such a row'})
    with FakeService(lambda *_: refused) as service:
        start = time.monotonic()
        done = _run(language, service.address)
    # At once, not when the deadline of the stream ends it.
    assert time.monotonic() - start < 30
    assert done.returncode != 0
    assert not done.stdout
    assert 'such a row' in done.stderr
