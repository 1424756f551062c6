"""Random cases for PROFILE_TRANSFORMERS: each processor, and whole chains."""

from collections.abc import Callable
import math

import numpy as np

from cases import Case
from cases import filters
from protos import params_pb2
from requests_of import FloatArray
from requests_of import Params
from rows import Rng
from rows import random_row
from values import few_tokens
from values import history
from values import logit_bias
from values import number

Fields = dict[str, object]
_Maker = Callable[[Rng, int], Fields]

CHAIN = ('temperature', 'top_h', 'top_k', 'top_p', 'min_p', 'typical_p',
         'epsilon_cutoff', 'eta_cutoff')  # fmt: skip


def _min_keep(rng: Rng) -> Fields:
    return {'min_keep': int(rng.choice([1, 1, 2, 5]))}


def _temperature(rng: Rng, _: int) -> Fields:
    temperature = number(rng, 0.3, 3, 1.0, logarithmic=True)
    return {'temperature': temperature} | _min_keep(rng)


def _top_h(rng: Rng, _: int) -> Fields:
    h = number(rng, 0.02, 0.98, 0.0, 0.999, 1e-4)
    return {'top_h': h} | _min_keep(rng)


def _top_k(rng: Rng, vocab: int) -> Fields:
    edges = (0, 1, vocab - 1, vocab, vocab + 1)
    k = int(number(rng, 1, min(vocab, 200), *edges))
    return {'top_k': k} | _min_keep(rng)


def _top_p(rng: Rng, _: int) -> Fields:
    return {'top_p': number(rng, 0.02, 0.99, 1.0, 0.999, 1e-6)} | _min_keep(rng)


def _min_p(rng: Rng, _: int) -> Fields:
    p = number(rng, 1e-5, 1, 0.0, 1.0, logarithmic=True)
    return {'min_p': p} | _min_keep(rng)


def _typical_p(rng: Rng, _: int) -> Fields:
    p = number(rng, 0.02, 0.98, 1.0, 0.99, 1e-6)
    return {'typical_p': p} | _min_keep(rng)


def _epsilon_cutoff(rng: Rng, _: int) -> Fields:
    e = number(rng, 1e-6, 0.9, 0.0, 0.999, 3e-4, logarithmic=True)
    return {'epsilon_cutoff': e} | _min_keep(rng)


def _eta_cutoff(rng: Rng, _: int) -> Fields:
    e = number(rng, 1e-6, 0.9, 0.0, 0.999, 3e-4, logarithmic=True)
    return {'eta_cutoff': e} | _min_keep(rng)


FILTERS: dict[str, _Maker] = {
    'temperature': _temperature,
    'top_h': _top_h,
    'top_k': _top_k,
    'top_p': _top_p,
    'min_p': _min_p,
    'typical_p': _typical_p,
    'epsilon_cutoff': _epsilon_cutoff,
    'eta_cutoff': _eta_cutoff,
}


def _repetition_penalty(rng: Rng, _: int) -> Fields:
    return {'repetition_penalty': number(rng, 0.5, 2, 1.0)}


def _no_repeat_ngram(rng: Rng, _: int) -> Fields:
    return {'no_repeat_ngram_size': int(rng.integers(0, 7))}


def _sequence(rng: Rng, vocab: int, most: int) -> params_pb2.TokenSequence:
    length = rng.integers(1, most + 1)
    return params_pb2.TokenSequence(token_ids=few_tokens(rng, vocab, length))


def _bad_words(rng: Rng, vocab: int) -> Fields:
    return {'bad_token_sequences': [_sequence(rng, vocab, 4) for _ in range(4)]}


def _min_new_tokens(rng: Rng, vocab: int) -> Fields:
    stop_ids = rng.permutation(vocab)[: rng.integers(1, 4)].tolist()
    return {'min_tokens': int(rng.integers(0, 80)), 'stop_ids': stop_ids}


def _prefix_allowed(rng: Rng, vocab: int) -> Fields:
    allowed = rng.permutation(vocab)[: rng.integers(1, vocab + 1)]
    return {'allowed_ids': allowed.tolist()}


EDITS: dict[str, _Maker] = {
    'sequence_bias': logit_bias,
    'repetition_penalty': _repetition_penalty,
    'no_repeat_ngram': _no_repeat_ngram,
    'bad_words': _bad_words,
    'min_new_tokens': _min_new_tokens,
    'prefix_allowed_tokens': _prefix_allowed,
}


def _banned(case: Case) -> bool:
    """Whether no token might be left: of the bans, that of n-grams aside."""
    params = case.params
    banned = {b.id for b in params.logit_bias if b.bias == -math.inf}
    banned |= {s.token_ids[-1] for s in params.bad_token_sequences}
    banned |= set(params.stop_ids)
    if params.no_repeat_ngram_size:
        banned |= set(case.history)
    left = set(params.allowed_ids) or set(range(case.logits.size))
    return not np.isfinite(case.logits[list(left - banned)]).any()


def _case(rng: Rng, vocab: int, make: Callable[[], Fields]) -> Case:
    while True:
        past = history(rng, vocab)
        cut = int(rng.integers(0, len(past) + 1))
        params = Params(profile=params_pb2.PROFILE_TRANSFORMERS, **make())
        row = random_row(rng, vocab)
        case = Case(row, params, past[:cut], past[cut:])
        if not _banned(case):
            return case


def _alone(name: str) -> Callable[[Rng, int], Case]:
    """One filter, and nothing else."""

    def make(rng: Rng, vocab: int) -> Case:
        chain = {'chain': filters(name)}
        return _case(rng, vocab, lambda: chain | FILTERS[name](rng, vocab))

    return make


def _edit_alone(name: str) -> Callable[[Rng, int], Case]:
    """One edit, and a filter on whose cut it tells."""

    def make(rng: Rng, vocab: int) -> Case:
        chain = {'chain': filters('top_p')}
        return _case(
            rng,
            vocab,
            lambda: chain | EDITS[name](rng, vocab) | _top_p(rng, vocab),
        )

    return make


def _some(rng: Rng, vocab: int) -> Fields:
    fields: Fields = {}
    for make in FILTERS.values():
        if rng.random() < 0.4:
            fields |= make(rng, vocab)
    for make in EDITS.values():
        if rng.random() < 0.15:
            fields |= make(rng, vocab)
    return fields


def _generate(rng: Rng, vocab: int) -> Case:
    """generate()'s order, with what is not named at its defaults."""
    return _case(rng, vocab, lambda: _some(rng, vocab))


SWEEPS: dict[str, tuple[int, Callable[[Rng, int], Case]]] = (
    {name: (500, _alone(name)) for name in FILTERS}
    | {name: (300, _edit_alone(name)) for name in EDITS}
    | {"generate()'s chain": (3000, _generate)}
)


def real_row_case(rng: Rng, row: FloatArray) -> Case:
    """generate()'s chain over a row of a model."""
    fields = _some(rng, 1000)
    past = history(rng, 1000)
    params = Params(profile=params_pb2.PROFILE_TRANSFORMERS, **fields)
    return Case(row, params, past)
