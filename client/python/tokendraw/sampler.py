"""From a batch to its result, whatever carries the messages."""

import abc
from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from tokendraw.batch import Batch, Exchange
from tokendraw.candidates import reduce_rows
from tokendraw.connection import Connection
from tokendraw.errors import TokendrawError
from tokendraw.result import SampleResult, join, split
from tokendraw.retry import Deadline
from tokendraw.sharing import Sharing, is_refusal
from tokendraw.tensor import check_logits, set_shape
from tokendraw.v1 import logits_pb2, params_pb2, sampling_pb2

# More in a message are not faster.
_MOST_ROWS = 16


class Sampler(abc.ABC):
    """What Client and SampleStream have in common: from logits to tokens."""

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
    ) -> SampleResult:
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
        batch = Batch(
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
        deadline = Deadline(self._deadline)
        return _sample_batch(
            batch,
            self._sharing,
            self._connection.link(deadline).info.max_message_bytes,
            lambda request: self._exchange(request, deadline),
        )


def _sample_batch(
    batch: Batch, sharing: Sharing, message_bytes: int, exchange: Exchange
) -> SampleResult:
    """Sends the batch with `exchange`, and what has to follow it.

    Rows that follow go in messages of `message_bytes` at most.

    Raises:
        TokendrawError: `exchange` did.
        TypeError, ValueError: the batch makes no sense.
    """
    kind = check_logits(batch.logits, batch.data_type)
    request = batch.request()
    if batch.candidates is None:
        return _sample_whole(batch.logits, kind, request, sharing, exchange)
    set_shape(request.logits, batch.logits, logits_pb2.DATA_TYPE_F32)
    request.logits.candidates.CopyFrom(
        reduce_rows(batch.logits, batch.candidates, batch.data_type)
    )
    response = exchange(request)
    again = [
        error.row
        for error in response.row_errors
        if error.code == sampling_pb2.ROW_ERROR_CODE_NEED_FULL_ROW
    ]
    if not again:
        return SampleResult(response, 'candidates')
    specs = list(request.rows)
    if not specs:
        specs = [sampling_pb2.RowSpec() for _ in batch.logits]
    counts = [max(1, spec.sample_count) for spec in specs]
    answers = split(response, counts)
    # Half of a message is left to what rows have beside their logits.
    most = message_bytes // 2 // batch.logits[0].nbytes
    size = min(max(1, most), _MOST_ROWS)
    for start in range(0, len(again), size):
        rows = again[start : start + size]
        request.ClearField('rows')
        for row in rows:
            request.rows.add().CopyFrom(specs[row])
            request.rows[-1].seed = response.seeds[row]
        whole = _sample_whole(
            batch.logits[rows], kind, request, sharing, exchange
        )
        full = split(whole.response, [counts[row] for row in rows])
        for row, answer in zip(rows, full, strict=True):
            answers[row] = answer
    return SampleResult(join(answers, response), 'candidates', tuple(again))


def _sample_whole(
    logits: npt.NDArray[Any],
    kind: logits_pb2.DataType,
    request: sampling_pb2.SampleTokensRequest,
    sharing: Sharing,
    exchange: Exchange,
) -> SampleResult:
    payload = sharing.place(logits, kind, request.logits)
    try:
        return SampleResult(exchange(request), payload)
    except TokendrawError as error:
        if payload == 'inline' or not is_refusal(error):
            raise
    # Another server has taken the address.
    sharing.forget()
    payload = sharing.place(logits, kind, request.logits)
    return SampleResult(exchange(request), payload)
