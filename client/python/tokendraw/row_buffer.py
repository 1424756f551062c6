"""Memory that a worker writes logits to, step after step."""

import mmap
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

_Scalar = TypeVar('_Scalar', bound=np.generic)


class RowBuffer:
    """Ordinary memory; SharedRows is the kind that a server can read.

    Attributes:
        closed: whether close() was called.
    """

    def __init__(self, memory: mmap.mmap) -> None:
        self._memory: mmap.mmap | None = memory
        self._nbytes = len(memory)
        self._start = _address(np.frombuffer(memory, np.uint8))

    @classmethod
    def ordinary(cls, nbytes: int) -> 'RowBuffer':
        """Zeros. Raises ValueError unless `nbytes` >= 1."""
        check_nbytes(nbytes)
        return RowBuffer(mmap.mmap(-1, nbytes))

    @property
    def closed(self) -> bool:
        return self._memory is None

    def close(self) -> None:
        """Gives the memory back, once the last array over it is gone."""
        self._memory = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def array(
        self,
        dtype: type[_Scalar],
        shape: tuple[int, ...],
        offset: int = 0,
    ) -> npt.NDArray[_Scalar]:
        """The memory from byte `offset` on, to write to.

        float32, float16, or uint16 for the bits of bfloat16.

        Raises:
            ValueError: it does not lie in the buffer, or that is closed.
        """
        if self._memory is None:
            raise ValueError('the buffer is closed')
        size = int(np.prod(shape, dtype=np.int64))
        nbytes = size * np.dtype(dtype).itemsize
        if size < 1 or not 0 <= offset <= self._nbytes - nbytes:
            raise ValueError(
                f'an array of {nbytes} bytes (shape {shape}) at offset '
                f'{offset} does not lie in the buffer of {self._nbytes} bytes'
            )
        flat = np.frombuffer(self._memory, dtype, size, offset)
        return flat.reshape(shape)

    def offset_of(self, array: npt.NDArray[Any], nbytes: int) -> int | None:
        """Where `array` begins; None unless its `nbytes` lie in the buffer."""
        if self._memory is None:
            return None
        offset = _address(array) - self._start
        return offset if 0 <= offset <= self._nbytes - nbytes else None


def check_nbytes(nbytes: int) -> None:
    """Raises ValueError unless `nbytes` >= 1."""
    if nbytes < 1:
        raise ValueError(f'nbytes must be >= 1, got {nbytes}')


def _address(array: npt.NDArray[Any]) -> int:
    return int(array.__array_interface__['data'][0])
