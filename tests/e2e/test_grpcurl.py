"""What a person with grpcurl sees: names by reflection, JSON in and out."""

import json
import math
from typing import Any

import pytest

from grpcurl import Json
from grpcurl import call
from grpcurl import fault
from grpcurl import run
from harness import SERVICE
from harness import Server

_HEALTH = 'grpc.health.v1.Health/Check'

_INVALID_ARGUMENT = 3
_NOT_FOUND = 5
_UNIMPLEMENTED = 12

_OUT_OF_RANGE = [
    ('temperature', -0.1, 'temperature must be >= 0.0'),
    ('top_k', -1, 'top_k must be >= 0'),
    ('top_p', 0, 'top_p must be in (0.0, 1.0]'),
    ('min_p', 1.01, 'min_p must be in [0.0, 1.0]'),
    ('typical_p', 0, 'typical_p must be in (0.0, 1.0]'),
    ('typical_p', 1.01, 'typical_p must be in (0.0, 1.0]'),
    ('typical_p', 'NaN', 'typical_p must be in (0.0, 1.0]'),
    ('top_n_sigma', -0.1, 'top_n_sigma must be >= 0.0'),
    ('xtc_probability', 1.01, 'xtc_probability must be in [0.0, 1.0]'),
    ('xtc_threshold', 0, 'xtc_threshold must be in (0.0, 1.0]'),
    ('repetition_penalty', 0, 'repetition_penalty must be finite and > 0.0'),
    ('frequency_penalty', 'Infinity', 'frequency_penalty must be finite'),
    ('presence_penalty', 'NaN', 'presence_penalty must be finite'),
    ('penalty_last_n', -2, 'penalty_last_n must be >= -1'),
    ('min_keep', -1, 'min_keep must be >= 0'),
    ('dry_multiplier', -0.1, 'dry_multiplier must be finite and >= 0.0'),
    ('dry_base', 0.99, 'dry_base must be finite and >= 1.0'),
    ('dry_allowed_length', 0, 'dry_allowed_length must be >= 1'),
    ('dry_penalty_last_n', -2, 'dry_penalty_last_n must be >= -1'),
    ('dynatemp_range', -0.1, 'dynatemp_range must be finite and >= 0.0'),
    ('dynatemp_exponent', 0, 'dynatemp_exponent must be finite and > 0.0'),
    ('smoothing_factor', -1, 'smoothing_factor must be finite and >= 0.0'),
    ('smoothing_curve', 3.01, 'smoothing_curve must be in [1.0, 3.0]'),
    ('top_a', 1.01, 'top_a must be in [0.0, 1.0]'),
    ('tfs_z', -0.01, 'tfs_z must be in [0.0, 1.0]'),
    ('epsilon_cutoff', 1, 'epsilon_cutoff must be in [0.0, 1.0)'),
    ('eta_cutoff', 1, 'eta_cutoff must be in [0.0, 1.0)'),
    ('top_h', 1.01, 'top_h must be in [0.0, 1.0]'),
    ('mirostat', 3, 'mirostat must be in [0, 2]'),
    ('mirostat_tau', -1, 'mirostat_tau must be finite and >= 0.0'),
    ('mirostat_eta', 'NaN', 'mirostat_eta must be finite and >= 0.0'),
    ('adaptive_target', -0.5, 'adaptive_target must be -1.0 or in [0.0, 1.0]'),
    ('adaptive_decay', 1, 'adaptive_decay must be in [0.0, 0.99]'),
    (
        'repetition_penalty_slope',
        -1,
        'repetition_penalty_slope must be finite and >= 0.0',
    ),
    ('no_repeat_ngram_size', -1, 'no_repeat_ngram_size must be >= 0'),
    ('min_tokens', -1, 'min_tokens must be >= 0'),
]


def _batch(logits: list[Any], **params: Any) -> Json:
    return {
        'logits': {
            'vocab_size': len(logits),
            'row_count': 1,
            'values': {'values': logits},
        },
        'params': [params],
        'rows': [{'seed': '7'}],
    }


_README_ROW = [math.log(p) for p in (0.45, 0.275, 0.275)]


@pytest.mark.parametrize('listener', [0, 1], ids=['socket', 'port'])
def test_lists_and_describes_itself(server: Server, listener: int) -> None:
    address = server.addresses[listener]
    code, services = run(address, 'list')
    assert code == 0
    assert set(services.split()) >= {SERVICE, 'grpc.health.v1.Health'}
    code, service = run(address, 'describe', SERVICE)
    assert code == 0
    for rpc in (
        'SampleTokens ( .',
        'StreamSampleTokens ( stream .',
        'ValidateParams ( .',
        'ExplainRow ( .',
        'GetServerInfo ( .',
    ):
        assert f'rpc {rpc}' in service
    code, params = run(address, 'describe', 'tokendraw.v1.SamplingParams')
    assert code == 0
    for field, _, _ in _OUT_OF_RANGE:
        assert f' {field} = ' in params


@pytest.mark.parametrize('listener', [0, 1], ids=['socket', 'port'])
def test_health(server: Server, listener: int) -> None:
    address = server.addresses[listener]
    for service in ('', SERVICE):
        data = json.dumps({'service': service})
        code, text = run(address, _HEALTH, data=data)
        assert (code, json.loads(text)) == (0, {'status': 'SERVING'})
    code, text = run(address, _HEALTH, data='{"service": "tokendraw"}')
    assert code == 64 + _NOT_FOUND, text  # grpcurl's way to tell it


@pytest.mark.parametrize('listener', [0, 1], ids=['socket', 'port'])
def test_the_request_of_the_readme(server: Server, listener: int) -> None:
    reply = call(
        server.addresses[listener],
        'SampleTokens',
        _batch(_README_ROW, typical_p=0.3, return_kept=True),
    )
    assert reply['details'][0]['kept_ids'] == [1, 2]
    assert reply['details'][0]['kept_count'] == 2
    assert reply['details'][0]['kept_mass'] == pytest.approx(0.55, abs=1e-6)
    assert reply['token_ids'][0] in (1, 2)
    assert reply['seeds'] == ['7']
    assert reply['semantics_version'] == '1'


def test_get_server_info(server: Server) -> None:
    info = call(server.address, 'GetServerInfo', {})
    assert info['semantics_version'] == '1'
    assert info['max_message_bytes'] == str(64 << 20)
    assert info['max_in_flight'] == 2


def test_validate_params_lists_all_violations(server: Server) -> None:
    sets = [{'top_k': 5}, {'typical_p': 0, 'min_p': 2}]
    reply = call(server.address, 'ValidateParams', {'params': sets})
    # In the order of the fields' numbers.
    assert reply['violations'] == [
        {
            'field': 'params[1].min_p',
            'message': 'min_p must be in [0.0, 1.0]',
        },
        {
            'field': 'params[1].typical_p',
            'message': 'typical_p must be in (0.0, 1.0]',
        },
    ]


def test_a_masked_token_has_no_logprob(server: Server) -> None:
    asked = {'logprobs': {'top_count': 2, 'token_ids': [1, 0]}}
    reply = call(
        server.address, 'SampleTokens', _batch([0, '-Infinity'], **asked)
    )
    detail = reply['details'][0]
    # JSON leaves out zeros: this is token 0 with log-probability 0.
    assert detail['top_logprobs'] == [{}]
    assert detail['requested_logprobs'] == [{}]
    assert 'NaN' not in json.dumps(reply)


def test_a_bad_message_of_a_stream_leaves_the_stream_alive(
    server: Server,
) -> None:
    messages = [
        {'step': '1', **_batch([0, '-Infinity'])},
        {'step': '2', **_batch([0, 0], typical_p=1.5)},
        {'step': '3', **_batch(['-Infinity', 0])},
    ]
    code, text = run(
        server.address,
        f'{SERVICE}/StreamSampleTokens',
        data='\n'.join(map(json.dumps, messages)),
    )
    assert code == 0, text
    replies = json.loads('[' + text.replace('\n}\n{', '\n},\n{') + ']')
    assert [reply['step'] for reply in replies] == ['1', '2', '3']
    assert [reply.get('token_ids') for reply in replies] == [[0], None, [1]]
    assert replies[1]['error'] == {
        'code': _INVALID_ARGUMENT,
        'message': 'params[0].typical_p: typical_p must be in (0.0, 1.0]',
    }


@pytest.mark.parametrize(('field', 'value', 'text'), _OUT_OF_RANGE)
def test_every_rpc_refuses_what_is_out_of_range(
    server: Server, field: str, value: Any, text: str
) -> None:
    batch = _batch([0, 0], **{field: value})
    refused = (_INVALID_ARGUMENT, f'params[0].{field}: {text}')
    assert fault(server.address, 'SampleTokens', batch) == refused

    reply = call(server.address, 'StreamSampleTokens', batch)
    assert (reply['error']['code'], reply['error']['message']) == refused

    reply = call(server.address, 'ValidateParams', {'params': batch['params']})
    assert reply['violations'] == [
        {'field': f'params[0].{field}', 'message': text}
    ]

    row = {'logits': batch['logits'], 'params': batch['params'][0]}
    refused = (_INVALID_ARGUMENT, f'params.{field}: {text}')
    assert fault(server.address, 'ExplainRow', row) == refused


@pytest.mark.parametrize('typical_p', [0, 1.5, 'NaN'])
def test_lenient_turns_off_what_is_out_of_range(
    server: Server, typical_p: Any
) -> None:
    batch = _batch(_README_ROW, typical_p=typical_p, return_kept=True)
    batch['validation'] = 'VALIDATION_LENIENT'
    for rpc in ('SampleTokens', 'StreamSampleTokens'):
        assert call(server.address, rpc, batch)['details'][0]['kept_ids'] == [
            0,
            1,
            2,
        ]
    asked = {'params': batch['params'], 'validation': 'VALIDATION_LENIENT'}
    assert call(server.address, 'ValidateParams', asked) == {}


def test_a_payload_that_the_server_does_not_take_says_so(
    server: Server,
) -> None:
    logits = {'vocab_size': 2, 'row_count': 1, 'shared_memory': {'name': 'x'}}
    code, text = fault(server.address, 'SampleTokens', {'logits': logits})
    assert code == _UNIMPLEMENTED
    assert text.startswith('logits.shared_memory: ')


def test_candidates(server: Server) -> None:
    """The row of ln [.5, .3, .1, .1], of which the two largest are sent."""
    candidates = {
        'ids': [1, 3],
        'logits': [-0.6931472, -1.2039728],
        'log_sum_exp': 0,
    }
    batch = {
        'logits': {
            'vocab_size': 4,
            'row_count': 1,
            'candidates': {'rows': [candidates]},
        },
        'params': [{'top_p': 0.4, 'return_kept': True}],
    }
    reply = call(server.address, 'SampleTokens', batch)
    assert reply['token_ids'] == [1]
    assert reply['details'][0]['kept_ids'] == [1]
    batch['params'][0]['top_p'] = 0.6
    reply = call(server.address, 'SampleTokens', batch)
    assert reply['token_ids'] == [-1]
    assert reply['row_errors'][0]['code'] == 'ROW_ERROR_CODE_NEED_FULL_ROW'
    candidates['log_sum_exp'] = -1
    reply = call(server.address, 'SampleTokens', batch)
    error = reply['row_errors'][0]
    assert error['code'] == 'ROW_ERROR_CODE_BAD_SUMMARY'
    assert error['message'].startswith('log_sum_exp ')


def test_explain_row(server: Server) -> None:
    row = {
        'logits': _batch(_README_ROW)['logits'],
        'params': {'typical_p': 0.3},
        'row': {'seed': 42},
    }
    told = call(server.address, 'ExplainRow', row)
    assert told['token_id'] == 1
    assert [stage['after'] for stage in told['stages']] == [3, 2]
    assert told['stages'][1]['filter'] == 'FILTER_TYPICAL_P'
    assert told['stages'][1]['entropy_before'] == pytest.approx(1.069, abs=1e-3)
    assert told['stages'][1]['mass_removed'] == pytest.approx(0.45, abs=1e-5)
