"""From the logits of a batch to its tokens."""

from typing import Any

import numpy.typing as npt

from tokendraw.batch import Batch
from tokendraw.candidates import reduce_rows
from tokendraw.conversation import Conversation
from tokendraw.errors import TokendrawError
from tokendraw.resend import asked_of, join, split
from tokendraw.result import SampleResult
from tokendraw.sharing import Sharing, is_refusal
from tokendraw.tensor import check_logits, set_shape
from tokendraw.v1 import logits_pb2, sampling_pb2

# More in a message are not faster.
_MOST_ROWS = 16


def sample_batch(
    batch: Batch, sharing: Sharing, message_bytes: int
) -> Conversation[SampleResult]:
    """Sends the batch, and what has to follow it.

    Rows that follow go in messages of `message_bytes` at most.

    Raises:
        TokendrawError: it came instead of a reply.
        TypeError, ValueError: the batch makes no sense.
    """
    kind = check_logits(batch.logits, batch.data_type)
    request = batch.request()
    if batch.candidates is None:
        return (yield from _sample_whole(batch.logits, kind, request, sharing))
    set_shape(request.logits, batch.logits, logits_pb2.DATA_TYPE_F32)
    request.logits.candidates.CopyFrom(
        reduce_rows(batch.logits, batch.candidates, batch.data_type)
    )
    response = yield request
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
    asked = asked_of(request, specs)
    answers = split(response, asked)
    # Half of a message is left to what rows have beside their logits.
    most = message_bytes // 2 // batch.logits[0].nbytes
    size = min(max(1, most), _MOST_ROWS)
    for start in range(0, len(again), size):
        rows = again[start : start + size]
        request.ClearField('rows')
        for row in rows:
            request.rows.add().CopyFrom(specs[row])
            request.rows[-1].seed = response.seeds[row]
        whole = yield from _sample_whole(
            batch.logits[rows], kind, request, sharing
        )
        full = split(whole.response, [asked[row] for row in rows])
        for row, answer in zip(rows, full, strict=True):
            answers[row] = answer
    return SampleResult(join(answers, response), 'candidates', tuple(again))


def _sample_whole(
    logits: npt.NDArray[Any],
    kind: logits_pb2.DataType,
    request: sampling_pb2.SampleTokensRequest,
    sharing: Sharing,
) -> Conversation[SampleResult]:
    payload = sharing.place(logits, kind, request.logits)
    try:
        return SampleResult((yield request), payload)
    except TokendrawError as error:
        if payload == 'inline' or not is_refusal(error):
            raise
    # Another server has taken the address.
    sharing.forget()
    payload = sharing.place(logits, kind, request.logits)
    return SampleResult((yield request), payload)
