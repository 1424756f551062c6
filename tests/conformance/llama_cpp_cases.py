"""Random cases for PROFILE_LLAMA_CPP: each sampler, pairs, chains, defaults."""

from collections.abc import Callable
import dataclasses
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

CHAIN = ('top_n_sigma', 'top_k', 'typical_p', 'top_p', 'min_p', 'xtc',
         'temperature')  # fmt: skip


def _min_keep(rng: Rng) -> Fields:
    return {'min_keep': int(rng.choice([0, 0, 1, 2, 5]))}


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


def _top_n_sigma(rng: Rng, _: int) -> Fields:
    n = number(rng, 0.05, 4, 0.0, 0.001, 20.0)
    return {'top_n_sigma': n} | _min_keep(rng)


def _xtc(rng: Rng, _: int) -> Fields:
    # The coin is the engine's own: only what is certain can be compared.
    threshold = number(
        rng, 1e-4, 0.5, 0.499, 0.501, 1.0, 1e-6, logarithmic=True
    )
    return {
        'xtc_probability': 0.0 if rng.random() < 0.1 else 1.0,
        'xtc_threshold': threshold,
    } | _min_keep(rng)


def _temperature(rng: Rng, _: int) -> Fields:
    temperature = number(rng, 0.3, 3, 0.0, 1.0, logarithmic=True)
    return {'temperature': temperature} | _min_keep(rng)


def _dynatemp(rng: Rng, _: int) -> Fields:
    temperature = number(rng, 0.5, 2, 0.7)
    return {
        'temperature': temperature,
        'dynatemp_range': number(rng, 0.01, 0.6, 0.0) * temperature,
        'dynatemp_exponent': number(rng, 0.2, 3, 1.0),
    }


FILTERS: dict[str, _Maker] = {
    'top_n_sigma': _top_n_sigma,
    'top_k': _top_k,
    'typical_p': _typical_p,
    'top_p': _top_p,
    'min_p': _min_p,
    'xtc': _xtc,
    'temperature': _temperature,
}


def _penalties(rng: Rng, _: int) -> Fields:
    return {
        'repetition_penalty': number(rng, 0.5, 2, 1.0),
        'frequency_penalty': number(rng, -1, 1, 0.0, -2.0, 2.0),
        'presence_penalty': number(rng, -1, 1, 0.0, -2.0, 2.0),
        'penalty_last_n': int(number(rng, 1, 130, 0, 1, 64)),
    }


def _dry(rng: Rng, vocab: int) -> Fields:
    ids = few_tokens(rng, vocab, 4)
    sequences = [ids[:1], ids[:2], ids[1:], [ids[0], ids[0]], [ids[2], ids[1]]]
    chosen = rng.permutation(5)[: rng.integers(0, 4)]
    return {
        'dry_multiplier': number(rng, 0.1, 2, 0.0),
        'dry_base': number(rng, 1.01, 2, 1.0, 1.75),
        'dry_allowed_length': int(rng.integers(1, 7)),
        # Longer repeats make logits whose squares top_n_sigma cannot add up.
        'dry_penalty_last_n': int(number(rng, 1, 64, 0, 1, 64)),
        'dry_breaker_ids': ids[3:] if rng.random() < 0.3 else [],
        'dry_breaker_sequences': [
            params_pb2.TokenSequence(token_ids=sequences[i]) for i in chosen
        ],
    }


EDITS: dict[str, _Maker] = {
    'penalties': _penalties,
    'dry': _dry,
    'logit_bias': logit_bias,
}


def _case(rng: Rng, vocab: int, fields: Fields) -> Case:
    past = history(rng, vocab)
    cut = int(rng.integers(0, len(past) + 1))
    params = Params(profile=params_pb2.PROFILE_LLAMA_CPP, **fields)
    banned = [b.id for b in params.logit_bias if b.bias == -math.inf]
    while True:
        row = random_row(rng, vocab)
        if np.isfinite(np.delete(row, banned)).any():
            return Case(row, params, past[:cut], past[cut:])


def _alone(name: str) -> _Maker:
    """One filter, and nothing else."""

    def make(rng: Rng, vocab: int) -> Case:
        fields = FILTERS[name](rng, vocab)
        return _case(rng, vocab, {'chain': filters(name), **fields})

    return make


def _cold(rng: Rng, vocab: int) -> Case:
    """Small temperatures, of a row whose largest logit is 0.

    llama.cpp divides in float32: far from 0 that alone is more than 1e-5.
    """
    temperature = number(rng, 1e-3, 0.3, logarithmic=True)
    case = _case(
        rng,
        vocab,
        {'chain': filters('temperature'), 'temperature': temperature},
    )
    return dataclasses.replace(case, logits=case.logits - case.logits.max())


def _dynatemp_alone(rng: Rng, vocab: int) -> Case:
    fields = {'chain': filters('temperature'), **_dynatemp(rng, vocab)}
    return _case(rng, vocab, fields)


def _edit_alone(name: str) -> _Maker:
    """One edit, and a filter on whose cut it tells."""

    def make(rng: Rng, vocab: int) -> Case:
        fields = EDITS[name](rng, vocab) | _min_p(rng, vocab)
        return _case(rng, vocab, {'chain': filters('min_p'), **fields})

    return make


def _some(rng: Rng, vocab: int, names: list[str]) -> Fields:
    """The named filters, and some edits."""
    fields: Fields = {}
    for name in names:
        make = FILTERS[name]
        if name == 'temperature' and rng.random() < 0.3:
            make = _dynatemp
        fields |= make(rng, vocab)
    for make in EDITS.values():
        if rng.random() < 0.2:
            fields |= make(rng, vocab)
    return fields


def _pair(rng: Rng, vocab: int) -> Case:
    names = rng.choice(CHAIN, 2, replace=False).tolist()
    fields = _some(rng, vocab, names)
    return _case(rng, vocab, {'chain': filters(*names), **fields})


def _chain(rng: Rng, vocab: int) -> Case:
    names = rng.permutation(CHAIN)[: rng.integers(3, 8)].tolist()
    fields = _some(rng, vocab, names)
    if rng.random() < 0.1:
        names.append('adaptive_p')  # its target is absent: a plain draw
    return _case(rng, vocab, {'chain': filters(*names), **fields})


def _default_chain(rng: Rng, vocab: int) -> Case:
    """llama-server's own, with what is not named at its defaults."""
    named = [name for name in CHAIN if rng.random() < 0.5]
    return _case(rng, vocab, _some(rng, vocab, named))


def mirostat_params(rng: Rng, version: int) -> Params:
    params = Params(
        profile=params_pb2.PROFILE_LLAMA_CPP,
        mirostat=version,
        temperature=number(rng, 0.5, 2, 1.0),
    )
    # A large mu and version 1: k is not a number that fits into an int.
    if version == 1 or rng.random() < 0.8:
        params.mirostat_tau = number(rng, 0.5, 3, 0.0)
        params.mirostat_eta = number(rng, 0.01, 0.2, 0.0, 0.1)
    return params


def adaptive_params(rng: Rng, vocab: int) -> Params:
    names = rng.permutation(CHAIN)[: rng.integers(0, 3)].tolist()
    return Params(
        profile=params_pb2.PROFILE_LLAMA_CPP,
        chain=filters(*names, 'adaptive_p'),
        adaptive_target=number(rng, 0, 1, 0.0, 1.0),
        adaptive_decay=number(rng, 0, 0.99, 0.0, 0.9, 0.99),
        **_some(rng, vocab, names),
    )


SWEEPS: dict[str, tuple[int, Callable[[Rng, int], Case]]] = (
    {name: (1200, _alone(name)) for name in FILTERS}
    | {'small temperatures': (600, _cold), 'dynatemp': (1200, _dynatemp_alone)}
    | {name: (1200, _edit_alone(name)) for name in EDITS}
    | {
        'pairs': (3000, _pair),
        'chains in any order': (3000, _chain),
        "llama-server's chain": (6000, _default_chain),
    }
)


def real_row_case(rng: Rng, row: FloatArray) -> Case:
    """llama-server's chain over a row of a model."""
    named = [name for name in CHAIN if rng.random() < 0.5]
    fields = _some(rng, 1000, named)
    past = history(rng, 1000)
    return Case(
        row, Params(profile=params_pb2.PROFILE_LLAMA_CPP, **fields), past
    )
