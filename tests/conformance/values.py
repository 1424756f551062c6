"""Random values of parameters, and histories."""

import math

import numpy as np

from protos import params_pb2
from rows import Rng


def number(
    rng: Rng, low: float, high: float, *edges: float, logarithmic: bool = False
) -> float:
    """A value of the range, or one time in four an edge."""
    if edges and rng.random() < 0.25:
        return edges[rng.integers(len(edges))]
    if logarithmic:
        return math.exp(rng.uniform(math.log(low), math.log(high)))
    return rng.uniform(low, high)


def few_tokens(rng: Rng, vocab: int, count: int) -> list[int]:
    """For histories that repeat, and hold what is looked for in them."""
    return rng.integers(0, min(vocab, 8), count).tolist()


def history(rng: Rng, vocab: int) -> tuple[int, ...]:
    alphabet = few_tokens(rng, vocab, rng.integers(1, 8))
    return tuple(rng.choice(alphabet, rng.integers(0, 120)).tolist())


def logit_bias(rng: Rng, vocab: int) -> dict[str, object]:
    """Of up to half of the tokens; a third of the biases are bans."""
    ids = rng.permutation(vocab)[: rng.integers(1, max(2, vocab // 2))]
    added = rng.normal(0, 3, ids.size)
    biases = np.where(rng.random(ids.size) < 0.3, -np.inf, added)
    return {
        'logit_bias': [
            params_pb2.LogitBias(id=i, bias=b)
            for i, b in zip(ids.tolist(), biases.tolist())
        ]
    }
