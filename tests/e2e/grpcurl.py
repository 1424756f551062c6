"""Calls by a real grpcurl, in JSON."""

import json
import subprocess
from typing import Any

from harness import GRPCURL
from harness import PATIENCE_S
from harness import SERVICE

Json = dict[str, Any]


def run(address: str, *args: str, data: str = '') -> tuple[int, str]:
    """Runs grpcurl: its exit code with what it printed."""
    path = address.removeprefix('unix:')
    unix = ['-unix'] if path != address else []
    settings = ['-plaintext', '-format-error', *unix]
    send = ['-d', '@'] if data else []
    done = subprocess.run(
        [GRPCURL, *settings, *send, path, *args],
        input=data,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def call(address: str, rpc: str, request: Json) -> Json:
    """The reply of a call."""
    code, text = run(address, f'{SERVICE}/{rpc}', data=json.dumps(request))
    assert code == 0, text
    return json.loads(text)


def fault(address: str, rpc: str, request: Json) -> tuple[int, str]:
    """The status of a call that must fail."""
    code, text = run(address, f'{SERVICE}/{rpc}', data=json.dumps(request))
    assert code > 64, text
    status = json.loads(text)
    assert status['code'] == code - 64
    return status['code'], status['message']
