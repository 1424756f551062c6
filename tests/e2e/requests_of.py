"""Requests, built the way a worker in Python would."""

from collections.abc import Sequence
import json

import numpy as np
import numpy.typing as npt

from protos import ROOT
from protos import logits_pb2
from protos import params_pb2
from protos import sampling_pb2

F32 = logits_pb2.DATA_TYPE_F32
F16 = logits_pb2.DATA_TYPE_F16
BF16 = logits_pb2.DATA_TYPE_BF16

Params = params_pb2.SamplingParams
Request = sampling_pb2.SampleTokensRequest
Response = sampling_pb2.SampleTokensResponse
RowSpec = sampling_pb2.RowSpec
Tensor = logits_pb2.LogitsTensor

FloatArray = npt.NDArray[np.float32]


def to_bf16(values: FloatArray) -> npt.NDArray[np.uint16]:
    """Bit patterns of values that BF16 holds exactly."""
    bits = np.ascontiguousarray(values, dtype='<f4').view('<u4')
    assert not (bits & 0xFFFF).any()
    return (bits >> 16).astype('<u2')


def to_bytes(values: FloatArray, data_type: int) -> bytes:
    """Little-endian elements, row after row."""
    if data_type == F32:
        return values.astype('<f4').tobytes()
    if data_type == F16:
        return values.astype('<f2').tobytes()
    return to_bf16(values).tobytes()


def tensor(
    values: FloatArray, data_type: int = F32, padding: int = 0
) -> logits_pb2.LogitsTensor:
    """Rows as inline bytes, each followed by `padding` columns of 1000."""
    rows, vocab = values.shape
    wide = np.pad(values, ((0, 0), (0, padding)), constant_values=1000.0)
    return Tensor(
        vocab_size=vocab,
        row_count=rows,
        row_stride=vocab + padding if padding else 0,
        data_type=data_type,
        inline=to_bytes(wide, data_type),
    )


def float_values(values: FloatArray) -> logits_pb2.LogitsTensor:
    """Rows as packed floats."""
    rows, vocab = values.shape
    return Tensor(
        vocab_size=vocab,
        row_count=rows,
        values=logits_pb2.FloatValues(values=values.ravel().tolist()),
    )


def request(
    values: FloatArray | Sequence[Sequence[float]],
    params: Params | None = None,
    rows: Sequence[RowSpec] = (),
    *,
    data_type: int = F32,
    step: int = 0,
) -> Request:
    """One batch with one parameter set."""
    return Request(
        step=step,
        logits=tensor(np.asarray(values, np.float32), data_type),
        params=[params] if params else [],
        rows=rows,
    )


def logits_of(probabilities: Sequence[float]) -> FloatArray:
    """A row whose softmax is `probabilities`."""
    return np.log(np.array([probabilities])).astype(np.float32)


def real_rows() -> FloatArray:
    """The 24 rows of a real generation, V = 49,152; all of them BF16 values."""
    data = (ROOT / 'tests/data/smollm2_rows.safetensors').read_bytes()
    start = 8 + int.from_bytes(data[:8], 'little')
    about = json.loads(data[8:start])['logits']
    begin, end = about['data_offsets']
    bits = np.frombuffer(data[start + begin : start + end], '<u2')
    wide = bits.astype('<u4') << 16
    return wide.view('<f4').reshape(about['shape'])
