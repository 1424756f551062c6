"""The Python package: what is refused, by the server or before, and how."""

from importlib import metadata
from typing import Any

import grpc
import numpy as np
import pytest

from python_package import SITE
from python_package import tokendraw
import client as generated
from harness import Server
from requests_of import Params
from requests_of import Request
from requests_of import RowSpec
from requests_of import tensor


def test_info_and_validate_say_what_the_server_says(server: Server) -> None:
    with tokendraw.Client(server.address) as client:
        info = client.info()
        assert info.max_message_bytes == 64 << 20
        # The tree is one release.
        assert info.version == metadata.version('tokendraw')
        bad = [Params(top_p=0.5), Params(top_p=0), Params(dry_breaker_ids=[9])]
        found = client.validate(bad, vocab_size=9)
        assert [v.field for v in found] == [
            'params[1].top_p',
            'params[2].dry_breaker_ids[0]',
        ]
        assert found[0].message == 'top_p must be in (0.0, 1.0]'
        assert len(client.validate(bad[2])) == 0
        lenient = tokendraw.v1.sampling_pb2.VALIDATION_LENIENT
        assert not client.validate(bad[1], validation=lenient)
        row = np.zeros((1, 4), np.float32)
        assert client.sample(row, bad[1], validation=lenient)


def test_an_error_has_the_code_and_the_text_of_the_server(
    server: Server,
) -> None:
    asked = Request(logits=tensor(np.zeros((1, 4), np.float32)))
    asked.params.add(top_p=0, min_p=2)
    with generated.Client(server.address) as raw:
        code, text = generated.fault_of(lambda: raw.sample(asked))
    assert 'params[0].top_p: top_p must be in (0.0, 1.0]' in text
    with (
        tokendraw.Client(server.address) as client,
        client.stream() as stream,
    ):
        for call in (client.sample, stream.step):
            with pytest.raises(tokendraw.TokendrawError) as caught:
                call(np.zeros((1, 4), np.float32), asked.params[0])
            assert caught.value.code is code is grpc.StatusCode.INVALID_ARGUMENT
            assert caught.value.details == text
            assert str(caught.value) == f'INVALID_ARGUMENT: {text}'
            assert caught.value.retry_after is None


_ROW = np.zeros((2, 8), np.float32)


@pytest.mark.parametrize(
    ('arguments', 'error', 'text'),
    [
        ({'logits': [[1.0]]}, TypeError, 'numpy array, got list'),
        ({'logits': _ROW[0]}, ValueError, r'\[rows, vocab\].* \(8,\)'),
        ({'logits': _ROW[:0]}, ValueError, r'\[rows, vocab\].* \(0, 8\)'),
        ({'logits': _ROW[:, :0]}, ValueError, r'\[rows, vocab\].* \(2, 0\)'),
        ({'logits': _ROW.astype('f8')}, TypeError, 'got float64 with .* None'),
        ({'logits': _ROW.astype('>f4')}, TypeError, 'got >f4 with'),
        ({'logits': _ROW.astype('u2')}, TypeError, "'bf16'; got uint16 with"),
        ({'data_type': 'bf16'}, TypeError, "float32 with data_type 'bf16'"),
        ({'data_type': 'f32'}, TypeError, "float32 with data_type 'f32'"),
        ({'rows': [RowSpec()]}, ValueError, 'rows .* the 2 rows .*, got 1'),
        ({'seeds': [1, 2, 3]}, ValueError, 'seeds .* the 2 rows .*, got 3'),
        ({'positions': []}, ValueError, 'positions .* the 2 rows .*, got 0'),
        (
            {'rows': [RowSpec(), RowSpec()], 'seeds': [1, 2]},
            ValueError,
            'seeds and positions belong into rows',
        ),
        ({'candidates': 0}, ValueError, 'candidates must be >= 1, got 0'),
    ],
)
def test_what_makes_no_sense_is_not_sent(
    server: Server,
    arguments: dict[str, Any],
    error: type[Exception],
    text: str,
) -> None:
    with (
        tokendraw.Client(server.address) as client,
        client.stream() as stream,
    ):
        for call in (client.sample, stream.step):
            with pytest.raises(error, match=text):
                call(**{'logits': _ROW, **arguments})


def test_deadline_and_buffer_have_a_range() -> None:
    for seconds in (0, -1, float('nan'), 86_401):
        with pytest.raises(ValueError, match='deadline must be in'):
            tokendraw.Client('unix:/none', deadline=seconds)
    with pytest.raises(ValueError, match='nbytes must be >= 1, got 0'):
        tokendraw.RowBuffer.ordinary(0)
    buffer = tokendraw.RowBuffer.ordinary(64)
    assert buffer.array(np.float32, (2, 7), offset=8).shape == (2, 7)
    for shape, offset in (((2, 7), 9), ((2, 7), -1), ((3, 7), 0), ((0,), 0)):
        with pytest.raises(ValueError, match='does not lie in the buffer'):
            buffer.array(np.float32, shape, offset)


def test_the_package_is_typed_and_says_what_it_needs() -> None:
    assert (SITE / 'tokendraw/py.typed').exists()
    assert (SITE / 'tokendraw/v1/sampling_pb2.pyi').exists()
    needs = metadata.requires('tokendraw')
    names = {need.partition('>')[0].partition('<')[0] for need in needs}
    assert names == {'numpy', 'grpcio', 'protobuf'}
