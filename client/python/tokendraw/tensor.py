"""Numpy arrays as tensors of the wire."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tokendraw.v1 import logits_pb2

_KINDS = {
    (np.dtype('<f4'), None): logits_pb2.DATA_TYPE_F32,
    (np.dtype('<f2'), None): logits_pb2.DATA_TYPE_F16,
    (np.dtype('<u2'), 'bf16'): logits_pb2.DATA_TYPE_BF16,
}


_SHAPES = {1: '[vocab]', 2: '[rows, vocab]'}


def check_logits(
    logits: npt.NDArray[Any], data_type: str | None, ndim: int = 2
) -> logits_pb2.DataType:
    """The element type of [rows, vocab] logits, or of one row, [vocab].

    Raises:
        TypeError: not an array of float32, of float16, or of uint16 with
            `data_type` 'bf16', little-endian.
        ValueError: not `ndim` dimensions of at least 1.
    """
    if not isinstance(logits, np.ndarray):
        raise TypeError(
            f'logits must be a numpy array, got {type(logits).__name__}'
        )
    kind = _KINDS.get((logits.dtype, data_type))
    if kind is None:
        raise TypeError(
            'logits must be float32 or float16, or uint16 with data_type '
            f"'bf16'; got {logits.dtype} with data_type {data_type!r}"
        )
    if logits.ndim != ndim or not logits.size:
        raise ValueError(
            f'logits must be {_SHAPES[ndim]}, got the shape {logits.shape}'
        )
    return kind


def as_float32(
    row: npt.NDArray[Any], kind: logits_pb2.DataType
) -> npt.NDArray[np.float32]:
    """The same values."""
    if kind == logits_pb2.DATA_TYPE_BF16:
        return (row.astype('<u4') << 16).view('<f4')
    return row.astype(np.float32, copy=False)


def set_shape(
    tensor: logits_pb2.LogitsTensor,
    logits: npt.NDArray[Any],
    kind: logits_pb2.DataType,
) -> None:
    """Everything but a payload, which it then has none of."""
    tensor.Clear()
    tensor.row_count, tensor.vocab_size = logits.shape
    tensor.data_type = kind


def row_stride(logits: npt.NDArray[Any]) -> int | None:
    """Elements from row to row; None if rows lie otherwise than on the wire."""
    rows, vocab = map(int, logits.shape)
    item: int = logits.itemsize
    between_rows, between_columns = logits.strides
    if vocab > 1 and between_columns != item:
        return None
    if rows == 1:
        return vocab
    stride, rest = divmod(between_rows, item)
    return stride if not rest and stride >= vocab else None
