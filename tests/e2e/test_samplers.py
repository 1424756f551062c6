"""Samplers with a state, bans, and the engines' own sampling, over the wire."""

import math

import numpy as np

from client import Client
from conftest import StartServer
from harness import Server
from protos import params_pb2
from requests_of import Params
from requests_of import RowSpec
from requests_of import request

_SEQUENCE = params_pb2.TokenSequence


def _rows(count: int, vocab: int = 200) -> np.ndarray:
    random = np.random.default_rng(3)
    return random.normal(0, 2, (count, vocab)).astype(np.float32)


def test_mirostat_goes_on_wherever_the_next_step_goes(
    start_server: StartServer,
) -> None:
    rows = _rows(20)
    params = Params(mirostat=2, mirostat_tau=2, mirostat_eta=0.5)
    params.logprobs.mode = params_pb2.LOGPROB_MODE_PROCESSED
    here = start_server()
    there = start_server('--threads', '1', listen=('127.0.0.1:0',))
    spec = RowSpec(seed=1)
    mu = 4.0
    kept = set()
    with Client(here.address) as client, Client(there.address) as other:
        for position, row in enumerate(rows):
            spec.position = position
            asked = request(row[None], params=params, rows=[spec])
            reply = client.sample(asked)
            assert other.sample(asked) == reply
            surprise = -reply.details[0].logprob / math.log(2)
            mu -= 0.5 * (surprise - 2)
            (state,) = reply.sampler_states
            assert math.isclose(state.mirostat_mu, mu, abs_tol=1e-4)
            assert not state.HasField('adaptive_sum')
            spec.sampler_state.CopyFrom(state)
            mu = state.mirostat_mu
            kept.add(reply.details[0].kept_count)
    assert len(kept) > 5


def test_states_come_for_each_draw_of_the_rows_that_have_one(
    server: Server,
) -> None:
    specs = [
        RowSpec(seed=1),
        RowSpec(seed=2, params_index=1, sample_count=3),
        RowSpec(seed=3, params_index=1),
    ]
    rows = _rows(3)
    rows[2, :] = np.nan
    asked = request(rows, rows=specs)
    asked.params.extend([Params(), Params(adaptive_target=0.2)])
    with Client(server.address) as client:
        reply = client.sample(asked)
    assert [error.row for error in reply.row_errors] == [2]
    assert len(reply.sampler_states) == 3
    for state in reply.sampler_states:
        assert 0.9 * 2 < state.adaptive_sum <= 0.9 * 2 + 1
        assert math.isclose(state.adaptive_weight, 10)


def test_bans(server: Server) -> None:
    row = np.array([[5, 4, 3, 2, 1]], np.float32)
    greedy = Params(temperature=0)
    history = RowSpec(prompt_ids=[3, 4], output_ids=[0, 3, 4])
    cases = [
        (Params(), 0),
        (Params(no_repeat_ngram_size=3), 1),
        (Params(bad_token_sequences=[_SEQUENCE(token_ids=[4, 0])]), 1),
        (Params(min_tokens=4, stop_ids=[0, 1]), 2),
        (Params(min_tokens=3, stop_ids=[0, 1]), 0),
        (Params(allowed_ids=[4, 2]), 2),
    ]
    with Client(server.address) as client:
        for params, token in cases:
            params.MergeFrom(greedy)
            reply = client.sample(request(row, params=params, rows=[history]))
            assert list(reply.token_ids) == [token], params


def test_a_profile_is_the_engine_s_parameters_and_order(server: Server) -> None:
    rows = _rows(8, 5000)
    specs = [RowSpec(seed=7, position=i) for i in range(len(rows))]
    llama = Params(profile=params_pb2.PROFILE_LLAMA_CPP, return_kept=True)
    spelled_out = Params(
        temperature=0.8,
        top_k=40,
        top_p=0.95,
        min_p=0.05,
        return_kept=True,
        chain=[
            params_pb2.FILTER_TOP_K,
            params_pb2.FILTER_TOP_P,
            params_pb2.FILTER_MIN_P,
            params_pb2.FILTER_TEMPERATURE,
        ],
    )
    with Client(server.address) as client:
        reply, same, other = (
            client.sample(request(rows, params=params, rows=specs))
            for params in (llama, spelled_out, Params(return_kept=True))
        )
    kept = [list(detail.kept_ids) for detail in reply.details]
    assert kept == [list(detail.kept_ids) for detail in same.details]
    assert reply.token_ids == same.token_ids
    assert all(len(ids) <= 40 for ids in kept)
    assert all(detail.kept_count == 5000 for detail in other.details)
