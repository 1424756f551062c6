"""llama.cpp's samplers that have a state, over the steps of sequences.

Each side goes on with its own state. The engine is made to draw the token that
the service drew: it draws again and again until it does.
"""

from collections.abc import Callable, Iterator

import numpy as np

from cases import Answer
from cases import Case
from cases import SamplerState
from compare import TOLERANCE
from compare import Tally
from compare import Verdict
from llama_cpp import answer_of
from llama_cpp import run
from llama_cpp import samplers_of
from llama_cpp_cases import adaptive_params
from llama_cpp_cases import mirostat_params
from requests_of import Params
from rows import KINDS
from rows import Rng
from rows import RowMaker
from rows import random_row
from rows import zipf
from service import Service

_WALKS = 4
_SEQUENCES = 64
_STEPS = 8
# Small, as the engine draws about as often as there are tokens.
_VOCABS = (16, 40, 64)


class _Sequence:
    """The samplers of one sequence of the engine; see compare.Peer."""

    def __init__(self, case: Case) -> None:
        self._samplers = samplers_of(case)
        self._version = case.params.mirostat
        self.state: SamplerState | None = None  # of the service

    @property
    def mu(self) -> float:
        return self._samplers[-1].mu(self._version).value

    def _draw(self, case: Case, mended: bool):
        """Applies the samplers. Also what takes that back."""
        undo = lambda: None
        if self._version:
            mu = self._samplers[-1].mu(self._version)
            before = mu.value
            undo = lambda: setattr(mu, 'value', before)
        return *run(self._samplers, case, mended), undo

    def answer(self, case: Case, mended: bool = False) -> Answer:
        candidates, _, undo = self._draw(case, mended)
        undo()
        return answer_of(candidates)

    def defects(self, case: Case) -> list[str]:
        _, defects, undo = self._draw(case, False)
        undo()
        return defects

    def follow(self, case: Case, token: int) -> None:
        """Draws `token`, which must be among those it draws from."""
        while True:
            candidates, _, undo = self._draw(case, True)
            if candidates.selected == token:
                self._samplers[-1].accept(token)
                return
            undo()


def _walk(
    service: Service,
    tally: Tally,
    rng: Rng,
    make: Callable[[Rng, int], Params],
    kinds: tuple[RowMaker, ...],
) -> None:
    """Some sequences side by side. One that differs goes no further."""
    vocab = int(rng.choice(_VOCABS))
    row = random_row(rng, vocab, kinds)
    going = []
    for _ in range(_SEQUENCES):
        params = make(rng, vocab)
        going.append((params, _Sequence(Case(row, params))))
    for position in range(_STEPS):
        cases = [
            Case(random_row(rng, vocab, kinds), params, state=sequence.state)
            for params, sequence in going
        ]
        left = []
        for (params, sequence), case, (ours, token, state) in zip(
            going, cases, service.steps(cases, position)
        ):
            verdict = tally.add(ours, case, sequence)
            if verdict not in (Verdict.EQUAL, Verdict.DOCUMENTED):
                continue
            sequence.follow(case, token)
            sequence.state = state
            if params.mirostat and (
                abs(sequence.mu - state.mirostat_mu) > TOLERANCE
            ):
                tally.add_complaint(
                    f'  mu after token {token}: service {state.mirostat_mu}, '
                    f'engine {sequence.mu} ({params})'
                )
            left.append((params, sequence))
        going = left
        if not going:
            return


_MAKERS: dict[str, tuple[Callable[[Rng, int], Params], tuple]] = {
    # On flat rows, too, k of version 1 does not fit into an int.
    'mirostat 1': (lambda rng, _: mirostat_params(rng, 1), (zipf,)),
    'mirostat 2': (lambda rng, _: mirostat_params(rng, 2), KINDS),
    'adaptive_p': (adaptive_params, KINDS),
}


def run_steps(service: Service, seed: int) -> Iterator[Tally]:
    """A tally of each sampler."""
    for index, (name, (make, kinds)) in enumerate(_MAKERS.items()):
        rng = np.random.default_rng([seed, 1, index])
        tally = Tally(name)
        for _ in range(_WALKS):
            _walk(service, tally, rng, make, kinds)
        yield tally
