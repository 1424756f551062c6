"""Steps 1-3 of the semantics page: bias, mask and penalties, in float32."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from protos import params_pb2
from requests_of import FloatArray
from requests_of import Params
from requests_of import RowSpec

_F32 = np.float32
_LARGEST = float(np.finfo(_F32).max)


def _last(ids: Sequence[int], n: int) -> Sequence[int]:
    """The last `n`; -1 is all."""
    return ids if n < 0 else ids[max(len(ids) - n, 0) :]


def _counts(params: Params, spec: RowSpec) -> tuple[Counter, Counter]:
    """How often each token is in the window: of the prompt, of the output."""
    n = params.penalty_last_n if params.HasField('penalty_last_n') else -1
    if spec.token_counts:
        if n == 0:
            return Counter(), Counter()
        return (
            Counter({c.token_id: c.prompt_count for c in spec.token_counts}),
            Counter({c.token_id: c.count for c in spec.token_counts}),
        )
    tagged = [(token, False) for token in spec.prompt_ids]
    tagged += [(token, True) for token in spec.output_ids]
    window = _last(tagged, n)
    return (
        Counter(token for token, is_output in window if not is_output),
        Counter(token for token, is_output in window if is_output),
    )


def _repeat_length(
    history: Sequence[int], place: int, breakers: set[int]
) -> int:
    """Tokens before `place` that equal the end of the history."""
    n = 0
    while n < place:
        token = history[place - 1 - n]
        if token in breakers or token != history[len(history) - 1 - n]:
            break
        n += 1
    return n


def _dry(params: Params, spec: RowSpec, x: FloatArray) -> None:
    if params.dry_multiplier == 0:
        return
    base = params.dry_base if params.HasField('dry_base') else 1.75
    allowed = (
        params.dry_allowed_length
        if params.HasField('dry_allowed_length')
        else 2
    )
    n = (
        params.dry_penalty_last_n
        if params.HasField('dry_penalty_last_n')
        else -1
    )
    history = _last([*spec.prompt_ids, *spec.output_ids], n)
    breakers = set(params.dry_breaker_ids)
    longest: dict[int, int] = {}
    for place, token in enumerate(history):
        if place > 0 and token not in breakers:
            length = _repeat_length(history, place, breakers)
            longest[token] = max(longest.get(token, 0), length)
    for token, length in longest.items():
        if length < allowed:
            continue
        exponent = length - allowed
        while params.dry_multiplier * base**exponent > _LARGEST:
            exponent -= 1
        x[token] -= _F32(params.dry_multiplier * base**exponent)


def edit(logits: FloatArray, params: Params, spec: RowSpec) -> FloatArray:
    """A row of -inf for what is masked, and the edited logit elsewhere."""
    x = logits.astype(_F32)
    for item in params.logit_bias:
        x[item.id] += _F32(item.bias)
    if spec.HasField('allowed_mask'):
        bits = np.frombuffer(spec.allowed_mask, np.uint8)
        allowed = np.unpackbits(bits, bitorder='little')[: len(x)]
        x[allowed == 0] = -np.inf

    prompt, output = _counts(params, spec)
    if params.HasField('repetition_penalty'):
        r = _F32(params.repetition_penalty)
        for token in {token for token, n in (prompt + output).items() if n > 0}:
            x[token] = x[token] / r if x[token] > 0 else x[token] * r
    _dry(params, spec, x)
    counted = output
    if params.frequency_scope != params_pb2.FREQUENCY_SCOPE_OUTPUT:
        counted = prompt + output
    f, q = _F32(params.frequency_penalty), _F32(params.presence_penalty)
    for token, n in counted.items():
        if n > 0 and x[token] > -np.inf:
            x[token] -= f * _F32(n) + q
    return x
