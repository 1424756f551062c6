"""What a batch was answered."""

from collections.abc import Iterable, Sequence
import dataclasses
from typing import Literal

import numpy as np
import numpy.typing as npt

from tokendraw.v1 import sampling_pb2

Payload = Literal['inline', 'shared_memory', 'candidates']


@dataclasses.dataclass(frozen=True)
class SampleResult:
    """The reply to one batch.

    Attributes:
        response: the reply as it came, or, if rows were sent again whole, as
            it would have come with those.
        payload: how the logits went to the server.
        full_rows: of candidates: rows that were sent again whole, ascending.
    """

    response: sampling_pb2.SampleTokensResponse
    payload: Payload
    full_rows: tuple[int, ...] = ()

    @property
    def token_ids(self) -> npt.NDArray[np.int32]:
        """sample_count for each row, row-major; -1 where a row has an error."""
        return np.array(self.response.token_ids, np.int32)


@dataclasses.dataclass
class RowAnswer:
    """All that a response says of one row."""

    seed: int
    token_ids: Sequence[int]
    error: sampling_pb2.RowError | None = None
    details: list[sampling_pb2.RowDetail] = dataclasses.field(
        default_factory=list
    )


def split(
    response: sampling_pb2.SampleTokensResponse, sample_counts: Iterable[int]
) -> list[RowAnswer]:
    """The answer to each row, of which so many draws were asked."""
    answers: list[RowAnswer] = []
    start = 0
    for seed, count in zip(response.seeds, sample_counts, strict=True):
        tokens = response.token_ids[start : start + count]
        answers.append(RowAnswer(seed, tokens))
        start += count
    for error in response.row_errors:
        answers[error.row].error = error
    for detail in response.details:
        answers[detail.row].details.append(detail)
    return answers


def join(
    answers: Iterable[RowAnswer], like: sampling_pb2.SampleTokensResponse
) -> sampling_pb2.SampleTokensResponse:
    """The inverse of split; what is not of a row comes from `like`."""
    joined = sampling_pb2.SampleTokensResponse(
        step=like.step, semantics_version=like.semantics_version
    )
    for row, answer in enumerate(answers):
        joined.seeds.append(answer.seed)
        joined.token_ids.extend(answer.token_ids)
        if answer.error is not None:
            joined.row_errors.add().CopyFrom(answer.error)
            joined.row_errors[-1].row = row
        for detail in answer.details:
            joined.details.add().CopyFrom(detail)
            joined.details[-1].row = row
    return joined
