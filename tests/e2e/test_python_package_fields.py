"""The Python package: nothing that proto/ has is out of reach."""

from collections.abc import Iterator
import contextlib
import itertools
import re
from typing import Any

import grpc
import numpy as np

from python_package import tokendraw
from fake_service import FakeService
from harness import Server
from protos import ROOT
from protos import sampling_pb2
from requests_of import Request
from requests_of import Response

# Read as text: the modules of the package are made of the same files, and
# would lack what their making left out.
_TEXT = '\n'.join(
    re.sub(r'//.*', '', file.read_text(encoding='utf-8'))
    for file in sorted((ROOT / 'proto/tokendraw/v1').glob('*.proto'))
)
_MESSAGES: dict[str, str] = dict(
    re.findall(r'^message (\w+) \{(\}|.*?^\})', _TEXT, re.DOTALL | re.MULTILINE)
)
_ENUMS = set(re.findall(r'^enum (\w+) \{', _TEXT, re.MULTILINE))
_FIELD = re.compile(r'(repeated )?(\w+) (\w+) = \d+;')

_ROW = np.zeros((1, 4), np.float32)
_LENIENT = sampling_pb2.VALIDATION_LENIENT


def _fields(of: str) -> Iterator[tuple[bool, str, str]]:
    """Whether it is repeated, its type and its name."""
    for repeated, kind, name in _FIELD.findall(_MESSAGES[of]):
        yield bool(repeated), kind, name


def _names(of: str) -> set[str]:
    return {name for _, _, name in _fields(of)}


def _plain(of: str, numbers: Iterator[int]) -> dict[str, Any]:
    """All fields of a message, as they are written in Python."""

    def value(kind: str) -> Any:
        if kind in _MESSAGES:
            return _plain(kind, numbers)
        number = next(numbers)
        values = {'bool': True, 'string': str(number), 'bytes': b'%d' % number}
        return 1 if kind in _ENUMS else values.get(kind, number)

    return {
        name: [value(kind), value(kind)] if repeated else value(kind)
        for repeated, kind, name in _fields(of)
    }


def _check(message: Any, plain: Any) -> None:
    """Whether a reader finds every field."""
    if isinstance(plain, dict):
        for name, value in plain.items():
            _check(getattr(message, name), value)
    elif isinstance(plain, list):
        for part, value in zip(message, plain, strict=True):
            _check(part, value)
    else:
        assert message == plain


class _Fake(FakeService):
    """Answers every call with every field; notes what it was asked.

    Attributes:
        asked: all requests.
        plain: what the replies are, by the names of their messages.
    """

    def __init__(self) -> None:
        numbers = itertools.count(1000)
        self.plain = {
            name: _plain(name, numbers)
            for name in _MESSAGES
            if name.endswith('Response')
        }
        # Fields of a refusal; see below.
        del self.plain['SampleTokensResponse']['error']
        self.asked: list[Any] = []
        reply = Response(**self.plain['SampleTokensResponse'])
        super().__init__(
            lambda request, _: self._note(request, reply),
            sampling_pb2.GetServerInfoResponse(
                **self.plain['GetServerInfoResponse']
            ),
        )

    def _note(self, request: Any, reply: Any) -> Any:
        self.asked.append(request)
        return reply

    # pylint: disable=invalid-name
    def ExplainRow(
        self,
        request: sampling_pb2.ExplainRowRequest,
        context: grpc.ServicerContext,
    ) -> sampling_pb2.ExplainRowResponse:
        plain = self.plain['ExplainRowResponse']
        return self._note(request, sampling_pb2.ExplainRowResponse(**plain))

    def ValidateParams(
        self,
        request: sampling_pb2.ValidateParamsRequest,
        context: grpc.ServicerContext,
    ) -> sampling_pb2.ValidateParamsResponse:
        plain = self.plain['ValidateParamsResponse']
        return self._note(request, sampling_pb2.ValidateParamsResponse(**plain))


@contextlib.contextmanager
def _client() -> Iterator[tuple[_Fake, tokendraw.Client]]:
    with _Fake() as service, tokendraw.Client(service.address) as client:
        yield service, client


def test_the_text_is_understood() -> None:
    """What is not seen in the text would not be missed."""
    for name in _MESSAGES:
        for file in ('params', 'sampling', 'logits'):
            known = getattr(tokendraw.v1, f'{file}_pb2').DESCRIPTOR
            if name in known.message_types_by_name:
                fields = known.message_types_by_name[name].fields
                assert _names(name) == {field.name for field in fields}, name
                break
        else:
            raise AssertionError(name)
    assert {'SamplingParams', 'RowDetail', 'ExplainRowResponse'} < set(
        _MESSAGES
    )


def test_every_call_has_a_method() -> None:
    methods = {
        'SampleTokens': tokendraw.Client.sample,
        'StreamSampleTokens': tokendraw.Client.stream,
        'ValidateParams': tokendraw.Client.validate,
        'ExplainRow': tokendraw.Client.explain,
        'GetServerInfo': tokendraw.Client.info,
    }
    assert set(methods) == set(re.findall(r'\brpc (\w+)', _TEXT))


def test_every_field_of_parameters_and_rows_arrives() -> None:
    numbers = itertools.count(1)
    params = _plain('SamplingParams', numbers)
    row = _plain('RowSpec', numbers)
    # Refers to one of the sets; here there is one.
    row['params_index'] = 0
    own = {'row': tokendraw.RowSpec(**row), 'data_type': None}
    with _client() as (service, client):
        for ask in (
            lambda given: client.sample(_ROW, given, [own['row']]),
            lambda given: client.stream().step(_ROW, given, [own['row']]),
            lambda given: client.explain(_ROW[0], given, **own),
        ):
            ask(tokendraw.SamplingParams(**params))
            asked = service.asked[-1]
            batch = isinstance(asked, Request)
            _check(asked.params[0] if batch else asked.params, params)
            _check(asked.rows[0] if batch else asked.row, row)
        client.validate(tokendraw.SamplingParams(**params))
        _check(service.asked[-1].params[0], params)


def test_every_field_of_a_request_has_an_argument() -> None:
    params = tokendraw.SamplingParams(top_k=1)
    with _client() as (service, client):
        client.stream().step(
            _ROW, params, seeds=[1], step=1, validation=_LENIENT
        )
        client.explain(
            _ROW[0], params, seed=1, sample_index=1, validation=_LENIENT
        )
        client.validate(params, vocab_size=4, validation=_LENIENT)
        for asked in service.asked:
            given = {field.name for field, _ in asked.ListFields()}
            assert given == _names(type(asked).__name__)
        assert len(service.asked) == 3


def test_every_field_of_a_reply_is_in_the_result() -> None:
    with _client() as (service, client):
        for call in (client.sample, client.stream().step):
            result = call(_ROW)
            _check(result.response, service.plain['SampleTokensResponse'])
        _check(client.explain(_ROW[0]), service.plain['ExplainRowResponse'])
        _check(client.info(), service.plain['GetServerInfoResponse'])
        (violations,) = service.plain['ValidateParamsResponse'].values()
        _check(client.validate([]), violations)
    # A refusal is a TokendrawError: its code, details and retry_after.
    assert _names('Error') == {'code', 'message', 'retry_after_ms'}


def test_messages_are_written_as_plain_python(server: Server) -> None:
    row = np.arange(8, dtype=np.float32)[np.newaxis]
    params = tokendraw.SamplingParams(
        profile='PROFILE_VLLM',
        chain=['FILTER_TOP_K', 'FILTER_TEMPERATURE'],
        top_k=1,
        logit_bias=[{'id': 2, 'bias': 100}],
        logprobs={'mode': 'LOGPROB_MODE_RAW', 'top_count': 3},
        bad_token_sequences=[{'token_ids': [7]}],
    )
    assert list(params.chain) == [
        tokendraw.Filter.FILTER_TOP_K,
        tokendraw.Filter.FILTER_TEMPERATURE,
    ]
    with tokendraw.Client(server.address) as client:
        result = client.sample(row, params)
    assert result.token_ids.tolist() == [2]
    (detail,) = result.response.details
    top = [token.token_id for token in detail.top_logprobs]
    assert top == [7, 6, 5]
