"""What a batch was answered."""

import dataclasses
from typing import Literal

import numpy as np
import numpy.typing as npt

from tokendraw.v1 import sampling_pb2

Payload = Literal['inline', 'shared_memory', 'candidates']


@dataclasses.dataclass(frozen=True)
class SampleResult:
    """The reply to one batch.

    Attributes:
        response: the reply as it came, or, if rows were sent again whole, as
            it would have come with those.
        payload: how the logits went to the server.
        full_rows: of candidates: rows that were sent again whole, ascending.
    """

    response: sampling_pb2.SampleTokensResponse
    payload: Payload
    full_rows: tuple[int, ...] = ()

    @property
    def token_ids(self) -> npt.NDArray[np.int32]:
        """sample_count for each row, row-major; -1 where a row has an error."""
        return np.array(self.response.token_ids, np.int32)
