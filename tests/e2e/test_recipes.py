"""The commands of client/examples/grpcurl.md do what it says."""

import json
import os
import re
import subprocess
from typing import Any

import pytest

from harness import GRPCURL
from harness import PATIENCE_S
from harness import SERVICE
from harness import Server
from protos import ROOT
from protos import sampling_pb2

_PAGE = (ROOT / 'client/examples/grpcurl.md').read_text(encoding='utf-8')

# Commands, and the replies if the next thing is those.
_RECIPES = re.findall(
    r'^```sh\n(.+?)^```\n(?:\n```json\n(.+?)^```\n)?',
    _PAGE,
    re.MULTILINE | re.DOTALL,
)
_ADDRESS = '127.0.0.1:50051'


def _run(commands: str, server: Server) -> subprocess.CompletedProcess[str]:
    (port,) = (a for a in server.addresses if not a.startswith('unix:'))
    assert _ADDRESS in commands
    return subprocess.run(
        ['bash', '-euc', commands.replace(_ADDRESS, port)],
        env={**os.environ, 'PATH': f'{GRPCURL.parent}:{os.environ["PATH"]}'},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def _objects(text: str) -> list[dict[str, Any]]:
    """JSON objects one after the other."""
    objects: list[dict[str, Any]] = []
    decoder = json.JSONDecoder()
    while text := text.lstrip():
        value, end = decoder.raw_decode(text)
        objects.append(value)
        text = text[end:]
    return objects


@pytest.mark.parametrize(
    ('commands', 'replies'),
    _RECIPES,
    ids=[commands.split()[-1] for commands, _ in _RECIPES],
)
def test_a_recipe_gives_the_reply_that_is_shown(
    server: Server, commands: str, replies: str
) -> None:
    done = _run(commands, server)
    assert done.returncode == 0, done.stderr
    if replies:
        wanted, got = _objects(replies), _objects(done.stdout)
        assert len(wanted) == len(got)
        for reply, shown in zip(got, wanted, strict=True):
            assert {name: reply.get(name) for name in shown} == shown


def test_every_call_has_a_recipe() -> None:
    methods = sampling_pb2.DESCRIPTOR.services_by_name[
        'SamplingService'
    ].methods
    calls = [f'{SERVICE}/{method.name}' for method in methods]
    assert len(calls) >= 5
    for call in (*calls, 'grpc.health.v1.Health/Check'):
        replies = [reply for text, reply in _RECIPES if f' {call}' in text]
        assert replies and all(replies), call
