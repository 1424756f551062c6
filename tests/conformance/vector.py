"""Rows whose answers were worked out by hand from an engine's rules."""

from collections.abc import Mapping, Sequence
import dataclasses
import math

import numpy as np

from cases import Answer
from cases import Case
from cases import filters
from compare import Tally
from compare import Verdict
from requests_of import Params
from service import Service

INF = math.inf


@dataclasses.dataclass(frozen=True)
class Vector:
    """One row.

    Attributes:
        name: the rule that it shows.
        logits: the row.
        expected: of each kept token, its probability when it is drawn; None
            where the rule is about the token alone.
        token: the one that must be drawn; None if any may be.
        prompt: token ids.
        output: token ids after the prompt.
        chain: names of filters; empty is the engine's own order.
        params: fields of SamplingParams.
    """

    name: str
    logits: Sequence[float]
    expected: Mapping[int, float] | None
    token: int | None = None
    prompt: tuple[int, ...] = ()
    output: tuple[int, ...] = ()
    chain: tuple[str, ...] = ()
    params: Mapping[str, object] = dataclasses.field(default_factory=dict)


def ln(*p: float) -> list[float]:
    """Logits whose softmax is `p`."""
    return [math.log(q) if q else -INF for q in p]


def equal(count: int) -> dict[int, float]:
    """The tokens from 0, each as probable as the others."""
    return {token: 1 / count for token in range(count)}


@dataclasses.dataclass(frozen=True)
class _ByHand:
    """See compare.Peer."""

    expected: Answer

    def answer(self, case: Case, mended: bool = False) -> Answer:
        return self.expected

    def defects(self, case: Case) -> list[str]:
        return []


def check(
    name: str, service: Service, profile: int, vectors: Sequence[Vector]
) -> Tally:
    """Asks each under the engine's profile."""
    tally = Tally(name)
    for vector in vectors:
        params = Params(
            profile=profile, chain=filters(*vector.chain), **vector.params
        )
        logits = np.array(vector.logits, np.float32)
        case = Case(logits, params, vector.prompt, vector.output)
        ours, token = service.draw(case)
        expected = ours
        if vector.expected is not None:
            ids, p = zip(*sorted(vector.expected.items()))
            expected = Answer(np.array(ids), np.array(p))
        verdict = tally.add(ours, case, _ByHand(expected))
        if verdict == Verdict.DIFFERENT:
            tally.complaints[-1] = f'  {vector.name}\n{tally.complaints[-1]}'
        if vector.token not in (None, token):
            tally.add_complaint(
                f'  {vector.name}: token {token}, not {vector.token}'
            )
    return tally
