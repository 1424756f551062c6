"""Exact edges, and each documented difference to llama.cpp, on its row."""

import dataclasses

import numpy as np
import pytest

from cases import Answer
from cases import Case
from cases import filters
from compare import TOLERANCE
from compare import distance
from llama_cpp import LlamaCpp
from protos import params_pb2
from requests_of import Params
from service import Service

PEER = LlamaCpp()


def _case(logits, *chain: str, history: tuple[int, ...] = (), **params) -> Case:
    return Case(
        np.array(logits, np.float32),
        Params(
            profile=params_pb2.PROFILE_LLAMA_CPP,
            chain=filters(*chain),
            **params,
        ),
        history,
    )


def _ours(service: Service, case: Case) -> Answer:
    return service.answers([case])[0]


def _masked_normal_row() -> np.ndarray:
    row = np.random.default_rng(7).normal(0, 2, 60)
    return np.append(row, -np.inf)


def _assert_mended(service: Service, case: Case, defect: str) -> None:
    """The engine differs, and does not once the cause is out of its array."""
    ours = _ours(service, case)
    assert PEER.defects(case) == [defect]
    assert distance(ours, PEER.answer(case)) > TOLERANCE
    assert distance(ours, PEER.answer(case, mended=True)) <= TOLERANCE


@pytest.mark.parametrize(
    ('params', 'count'),
    [
        ({'typical_p': 0.25}, 2),
        ({'typical_p': 0.5}, 3),
        ({'top_p': 0.25}, 1),
        ({'top_p': 0.5}, 2),
        ({'min_p': 1}, 4),
        ({'top_k': 3}, 3),
        ({'top_n_sigma': 1}, 4),
        ({'xtc_threshold': 0.25, 'xtc_probability': 1}, 1),
    ],
)
def test_cuts_that_are_met_exactly(
    service: Service, params: dict[str, float], count: int
) -> None:
    """Random rows never do. Four tokens of .25, any of which may stay."""
    name = next(iter(params)).removesuffix('_threshold')
    case = _case([0.0] * 4, name, **params)
    assert PEER.answer(case).ids.size == count
    assert _ours(service, case).ids.size == count


@pytest.mark.parametrize('params', [{'top_k': 1}, {'top_n_sigma': 0.1}])
def test_min_keep_is_not_for(
    service: Service, params: dict[str, float]
) -> None:
    """llama_sampler_init_top_k and _top_n_sigma take none."""
    case = _case([2.0, 1.0, 0.0], *params, min_keep=2, **params)
    assert PEER.answer(case).ids.tolist() == [0]
    assert _ours(service, case).ids.tolist() == [0]


def test_typical_p_with_a_masked_token(service: Service) -> None:
    """H = -(0 * ln 0) = NaN, so that nothing is less than anything."""
    masked = _case(_masked_normal_row(), 'typical_p', typical_p=0.5)
    _assert_mended(service, masked, 'typical_p: NaN entropy')
    # The row without that token.
    whole = dataclasses.replace(masked, logits=masked.logits[:60])
    theirs = PEER.answer(whole)
    assert distance(_ours(service, masked), theirs) <= TOLERANCE
    assert PEER.answer(masked).ids.size != theirs.ids.size


def test_typical_p_with_a_probability_of_zero(service: Service) -> None:
    """e^-200 is 0 as a float32: no mask is needed."""
    row = _masked_normal_row()
    row[-1] = -200
    case = _case(row, 'typical_p', typical_p=0.5)
    _assert_mended(service, case, 'typical_p: NaN entropy')


def test_typical_p_after_top_n_sigma(service: Service) -> None:
    """llama-server's chain: what top_n_sigma takes stays, at -inf."""
    case = _case(
        _masked_normal_row()[:60],
        top_n_sigma=1.5,
        top_k=0,
        typical_p=0.5,
    )
    _assert_mended(service, case, 'typical_p: NaN entropy')


def test_dynatemp_counts_masked_tokens(service: Service) -> None:
    """ln 5 for four tokens: T 1.253688 instead of 1.375."""
    logits = np.log([0.5, 0.25, 0.125, 0.125]).tolist() + [-np.inf]
    case = _case(logits, 'temperature', temperature=1, dynatemp_range=0.5)
    _assert_mended(service, case, 'dynatemp: masked tokens in ln n')
    theirs = [0.446989, 0.257146, 0.147933, 0.147933]
    assert PEER.answer(case).p == pytest.approx(theirs, abs=1e-6)
    ours = [0.428489, 0.258826, 0.156343, 0.156343]
    assert _ours(service, case).p == pytest.approx(ours, abs=1e-6)


def test_xtc_counts_masked_tokens_in_min_keep(service: Service) -> None:
    """It would leave one token: two candidates, of which one is masked."""
    case = _case(
        np.log([0.6, 0.4]).tolist() + [-np.inf],
        'xtc',
        xtc_probability=1,
        xtc_threshold=0.1,
        min_keep=2,
    )
    _assert_mended(service, case, 'XTC: masked tokens in min_keep')
    assert PEER.answer(case).ids.tolist() == [1]
    assert _ours(service, case).ids.tolist() == [0, 1]


def test_mirostat_1_with_a_masked_token(service: Service) -> None:
    """ln(p / 0) makes the slope infinite or NaN, and of k an arbitrary int."""
    logits = (-1.1 * np.log(np.arange(1, 20))).tolist() + [-np.inf]
    case = _case(logits, mirostat=1, mirostat_tau=2, temperature=1)
    _assert_mended(service, case, 'mirostat 1: NaN slope')


def test_mirostat_1_on_a_flat_row(service: Service) -> None:
    """k is infinite, and of that an int is undefined: on x86, one token."""
    case = _case([0] * 8, mirostat=1, mirostat_tau=3, temperature=1)
    assert PEER.answer(case).ids.size == 1
    assert _ours(service, case).ids.tolist() == list(range(8))


def test_dry_overflows(service: Service) -> None:
    """2^128 is no float32: llama.cpp bans the token, the service does not."""
    case = _case(
        [1.0, 2.0, 3.0],
        'top_k',
        history=(0,) * 200,
        top_k=0,
        dry_multiplier=1,
        dry_base=2,
        dry_allowed_length=1,
        dry_penalty_last_n=200,
    )
    assert PEER.answer(case).ids.tolist() == [1, 2]
    ours = _ours(service, case)
    assert ours.ids.tolist() == [0, 1, 2]
    assert ours.p[0] == 0


def test_top_n_sigma_overflows(service: Service) -> None:
    """(1e20)^2 is no float32: sigma is infinite, and all tokens stay."""
    logits = [-1e20, 0.0, 1.0, 2.0, 3.0]
    case = _case(logits, 'top_n_sigma', top_n_sigma=2)
    assert PEER.answer(case).ids.size == 5
    # sigma is .4 * 1e20, and the cut at -.8 * 1e20.
    assert _ours(service, case).ids.tolist() == [1, 2, 3, 4]


def test_ties_are_in_no_order(service: Service) -> None:
    """Its sort is not stable: of equals it keeps any, but as many."""
    row = [0.0] * 6
    for name, cut in (('top_k', 3), ('top_p', 0.4), ('typical_p', 0.4)):
        case = _case(row, name, **{name: cut})
        ours = _ours(service, case)
        assert ours.ids.tolist() == [0, 1, 2]
        assert PEER.answer(case).ids.size == 3


def test_temperature_is_a_float32_division(service: Service) -> None:
    """30 / .003 is rounded to a multiple of 2^-10, and e^x with it."""
    case = _case([30.0, 29.9966], 'temperature', temperature=0.003)
    apart = distance(_ours(service, case), PEER.answer(case))
    assert TOLERANCE < apart < 1e-3
    # Where the largest is 0, it is not.
    near = dataclasses.replace(case, logits=case.logits - np.float32(30))
    assert distance(_ours(service, near), PEER.answer(near)) <= TOLERANCE
