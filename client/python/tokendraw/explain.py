"""What Client.explain asks."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tokendraw.tensor import check_logits, set_shape
from tokendraw.v1 import params_pb2, sampling_pb2


def explain_request(
    logits: npt.NDArray[Any],
    params: params_pb2.SamplingParams | None,
    row: sampling_pb2.RowSpec | None,
    *,
    seed: int | None,
    position: int | None,
    sample_index: int,
    top_tokens: int,
    data_type: str | None,
    validation: sampling_pb2.Validation,
) -> sampling_pb2.ExplainRowRequest:
    """The message; arguments and errors are those of Client.explain."""
    kind = check_logits(logits, data_type, ndim=1)
    if row is not None and (seed is not None or position is not None):
        raise ValueError('seed and position belong into row, if given')
    request = sampling_pb2.ExplainRowRequest(
        params=params,
        row=row or sampling_pb2.RowSpec(seed=seed, position=position),
        validation=validation,
        sample_index=sample_index,
        top_tokens=top_tokens,
    )
    request.row.ClearField('params_index')
    set_shape(request.logits, logits[np.newaxis], kind)
    request.logits.inline = logits.tobytes()
    return request
