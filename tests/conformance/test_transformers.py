"""What no random row shows: exact edges, ties, temperature 0."""

import numpy as np
import pytest

from cases import Case
from cases import filters
from compare import TOLERANCE
from compare import distance
from protos import params_pb2
from requests_of import Params
from service import Service
from transformers_peer import Transformers
from transformers_peer import processed

PEER = Transformers()


def _case(logits, *chain: str, **params) -> Case:
    profile = params_pb2.PROFILE_TRANSFORMERS
    chosen = Params(profile=profile, chain=filters(*chain), **params)
    return Case(np.array(logits, np.float32), chosen)


def _is_equal(service: Service, case: Case) -> bool:
    ours = service.answers([case])[0]
    return distance(ours, PEER.answer(case)) <= TOLERANCE


@pytest.mark.parametrize(
    ('name', 'cut', 'count'),
    [
        ('top_k', 2, 4),
        ('top_p', 0.25, 1),
        ('top_p', 0.5, 2),
        ('min_p', 1.0, 4),
        ('typical_p', 0.25, 4),
        ('epsilon_cutoff', 0.25, 4),
        ('eta_cutoff', 0.25, 4),
    ],
)
def test_cuts_that_are_met_exactly(
    service: Service, name: str, cut: float, count: int
) -> None:
    """Random rows never do. Four tokens of .25, any of which may stay."""
    case = _case([0.0] * 4, name, **{name: cut})
    assert PEER.answer(case).ids.size == count
    assert service.answers([case])[0].ids.size == count


def test_ties_stay(service: Service) -> None:
    row = [3.0, 2.0, 2.0, 1.0]
    assert _is_equal(service, _case(row, 'top_k', top_k=2))


def test_ties_at_top_p_are_in_no_order(service: Service) -> None:
    """torch.sort is not stable: of equals it keeps any, but as many."""
    case = _case([0.0] * 6, 'top_p', top_p=0.4)
    assert service.answers([case])[0].ids.tolist() == [0, 1, 2]
    assert PEER.answer(case).ids.size == 3


def test_top_h_keeps_100_at_most(service: Service) -> None:
    """Even of an entropy share that asks for all."""
    row = np.random.default_rng(3).normal(0, 0.1, 300)
    case = _case(row, 'top_h', top_h=0.9999)
    assert _is_equal(service, case)
    assert PEER.answer(case).ids.size <= 100


def test_top_h_has_no_min_keep(service: Service) -> None:
    """TopHLogitsWarper takes no min_tokens_to_keep."""
    case = _case([2.0, 1.0, 0.0], 'top_h', top_h=0.1, min_keep=2)
    assert PEER.answer(case).ids.tolist() == [0]
    assert service.answers([case])[0].ids.tolist() == [0]


def test_temperature_0_is_do_sample_off(service: Service) -> None:
    """No warper runs; the largest score after the processors."""
    case = _case([1.0, 4.0, 3.5], temperature=0, top_k=1)
    case.params.repetition_penalty = 2
    case = Case(case.logits, case.params, prompt=(1,))
    assert service.draw(case)[1] == int(processed(case).argmax()) == 2
