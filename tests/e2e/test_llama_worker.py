"""The example with a real model: two processes write what one does.

Needs what client/examples/llama_worker/setup.sh installs: a compiled
llama.cpp and a model, which no other test needs. Where that is not installed
the tests are skipped, and say so; with TOKENDRAW_LLAMA_WORKER=1 they fail.
"""

import json
import os
import pathlib
import subprocess
from typing import Any

import pytest

from python_package import fixture_shm_dir  # noqa: F401
from conftest import StartServer
from protos import ROOT

_EXAMPLE = ROOT / 'client/examples/llama_worker'
_PYTHON = ROOT / 'build/llama_worker/bin/python'
_INSTALLED = ROOT / 'build/llama_worker/client.sums'
# A model that runs on one thread of a busy machine.
_PATIENCE_S = 600.0

_PROMPTS = (
    'What is the capital of France?',
    'Write a short poem about rain.',
    'Say hi.',
)
_FLAGS = (
    *('--max_tokens', '24', '--json'),
    *('--temperature', '0.8', '--typical_p', '0.9'),
    *('--xtc_probability', '0.5', '--xtc_threshold', '0.1'),
    *('--repetition_penalty', '1.1', '--frequency_penalty', '0.1'),
)

Answers = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def _needs_the_worker() -> None:
    if _INSTALLED.exists():
        return
    reason = f'{_EXAMPLE.relative_to(ROOT)}/setup.sh has not been run'
    if os.environ.get('TOKENDRAW_LLAMA_WORKER'):
        pytest.fail(reason)
    pytest.skip(reason)


def _run(script: str, *flags: str) -> str:
    done = subprocess.run(
        [_PYTHON, _EXAMPLE / script, *flags],
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _ask(script: str, prompts: tuple[str, ...], *flags: str) -> Answers:
    asked = (f'--prompt={prompt}' for prompt in prompts)
    output = _run(script, *asked, *_FLAGS, *flags)
    answers = [json.loads(line) for line in output.splitlines()]
    assert [answer['prompt'] for answer in answers] == list(prompts)
    return answers


def _one(
    server: str, *flags: str, prompts: tuple[str, ...] = _PROMPTS
) -> Answers:
    return _ask('worker.py', prompts, '--server', server, *flags)


def _two(
    prefill: str,
    decode: str,
    *flags: str,
    prompts: tuple[str, ...] = _PROMPTS,
) -> Answers:
    servers = ('--prefill_server', prefill, '--decode_server', decode)
    return _ask('disaggregated.py', prompts, *servers, *flags)


def _same_tokens(answers: Answers, others: Answers) -> None:
    for answer, other in zip(answers, others, strict=True):
        for field in ('seed', 'output_ids', 'text'):
            assert answer[field] == other[field], field


def test_two_processes_write_what_one_does(
    start_server: StartServer, shm_dir: pathlib.Path
) -> None:
    server = start_server('--shm_dir', str(shm_dir))
    one = _one(server.address, '--seed', '42')
    _same_tokens(one, _two(server.address, server.address, '--seed', '42'))
    for index, answer in enumerate(one):
        assert answer['seed'] == 42 + index
        assert answer['payload'] == 'shared_memory'
        assert len(answer['output_ids']) > 8, answer
        assert len(answer['text']) > 16, answer


def test_each_process_with_a_replica_of_its_own(
    start_server: StartServer, shm_dir: pathlib.Path
) -> None:
    shared = start_server('--shm_dir', str(shm_dir))
    remote = start_server('--threads', '1', listen=('127.0.0.1:0',))
    one = _one(shared.address, '--seed', '7')
    two = _two(shared.address, remote.address, '--seed', '7')
    _same_tokens(one, two)
    assert {answer['payload'] for answer in one} == {'shared_memory'}
    assert {answer['payload'] for answer in two} == {'inline'}


def test_the_seed_that_the_service_drew_goes_along(
    start_server: StartServer,
) -> None:
    server = start_server()
    prompts = _PROMPTS[:1]
    two = _two(server.address, server.address, prompts=prompts)
    seed = str(two[0]['seed'])
    _same_tokens(_one(server.address, '--seed', seed, prompts=prompts), two)
    other = _two(server.address, server.address, prompts=prompts)
    assert str(other[0]['seed']) != seed


def test_a_sampler_state_goes_along(start_server: StartServer) -> None:
    server = start_server()
    flags = ('--seed', '3', '--mirostat', '2', '--mirostat_tau', '3')
    one = _one(server.address, *flags)
    _same_tokens(one, _two(server.address, server.address, *flags))


def test_another_seed_writes_another_text(start_server: StartServer) -> None:
    server = start_server()
    one = _one(server.address, '--seed', '1')
    other = _one(server.address, '--seed', '1001')
    for answer, different in zip(one, other, strict=True):
        assert answer['output_ids'] != different['output_ids']


def test_greedy_tokens_are_those_of_llama_cpp(
    start_server: StartServer, shm_dir: pathlib.Path
) -> None:
    server = start_server('--shm_dir', str(shm_dir))
    # It compares the tokens itself.
    table = _run('compare.py', '--server', server.address, '--max_tokens', '24')
    assert table.count('| service, shared_memory |') == 3, table
    assert table.count("| llama.cpp's samplers |") == 3, table
