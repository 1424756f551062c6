"""What Client and SampleStream have in common, blocking and asyncio's."""

import abc
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy.typing as npt

from tokendraw.batch import Batch
from tokendraw.connection import Connection
from tokendraw.conversation import converse
from tokendraw.result import SampleResult
from tokendraw.retry import Deadline
from tokendraw.sample_batch import sample_batch
from tokendraw.sharing import Sharing
from tokendraw.v1 import params_pb2, sampling_pb2

_Answer = TypeVar('_Answer')


class Sampler(abc.ABC, Generic[_Answer]):
    """Takes a batch; _Answer is its SampleResult, or a coroutine of it."""

    @abc.abstractmethod
    def _answer(self, batch: Batch) -> _Answer:
        """The result; raises as _sample does."""

    def _sample(
        self,
        logits: npt.NDArray[Any],
        params: (
            params_pb2.SamplingParams
            | Sequence[params_pb2.SamplingParams]
            | None
        ) = None,
        rows: Sequence[sampling_pb2.RowSpec] | None = None,
        *,
        seeds: Sequence[int] | None = None,
        positions: Sequence[int] | None = None,
        step: int = 0,
        candidates: int | None = None,
        data_type: str | None = None,
        validation: sampling_pb2.Validation = sampling_pb2.VALIDATION_STRICT,
    ) -> _Answer:
        """Draws a token, or more, from each row.

        Args:
            logits: [rows, vocab] float32, float16, or uint16 with 'bf16'; of
                any memory. An array over a row buffer goes without a copy, if
                the server shares it and it has 64 KiB.
            params: one set for all rows, or those that `rows` refer to.
            rows: what each row is drawn with. None: params[0], a seed of its
                own that the service draws, position 0.
            seeds: in place of `rows`: the seed of each row. Token after token
                of one sequence needs `positions` too.
            positions: in place of `rows`: the position of each row.
            step: echoed.
            candidates: send so many of the largest logits of each row and a
                summary of the rest, and whole rows only where those cannot
                decide. The tokens are the same.
            data_type: 'bf16' says that uint16 is the upper half of a float32.
            validation: how parameters outside their range are treated.

        Raises:
            TokendrawError: the server refused the batch, or did not answer.
                A row that has no token is no error: see response.row_errors.
            TypeError, ValueError: an argument is not as said here.
        """
        return self._answer(
            Batch(
                logits,
                params,
                rows,
                seeds,
                positions,
                step,
                candidates,
                data_type,
                validation,
            )
        )


class BlockingSampler(Sampler[SampleResult]):
    """One whose calls block."""

    def __init__(
        self, connection: Connection, sharing: Sharing, deadline: float
    ) -> None:
        """`deadline` is in seconds, for one batch."""
        self._connection = connection
        self._sharing = sharing
        self._deadline = deadline

    @abc.abstractmethod
    def _exchange(
        self, request: sampling_pb2.SampleTokensRequest, deadline: Deadline
    ) -> sampling_pb2.SampleTokensResponse:
        """Sends one message and returns its reply; raises TokendrawError."""

    def _answer(self, batch: Batch) -> SampleResult:
        deadline = Deadline(self._deadline)
        message_bytes = self._connection.link(deadline).info.max_message_bytes
        return converse(
            sample_batch(batch, self._sharing, message_bytes),
            lambda request: self._exchange(request, deadline),
        )
