"""The Python package's explain(), blocking and asyncio's."""

import asyncio
from typing import Any

import grpc
import numpy as np
import pytest

from python_package import tokendraw
from harness import Server
from protos import sampling_pb2
from requests_of import Params
from requests_of import RowSpec
from requests_of import logits_of
from requests_of import real_rows
from requests_of import to_bf16

# pylint: disable=wrong-import-position,ungrouped-imports
import tokendraw.aio  # noqa: E402

_PARAMS = Params(
    typical_p=0.9,
    xtc_probability=0.9,
    xtc_threshold=0.05,
    temperature=0.8,
    top_k=40,
)
_ROW = logits_of([0.45, 0.275, 0.275])[0]
_Explained = sampling_pb2.ExplainRowResponse


def _explain(server: Server, *args: Any, **kwargs: Any) -> _Explained:
    """What both clients say: the same."""

    async def awaited() -> _Explained:
        async with tokendraw.aio.Client(server.address) as client:
            return await client.explain(*args, **kwargs)

    with tokendraw.Client(server.address) as client:
        explained = client.explain(*args, **kwargs)
    assert asyncio.run(awaited()) == explained
    return explained


def test_it_explains_what_sample_draws(server: Server) -> None:
    rows = real_rows()
    reported = Params(return_kept=True)
    reported.MergeFrom(_PARAMS)
    specs = [
        RowSpec(
            # The batch's other set; explain() is given this row's own.
            params_index=1,
            seed=row,
            position=3 * row,
            sample_count=2,
            output_ids=[1, 2],
        )
        for row in range(len(rows))
    ]
    with tokendraw.Client(server.address) as client:
        drawn = client.sample(rows, [Params(), reported], specs).response
    coins = set()
    for row in range(0, 24, 4):
        for draw in range(2):
            detail = drawn.details[2 * row + draw]
            explained = _explain(
                server, rows[row], _PARAMS, specs[row], sample_index=draw
            )
            assert specs[row].params_index == 1
            assert explained.token_id == detail.token_id
            assert explained.seed == row
            assert explained.stages[-1].after == detail.kept_count
            assert explained.xtc_coin.applied == detail.xtc_applied
            coins.add(explained.xtc_coin.u)
            kept = set(detail.kept_ids)
            for token in explained.tokens:
                assert token.HasField('removed_by') != (token.token_id in kept)
    assert len(coins) == 12


def test_seed_and_position_are_those_of_row(server: Server) -> None:
    row = real_rows()[0]
    wanted = _explain(server, row, _PARAMS, RowSpec(seed=0, position=7))
    assert _explain(server, row, _PARAMS, seed=0, position=7) == wanted
    assert _explain(server, row, _PARAMS, seed=0) != wanted
    with tokendraw.Client(server.address) as client:
        drawn = client.sample(row[np.newaxis], _PARAMS, positions=[7]).response
        again = client.explain(
            row, _PARAMS, seed=drawn.seeds[0], position=7
        ).token_id
        assert again == drawn.token_ids[0]
        # The server draws one, and another one.
        assert client.explain(row).seed != client.explain(row).seed


def test_the_stages_and_the_fate_of_tokens_are_told(server: Server) -> None:
    explained = _explain(server, _ROW, Params(typical_p=0.3), seed=1)
    edits, typical_p = explained.stages
    assert tokendraw.Filter.Name(edits.filter) == 'FILTER_UNSPECIFIED'
    assert tokendraw.Filter.Name(typical_p.filter) == 'FILTER_TYPICAL_P'
    assert (typical_p.before, typical_p.after) == (3, 2)
    assert round(typical_p.mass_removed, 4) == 0.45
    assert [token.token_id for token in explained.tokens] == [0, 1, 2]
    assert explained.tokens[0].removed_by == 1
    assert explained.semantics_version == '1'


@pytest.mark.parametrize('kind', ['f32', 'f16', 'bf16', 'strided'])
def test_any_row_is_explained(server: Server, kind: str) -> None:
    row = real_rows()[3]
    given = {
        'f32': row,
        'f16': row.astype(np.float16),
        'bf16': to_bf16(row),
        'strided': np.repeat(row, 2)[::2],
    }[kind]
    data_type = 'bf16' if kind == 'bf16' else None
    told = _explain(server, given, _PARAMS, seed=5, data_type=data_type)
    assert told == _explain(server, row, _PARAMS, seed=5)


def test_the_number_of_tokens_is_the_callers(server: Server) -> None:
    row = real_rows()[3]
    counts = [
        len(_explain(server, row, seed=5, **top).tokens)
        for top in ({'top_tokens': 1}, {}, {'top_tokens': 200})
    ]
    assert 1 <= counts[0] < 20 <= counts[1] < 200 <= counts[2]


def test_a_row_without_a_token_is_no_error(server: Server) -> None:
    explained = _explain(server, np.array([1, np.nan], np.float32), seed=1)
    assert explained.token_id == -1
    error = explained.row_error
    assert error.code == sampling_pb2.ROW_ERROR_CODE_NOT_FINITE
    assert error.token_id == 1


def test_what_the_server_refuses_is_an_error(server: Server) -> None:
    def fault(*args: Any, **kwargs: Any) -> str:
        with pytest.raises(tokendraw.TokendrawError) as caught:
            _explain(server, _ROW, *args, **kwargs)
        assert caught.value.code is grpc.StatusCode.INVALID_ARGUMENT
        return caught.value.details

    bad = Params(top_p=0)
    assert fault(bad) == 'params.top_p: top_p must be in (0.0, 1.0]'
    assert 'sample_index must be in' in fault(sample_index=-1)
    assert 'top_tokens must be in' in fault(top_tokens=1001)
    lenient = sampling_pb2.VALIDATION_LENIENT
    assert _explain(server, _ROW, bad, seed=1, validation=lenient).stages


@pytest.mark.parametrize(
    ('arguments', 'error', 'text'),
    [
        ({'logits': [1.0]}, TypeError, 'numpy array, got list'),
        ({'logits': _ROW[np.newaxis]}, ValueError, r'\[vocab\], .* \(1, 3\)'),
        ({'logits': _ROW[:0]}, ValueError, r'\[vocab\], .* \(0,\)'),
        ({'data_type': 'bf16'}, TypeError, "float32 with data_type 'bf16'"),
        ({'row': RowSpec(), 'seed': 0}, ValueError, 'belong into row'),
        ({'row': RowSpec(), 'position': 0}, ValueError, 'belong into row'),
    ],
)
def test_what_makes_no_sense_is_not_sent(
    server: Server,
    arguments: dict[str, Any],
    error: type[Exception],
    text: str,
) -> None:
    with pytest.raises(error, match=text):
        _explain(server, **{'logits': _ROW, **arguments})
