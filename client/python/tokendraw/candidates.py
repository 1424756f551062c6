"""Rows reduced to their largest logits: the reference of a GPU's reducer.

The formulas are those of CandidateRow in logits.proto.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from tokendraw.tensor import as_float32, check_logits
from tokendraw.v1 import logits_pb2


def reduce_rows(
    logits: npt.NDArray[Any], count: int, data_type: str | None = None
) -> logits_pb2.CandidateRows:
    """The `count` largest logits of each row, and the summary of all of it.

    Among equals the lowest id goes first; all of a row that has fewer. A row
    with NaN or +inf has its first such token among the candidates, and one
    with nothing but -inf has only that: both without a summary, so that the
    server answers what it answers to the whole row.

    Args:
        logits: [rows, vocab] float32, float16, or uint16 with 'bf16'.
        count: >= 1.
        data_type: 'bf16' says that uint16 is the upper half of a float32.

    Raises:
        TypeError, ValueError: an argument is not as said here.
    """
    kind = check_logits(logits, data_type)
    if count < 1:
        raise ValueError(f'the number of candidates must be >= 1, got {count}')
    rows = logits_pb2.CandidateRows()
    for row in logits:
        values = as_float32(row, kind)
        chosen = rows.rows.add()
        ids = _largest(values, count)
        chosen.ids.extend(ids.tolist())
        chosen.logits.extend(values[ids].tolist())
        _summarize(values, chosen)
    return rows


def _largest(
    values: npt.NDArray[np.float32], count: int
) -> npt.NDArray[np.intp]:
    """Ascending ids of the first `count` by (value descending, id ascending).

    NaN counts as +inf.
    """
    if count >= len(values):
        return np.arange(len(values))
    order = np.where(np.isnan(values), np.float32(np.inf), values)
    place = len(values) - count
    smallest = np.partition(order, place)[place]
    above = np.flatnonzero(order > smallest)
    equal = np.flatnonzero(order == smallest)[: count - len(above)]
    return np.sort(np.concatenate([above, equal]))


def _summarize(
    values: npt.NDArray[np.float32], row: logits_pb2.CandidateRow
) -> None:
    x = values[values != -np.inf].astype(np.float64)
    if not len(x) or not np.isfinite(x).all():
        return
    m = x.max()
    d = x - m
    e = np.exp(d)
    z = e.sum()
    row.log_sum_exp = m + np.log(z)
    row.mean_logit = m + (e * d).sum() / z
    row.max = m
    row.logit_mean = x.mean()
    row.logit_stddev = x.std()
    row.sum_squared_probability = (e * e).sum() / z**2
