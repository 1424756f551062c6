"""What this version does not know it refuses, at any depth, by its path."""

import grpc
import pytest

from client import Client
from client import fault_of
from harness import SERVICE
from harness import Server
from protos import sampling_pb2
from requests_of import Params
from requests_of import Request
from requests_of import Response
from requests_of import RowSpec
from requests_of import request

ValidateParamsResponse = sampling_pb2.ValidateParamsResponse

# Field 2000 as a varint with value 1.
_UNKNOWN = bytes.fromhex('807d01')


def _request() -> Request:
    """A request with a message of each kind in it."""
    asked = request([[1, 3, 2]] * 2, Params(temperature=0))
    asked.params.add(temperature=0).logprobs.top_count = 1
    asked.params[1].logit_bias.add(id=0, bias=1)
    asked.rows.extend([RowSpec(), RowSpec(params_index=1)])
    asked.rows[1].token_counts.add(token_id=1, count=1)
    return asked


def _with_unknown(path: str) -> bytes:
    """The request, with an unknown field in the message at `path`."""
    asked = _request()
    message = asked
    for name in path.split('.') if path else []:
        field, _, index = name.rstrip(']').partition('[')
        message = getattr(message, field)
        message = message[int(index)] if index else message
    message.MergeFromString(_UNKNOWN)
    return asked.SerializeToString()


@pytest.mark.parametrize(
    ('path', 'kind'),
    [
        ('', 'SampleTokensRequest'),
        ('logits', 'LogitsTensor'),
        ('params[1]', 'SamplingParams'),
        ('params[1].logprobs', 'Logprobs'),
        ('params[1].logit_bias[0]', 'LogitBias'),
        ('rows[1]', 'RowSpec'),
        ('rows[1].token_counts[0]', 'TokenCount'),
    ],
)
def test_an_unknown_field_is_refused_by_its_path(
    server: Server, path: str, kind: str
) -> None:
    text = (
        f'{path}{"." if path else ""}2000: unknown field of {kind}; '
        'this server is older than the client'
    )
    with Client(server.address) as client:
        unary = client.channel.unary_unary(f'/{SERVICE}/SampleTokens')
        fault = fault_of(lambda: unary(_with_unknown(path)))
        assert fault == (grpc.StatusCode.INVALID_ARGUMENT, text)

        stream = client.channel.stream_stream(f'/{SERVICE}/StreamSampleTokens')
        messages = [_with_unknown(path), _request().SerializeToString()]
        bad, good = map(Response.FromString, stream(iter(messages)))
        assert (bad.error.code, bad.error.message) == (3, text)
        # The same request without it is taken.
        assert list(good.token_ids) == [1, 1]


def test_bytes_that_are_no_message_do_not_harm_the_server(
    server: Server,
) -> None:
    with Client(server.address) as client:
        for rpc in ('SampleTokens', 'ValidateParams', 'GetServerInfo'):
            unary = client.channel.unary_unary(f'/{SERVICE}/{rpc}')
            fault_of(lambda unary=unary: unary(b'\xff' * 100))
        assert list(client.sample(_request()).token_ids) == [1, 1]


def test_validate_params_and_explain_row_refuse_it_too(server: Server) -> None:
    with Client(server.address) as client:
        validate = client.channel.unary_unary(
            f'/{SERVICE}/ValidateParams',
            response_deserializer=ValidateParamsResponse.FromString,
        )
        (violation,) = validate(_UNKNOWN).violations
        assert violation.field == '2000'
        assert violation.message.startswith('unknown field of ValidateParams')

        explain = client.channel.unary_unary(f'/{SERVICE}/ExplainRow')
        code, text = fault_of(lambda: explain(_UNKNOWN))
        assert code == grpc.StatusCode.INVALID_ARGUMENT
        assert text.startswith('2000: unknown field of ExplainRowRequest')
