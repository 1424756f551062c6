"""Judges one row after another, and counts."""

from collections import Counter
from collections.abc import Callable
import dataclasses
import enum
import functools
from typing import Protocol

from google.protobuf import text_format
import numpy as np
import numpy.typing as npt

from cases import Answer
from cases import Case

# How far two probabilities may be apart.
TOLERANCE = 1e-5

# How far a row and a parameter are moved to see whether the answer hangs on
# the engine's float32 sums: by one rounding, and by those of a long sum. How
# often each is tried, and after how many differences of a sweep none is.
_NUDGES = (2e-6, 2e-5)
_TRIES = 100
_TRUSTED = 10

# Parameters that say where a filter cuts.
_CUTS = (
    'top_p',
    'min_p',
    'typical_p',
    'top_n_sigma',
    'xtc_threshold',
    'top_h',
    'epsilon_cutoff',
    'eta_cutoff',
)


class Peer(Protocol):
    """An engine. `mended` is without its documented defects."""

    def answer(self, case: Case, mended: bool = False) -> Answer:
        ...

    def defects(self, case: Case) -> list[str]:
        """The documented defects that the row comes across."""
        ...


class Verdict(enum.Enum):
    EQUAL = 'equal'
    ROUNDING = 'at the cut'
    DOCUMENTED = 'documented'
    DIFFERENT = 'different'


def distance(a: Answer, b: Answer) -> float:
    """The largest difference of two probabilities; infinite if sets differ."""
    if not np.array_equal(a.ids, b.ids):
        return np.inf
    return float(np.abs(a.p - b.p).max())


def _nudged(case: Case, by: float, rng: np.random.Generator) -> Case:
    """The row also as a whole, which changes no probability.

    Float32 logits near 40 are multiples of 4e-6. A repetition penalty minds:
    it asks for their signs.
    """
    noise = rng.uniform(-by, by, case.logits.size)
    if not case.params.HasField('repetition_penalty'):
        noise -= rng.uniform() * case.logits.max()
    params = type(case.params)()
    params.CopyFrom(case.params)
    for name in _CUTS:
        if params.HasField(name):
            cut = getattr(params, name)
            most = max(cut, 1.0)  # of most of them the range ends there
            setattr(params, name, min(most, cut * (1 + rng.uniform(-by, by))))
    logits = (case.logits + noise).astype(np.float32)
    return dataclasses.replace(case, logits=logits, params=params)


def _shares(answer: Answer, ids: npt.NDArray[np.int64]) -> Answer:
    """Of some of its tokens, renormalised."""
    p = answer.p[np.isin(answer.ids, ids)]
    return Answer(ids, p / p.sum())


def is_near(ours: Answer, case: Case, answer: Callable[[Case], Answer]) -> bool:
    """Whether only tokens differ about which the engine is of two minds.

    It keeps each of them or not as row and cuts move a very little. The others
    have the probabilities that they should have.
    """
    theirs = answer(case)
    both = np.intersect1d(ours.ids, theirs.ids)
    if both.size and (
        distance(_shares(ours, both), _shares(theirs, both)) > TOLERANCE
    ):
        return False
    rng = np.random.default_rng(0)
    always, sometimes = theirs.ids, theirs.ids
    for by in _NUDGES:
        for _ in range(_TRIES):
            ids = answer(_nudged(case, by, rng)).ids
            always = np.intersect1d(always, ids)
            sometimes = np.union1d(sometimes, ids)
            if np.isin(always, ours.ids).all() and (
                np.isin(ours.ids, sometimes).all()
            ):
                return True
    return False


def judge(
    ours: Answer, case: Case, peer: Peer, try_near: bool
) -> tuple[Verdict, float]:
    """Also how far apart the probabilities are."""
    apart = distance(ours, peer.answer(case))
    if apart <= TOLERANCE:
        return Verdict.EQUAL, apart
    mended = functools.partial(peer.answer, mended=True)
    defects = peer.defects(case)
    if defects and distance(ours, mended(case)) <= TOLERANCE:
        return Verdict.DOCUMENTED, apart
    if try_near and is_near(ours, case, peer.answer):
        return Verdict.ROUNDING, apart
    if try_near and defects and is_near(ours, case, mended):
        return Verdict.DOCUMENTED, apart
    return Verdict.DIFFERENT, apart


@dataclasses.dataclass
class Tally:
    """The counts of one sweep."""

    name: str
    rows: int = 0
    verdicts: Counter[Verdict] = dataclasses.field(default_factory=Counter)
    defects: Counter[str] = dataclasses.field(default_factory=Counter)
    largest: float = 0.0  # distance of probabilities, where sets are equal
    complaints: list[str] = dataclasses.field(default_factory=list)

    def add(self, ours: Answer, case: Case, peer: Peer) -> Verdict:
        try_near = self.verdicts[Verdict.DIFFERENT] < _TRUSTED
        verdict, apart = judge(ours, case, peer, try_near)
        self.rows += 1
        self.verdicts[verdict] += 1
        if verdict == Verdict.EQUAL:
            self.largest = max(self.largest, apart)
        if verdict == Verdict.DOCUMENTED:
            self.defects.update(peer.defects(case))
        if verdict == Verdict.DIFFERENT:
            self.complaints.append(_complaint(ours, case, peer))
        return verdict

    def add_complaint(self, text: str) -> None:
        """A difference of something else than the answer to a row."""
        self.verdicts[Verdict.DIFFERENT] += 1
        self.complaints.append(text)


def _complaint(ours: Answer, case: Case, peer: Peer) -> str:
    logits = case.logits[:64].tolist()
    params = text_format.MessageToString(case.params, as_one_line=True)
    return '\n'.join(
        [
            f'  params: {params}',
            f'  history: {case.prompt} {case.output} state: {case.state}',
            f'  {case.logits.size} logits: {logits}',
            f'  service: {ours}',
            f'  engine:  {peer.answer(case)}',
            f'  mended:  {peer.answer(case, mended=True)}',
        ]
    )
