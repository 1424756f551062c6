"""Which rows go through shared memory, and which as bytes."""

import errno
import threading
from typing import Any

import grpc
import numpy as np
import numpy.typing as npt

from tokendraw.conversation import Conversation
from tokendraw.errors import TokendrawError
from tokendraw.result import Payload
from tokendraw.row_buffer import RowBuffer
from tokendraw.shared_rows import SharedRows
from tokendraw.tensor import row_stride, set_shape
from tokendraw.v1 import logits_pb2, sampling_pb2

# Less is faster in the message itself.
_LEAST_SHARED_BYTES = 64 << 10


class Sharing:
    """The directory that a server shares with this process. Thread-safe."""

    def __init__(self, shm_dir: str | None) -> None:
        """`shm_dir` is its path in this process; None: that of the server."""
        self._shm_dir = shm_dir
        self._lock = threading.Lock()
        # Guarded by _lock. The directory: None before it is known, '' if none.
        self._directory: str | None = None
        self._buffers: list[SharedRows] = []

    def row_buffer(
        self,
        nbytes: int,
        info: sampling_pb2.GetServerInfoResponse,
    ) -> Conversation[RowBuffer]:
        """A file of the directory, or ordinary memory if there is none.

        Raises:
            TokendrawError: the question whether there is one had no answer.
            OSError: there is, and it has no room.
        """
        with self._lock:
            directory = self._directory
        if directory is None:
            directory = yield from self._prove(info)
            with self._lock:
                self._directory = directory
        if not directory:
            return RowBuffer.ordinary(nbytes)
        buffer = SharedRows.create(directory, nbytes)
        with self._lock:
            self._buffers = [b for b in self._buffers if not b.closed]
            self._buffers.append(buffer)
        return buffer

    def _prove(
        self, info: sampling_pb2.GetServerInfoResponse
    ) -> Conversation[str]:
        """The directory, if the server answers for a file left there."""
        directory = self._shm_dir or info.shared_memory_dir
        if not info.shared_memory or not directory:
            return ''
        try:
            proof = SharedRows.create(directory, np.dtype(np.float32).itemsize)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise
            return ''
        logits = logits_pb2.LogitsTensor(
            vocab_size=1,
            row_count=1,
            data_type=logits_pb2.DATA_TYPE_F32,
            shared_memory=proof.reference(),
        )
        try:
            yield sampling_pb2.SampleTokensRequest(logits=logits)
        except TokendrawError as error:
            if not is_refusal(error):
                raise
            return ''
        finally:
            proof.close()
        return directory

    def forget(self) -> None:
        """The server took no file after all: from now on it gets bytes."""
        with self._lock:
            self._directory = ''

    def place(
        self,
        logits: npt.NDArray[Any],
        kind: logits_pb2.DataType,
        tensor: logits_pb2.LogitsTensor,
    ) -> Payload:
        """The rows as a file's, if they lie in one and are large, or bytes."""
        set_shape(tensor, logits, kind)
        stride = row_stride(logits)
        if stride is not None and logits.nbytes >= _LEAST_SHARED_BYTES:
            nbytes = len(logits) * stride * logits.itemsize
            with self._lock:
                buffers = self._buffers if self._directory else []
            for buffer in buffers:
                offset = buffer.offset_of(logits, nbytes)
                if offset is not None:
                    tensor.row_stride = stride
                    tensor.shared_memory.CopyFrom(buffer.reference(offset))
                    return 'shared_memory'
        tensor.inline = logits.tobytes()
        return 'inline'

    def close(self) -> None:
        """Removes all files."""
        with self._lock:
            buffers, self._buffers = self._buffers, []
        for buffer in buffers:
            buffer.close()


def is_refusal(error: TokendrawError) -> bool:
    """Whether the server cannot see or does not take files of the directory."""
    return error.code is grpc.StatusCode.UNIMPLEMENTED or (
        error.code is grpc.StatusCode.INVALID_ARGUMENT
        and 'logits.shared_memory' in error.details
    )
