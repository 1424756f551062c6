"""Runs the sweeps of one engine and prints what came of each."""

from collections.abc import Callable, Iterable, Iterator
import itertools

import numpy as np

from cases import Case
from compare import Peer
from compare import Tally
from requests_of import FloatArray
from rows import Rng
from rows import VOCABS
from rows import untied_real_rows
from service import Service

Sweeps = dict[str, tuple[int, Callable[[Rng, int], Case]]]

SEED = 20260930
_BATCH = 64
_REAL_BATCH = 8
_PARAMS_PER_REAL_ROW = 20


def _batches(
    rng: Rng, rows: int, make: Callable[[Rng, int], Case]
) -> Iterator[list[Case]]:
    for start in range(0, rows, _BATCH):
        vocab = VOCABS[rng.integers(len(VOCABS))]
        yield [make(rng, vocab) for _ in range(min(_BATCH, rows - start))]


def _real_batches(
    rng: Rng, each: int, make: Callable[[Rng, FloatArray], Case]
) -> Iterator[list[Case]]:
    """Every real row, `each` times with other parameters."""
    cases = (
        make(rng, row) for row in untied_real_rows(rng) for _ in range(each)
    )
    while batch := list(itertools.islice(cases, _REAL_BATCH)):
        yield batch


def _tally(
    name: str, service: Service, peer: Peer, cases: Iterable[list[Case]]
) -> Tally:
    counts = Tally(name)
    for batch in cases:
        for case, ours in zip(batch, service.answers(batch)):
            counts.add(ours, case, peer)
    return counts


def run_sweeps(
    service: Service,
    peer: Peer,
    sweeps: Sweeps,
    real_row_case: Callable[[Rng, FloatArray], Case],
) -> Iterator[Tally]:
    """A tally of each sweep, and one of the rows of a real model."""
    for index, (name, (rows, make)) in enumerate(sweeps.items()):
        rng = np.random.default_rng([SEED, index])
        yield _tally(name, service, peer, _batches(rng, rows, make))
    rng = np.random.default_rng([SEED, len(sweeps)])
    batches = _real_batches(rng, _PARAMS_PER_REAL_ROW, real_row_case)
    yield _tally('rows of SmolLM2', service, peer, batches)
