"""Logits in, tokens out: the client of a tokendraw server.

with tokendraw.Client('unix:/run/tokendraw.sock') as client:
    buffer = client.row_buffer(rows * vocab * 4)
    logits = buffer.array(np.float32, (rows, vocab))
    ...  # write to logits
    result = client.sample(logits, tokendraw.SamplingParams(top_p=0.9))
    result.token_ids
"""

from tokendraw.candidates import reduce_rows
from tokendraw.client import Client
from tokendraw.errors import TokendrawError
from tokendraw.result import Payload, SampleResult
from tokendraw.row_buffer import RowBuffer
from tokendraw.shared_rows import SharedRows
from tokendraw.stream import SampleStream
from tokendraw.v1.params_pb2 import Filter, SamplingParams
from tokendraw.v1.sampling_pb2 import RowSpec

__all__ = [
    'Client',
    'Filter',
    'Payload',
    'RowBuffer',
    'RowSpec',
    'SampleResult',
    'SampleStream',
    'SamplingParams',
    'SharedRows',
    'TokendrawError',
    'reduce_rows',
]
