"""The Python package's reducer, against the contract written out."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from python_package import tokendraw
from protos import logits_pb2
from requests_of import real_rows
from requests_of import to_bf16

_INF = float('inf')
_SUMMARY = (
    'log_sum_exp',
    'mean_logit',
    'max',
    'logit_mean',
    'logit_stddev',
    'sum_squared_probability',
)


def _brute_force(row: list[float], count: int) -> dict[str, Any]:
    """The contract of CandidateRow, word for word."""
    first = sorted(range(len(row)), key=lambda i: (-row[i], i))[:count]
    x = [value for value in row if value != -_INF]
    m = max(x)
    z = math.fsum(math.exp(v - m) for v in x)
    mean = math.fsum(x) / len(x)
    return {
        'ids': sorted(first),
        'logits': [row[i] for i in sorted(first)],
        'log_sum_exp': m + math.log(z),
        'mean_logit': m + math.fsum(math.exp(v - m) * (v - m) for v in x) / z,
        'max': m,
        'logit_mean': mean,
        'logit_stddev': math.sqrt(
            math.fsum((v - mean) ** 2 for v in x) / len(x)
        ),
        'sum_squared_probability': math.fsum(math.exp(2 * (v - m)) for v in x)
        / z**2,
    }


def _check(reduced: logits_pb2.CandidateRow, row: list[float], n: int) -> None:
    wanted = _brute_force(row, n)
    assert list(reduced.ids) == wanted['ids']
    assert list(reduced.logits) == wanted['logits']
    assert reduced.max == wanted['max']
    for name in _SUMMARY:
        assert reduced.HasField(name)
        assert math.isclose(
            getattr(reduced, name), wanted[name], rel_tol=1e-12, abs_tol=1e-12
        ), name


@pytest.mark.parametrize('kind', ['f32', 'f16', 'bf16'])
def test_rows_are_reduced_as_the_contract_says(kind: str) -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(0, 4, (40, 100)).astype(np.float32)
    values[1::4] = np.round(values[1::4])  # ties
    values[2::4, ::3] = -np.inf
    values[3::4] += 50_000  # the sums cancel
    values[0] = 7  # all equal
    values[4, :-2] = -np.inf  # fewer tokens than candidates
    if kind == 'bf16':
        bits = values.view(np.uint32) & 0xFFFF_0000
        values = bits.view(np.float32)
        logits: npt.NDArray[Any] = to_bf16(values)
    else:
        logits = values.astype({'f32': 'f4', 'f16': 'f2'}[kind])
        values = logits.astype(np.float32)
    data_type = 'bf16' if kind == 'bf16' else None
    for count in (1, 2, 3, 10, 99, 100, 1000):
        reduced = tokendraw.reduce_rows(logits, count, data_type).rows
        assert len(reduced) == len(values)
        for got, row in zip(reduced, values.tolist(), strict=True):
            _check(got, row, count)


def test_a_real_row_is_reduced_as_the_contract_says() -> None:
    values = real_rows()[:2, ::-1]
    for count in (1, 64, 4096):
        reduced = tokendraw.reduce_rows(values, count).rows
        for got, row in zip(reduced, values.tolist(), strict=True):
            _check(got, row, count)


@pytest.mark.parametrize('bad', [np.nan, np.inf])
def test_a_row_that_is_not_finite_has_its_first_such_token(bad: float) -> None:
    row = np.arange(100, dtype=np.float32)[np.newaxis]
    row[0, [60, 7, 33]] = bad
    row[0, 90] = np.inf
    for count in (1, 3, 100):
        (reduced,) = tokendraw.reduce_rows(row, count).rows
        assert len(reduced.ids) == count
        bad_logits = ~(np.array(reduced.logits) < _INF)
        assert reduced.ids[bad_logits.argmax()] == 7
        assert not any(reduced.HasField(name) for name in _SUMMARY)


def test_a_row_without_a_legal_token_has_no_summary() -> None:
    row = np.full((1, 9), -np.inf, np.float32)
    (reduced,) = tokendraw.reduce_rows(row, 2).rows
    assert list(reduced.ids) == [0, 1]
    assert list(reduced.logits) == [-_INF, -_INF]
    assert not any(reduced.HasField(name) for name in _SUMMARY)
