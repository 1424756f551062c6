"""What is asked of the service and of an engine, and what they answer."""

import dataclasses

import numpy as np
import numpy.typing as npt

from protos import params_pb2
from protos import sampling_pb2
from requests_of import FloatArray
from requests_of import Params

SamplerState = sampling_pb2.SamplerState


@dataclasses.dataclass(frozen=True)
class Case:
    """One row, and how it is sampled.

    Attributes:
        logits: float32, one of each token.
        params: the service's own message; a peer reads its parameters there.
        prompt: token ids.
        output: token ids after the prompt.
        state: of a sampler that has one.
    """

    logits: FloatArray
    params: Params
    prompt: tuple[int, ...] = ()
    output: tuple[int, ...] = ()
    state: SamplerState | None = None

    @property
    def history(self) -> tuple[int, ...]:
        return self.prompt + self.output


@dataclasses.dataclass(frozen=True)
class Answer:
    """The tokens that the draw is made from, and their probabilities.

    Attributes:
        ids: ascending.
        p: one of each id.
    """

    ids: npt.NDArray[np.int64]
    p: npt.NDArray[np.float64]

    def __str__(self) -> str:
        shown = [f'{i}: {p:.7f}' for i, p in zip(self.ids[:12], self.p)]
        more = ', ...' if self.ids.size > 12 else ''
        return f'{self.ids.size} kept {{{", ".join(shown)}{more}}}'


def filters(*names: str) -> list[int]:
    """A chain by the names of its parameters: `filters('top_k', 'xtc')`."""
    return [params_pb2.Filter.Value(f'FILTER_{name.upper()}') for name in names]


def filter_names(params: Params) -> list[str]:
    """The opposite of `filters`, of a request's chain."""
    return [
        params_pb2.Filter.Name(f).removeprefix('FILTER_').lower()
        for f in params.chain
    ]


def value(params: Params, name: str, absent: float) -> float:
    """A scalar parameter, or what it is where it is not set."""
    return getattr(params, name) if params.HasField(name) else absent
