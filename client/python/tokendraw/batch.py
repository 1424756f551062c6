"""What one sample() or step() is given."""

from collections.abc import Sequence
import dataclasses
from typing import Any

import numpy.typing as npt

from tokendraw.v1 import params_pb2, sampling_pb2


@dataclasses.dataclass(frozen=True)
class Batch:
    """The arguments of Client.sample and SampleStream.step."""

    logits: npt.NDArray[Any]
    params: (
        params_pb2.SamplingParams | Sequence[params_pb2.SamplingParams] | None
    )
    rows: Sequence[sampling_pb2.RowSpec] | None
    seeds: Sequence[int] | None
    positions: Sequence[int] | None
    step: int
    candidates: int | None
    data_type: str | None
    validation: sampling_pb2.Validation

    def request(self) -> sampling_pb2.SampleTokensRequest:
        """The message, without its logits.

        Raises:
            ValueError: rows, seeds or positions are not one for each row of
                the logits, or seeds or positions stand beside rows.
        """
        return sampling_pb2.SampleTokensRequest(
            step=self.step,
            params=parameter_sets(self.params),
            rows=self._specs(),
            validation=self.validation,
        )

    def _specs(self) -> Sequence[sampling_pb2.RowSpec]:
        count = len(self.logits)
        for name in ('rows', 'seeds', 'positions'):
            given = getattr(self, name)
            if given is not None and len(given) != count:
                raise ValueError(
                    f'{name} must be one for each of the {count} rows of the '
                    f'logits, got {len(given)}'
                )
        if self.seeds is None and self.positions is None:
            return self.rows or ()
        if self.rows is not None:
            raise ValueError('seeds and positions belong into rows, if given')
        specs = [sampling_pb2.RowSpec() for _ in range(count)]
        if self.seeds is not None:
            for spec, seed in zip(specs, self.seeds, strict=True):
                spec.seed = seed
        if self.positions is not None:
            for spec, position in zip(specs, self.positions, strict=True):
                spec.position = position
        return specs


def parameter_sets(
    params: (
        params_pb2.SamplingParams | Sequence[params_pb2.SamplingParams] | None
    ),
) -> Sequence[params_pb2.SamplingParams]:
    """One set, or several, or none, as a message has them."""
    if isinstance(params, params_pb2.SamplingParams):
        return [params]
    return params or ()
