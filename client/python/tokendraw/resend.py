"""Replies taken apart, row by row, and put together with those to whole rows."""

from collections.abc import Iterable, Sequence
import dataclasses
import itertools
import math
from typing import NamedTuple

import grpc

from tokendraw.errors import TokendrawError
from tokendraw.v1 import params_pb2, sampling_pb2


class Asked(NamedTuple):
    """What a reply has of a row, unless the row has an error."""

    draws: int
    has_states: bool


def asked_of(
    request: sampling_pb2.SampleTokensRequest,
    specs: Iterable[sampling_pb2.RowSpec],
) -> list[Asked]:
    """For each of the rows `specs`, which refer to the sets of `request`."""
    has_states = [_has_states(params) for params in request.params] or [False]
    return [
        Asked(max(1, spec.sample_count), has_states[spec.params_index])
        for spec in specs
    ]


def _has_states(params: params_pb2.SamplingParams) -> bool:
    """Whether mirostat or adaptive-p is on.

    A parameter outside its range turns it off: if not, there was no reply.
    """
    mirostat = params.mirostat in (1, 2) and all(
        0 <= value < math.inf
        for value in (params.mirostat_tau, params.mirostat_eta)
    )
    return mirostat or (
        params.HasField('adaptive_target')
        and 0 <= params.adaptive_target <= 1
        and 0 <= params.adaptive_decay <= 0.99
    )


@dataclasses.dataclass
class RowAnswer:
    """All that a response says of one row."""

    seed: int
    token_ids: list[int]
    error: sampling_pb2.RowError | None = None
    details: list[sampling_pb2.RowDetail] = dataclasses.field(
        default_factory=list
    )
    sampler_states: list[sampling_pb2.SamplerState] = dataclasses.field(
        default_factory=list
    )


def split(
    response: sampling_pb2.SampleTokensResponse, asked: Sequence[Asked]
) -> list[RowAnswer]:
    """The answer to each row.

    Raises:
        TokendrawError: INTERNAL: it does not have what was asked.
    """
    draws = [row.draws for row in asked]
    _check(len(response.seeds) == len(asked))
    _check(len(response.token_ids) == sum(draws))
    tokens = iter(response.token_ids)
    answers = [
        RowAnswer(seed, list(itertools.islice(tokens, count)))
        for seed, count in zip(response.seeds, draws, strict=True)
    ]
    for error in response.row_errors:
        _check(0 <= error.row < len(answers))
        answers[error.row].error = error
    for detail in response.details:
        _check(0 <= detail.row < len(answers))
        answers[detail.row].details.append(detail)
    state = 0
    for answer, row in zip(answers, asked, strict=True):
        if row.has_states and answer.error is None:
            end = state + row.draws
            answer.sampler_states.extend(response.sampler_states[state:end])
            state = end
    _check(len(response.sampler_states) == state)
    return answers


def _check(fits: bool) -> None:
    if not fits:
        raise TokendrawError(
            grpc.StatusCode.INTERNAL,
            'the reply does not have the rows of the request',
        )


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
        joined.sampler_states.extend(answer.sampler_states)
    return joined
