"""Rows of logits: random ones of several kinds, and those of a real model.

No two logits of a row are equal: engines promise nothing about ties, so those
are cases of their own.
"""

from collections.abc import Callable, Iterator

import numpy as np

from requests_of import FloatArray
from requests_of import real_rows

Rng = np.random.Generator
RowMaker = Callable[[Rng, int], FloatArray]

# Above 1024 candidates llama.cpp sorts by parts.
VOCABS = (2, 3, 5, 16, 64, 257, 1000, 1500)


def _normal(rng: Rng, vocab: int) -> FloatArray:
    return rng.normal(rng.uniform(-10, 10), rng.uniform(0.5, 5), vocab)


def zipf(rng: Rng, vocab: int) -> FloatArray:
    """Logits that fall with the logarithm of the rank, as a model's do."""
    ranks = rng.permutation(vocab) + 1
    slope = rng.uniform(0.6, 2)
    return -slope * np.log(ranks) + rng.normal(0, 0.1, vocab)


def _flat(rng: Rng, vocab: int) -> FloatArray:
    return rng.normal(0, 0.05, vocab)


def _peaked(rng: Rng, vocab: int) -> FloatArray:
    row = rng.normal(0, 2, vocab)
    likely = rng.integers(0, vocab, rng.integers(1, 13))
    row[likely] += rng.uniform(6, 14, likely.size)
    return row


def _two_hills(rng: Rng, vocab: int) -> FloatArray:
    return rng.normal(0, 1, vocab) + 6 * (rng.random(vocab) < 0.3)


def _wide(rng: Rng, vocab: int) -> FloatArray:
    return rng.uniform(-40, 10, vocab)


def _masked(rng: Rng, vocab: int) -> FloatArray:
    row = _normal(rng, vocab)
    masked = rng.permutation(vocab)[: int(rng.uniform(0.05, 0.6) * vocab)]
    row[masked[: vocab - 2]] = -np.inf
    return row


KINDS: tuple[RowMaker, ...] = (
    _normal,
    zipf,
    _flat,
    _peaked,
    _two_hills,
    _wide,
    _masked,
)


def _has_ties(row: FloatArray) -> bool:
    finite = row[np.isfinite(row)]
    return np.unique(finite).size < finite.size


def random_row(
    rng: Rng, vocab: int, kinds: tuple[RowMaker, ...] = KINDS
) -> FloatArray:
    """A row of one of `kinds`."""
    make = kinds[rng.integers(len(kinds))]
    while True:
        row = make(rng, vocab).astype(np.float32)
        if not _has_ties(row):
            return row


def _part_ties(row: FloatArray) -> FloatArray:
    """Moves each logit that equals another one up, by as little as can be."""
    order = row.argsort()
    ascending = row[order]
    while True:
        tied = np.flatnonzero(ascending[1:] <= ascending[:-1]) + 1
        if not tied.size:
            break
        ascending[tied] = np.nextafter(ascending[tied - 1], np.float32(np.inf))
    parted = np.empty_like(row)
    parted[order] = ascending
    return parted


def untied_real_rows(rng: Rng) -> Iterator[FloatArray]:
    """The 24 real rows; the ties that BF16 made are parted at random."""
    for row in real_rows():
        noise = rng.uniform(0, 2**-8, row.size).astype(np.float32)
        yield _part_ties(row + noise)
