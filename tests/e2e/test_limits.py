"""Sizes: what fits goes through, what does not is refused by name."""

import math

import grpc
import numpy as np
import pytest

from client import Client
from client import fault_of
from conftest import StartServer
from harness import Server
from protos import sampling_pb2
from requests_of import F16
from requests_of import F32
from requests_of import Params
from requests_of import Request
from requests_of import RowSpec
from requests_of import request
from slow import CpuMark
from slow import slow_request

_VOCAB = 151_936
_CAP = 64 << 20

_EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED
_INVALID = grpc.StatusCode.INVALID_ARGUMENT
_GREEDY = Params(temperature=0)


def _rows(count: int, data_type: int, vocab: int = _VOCAB) -> Request:
    """Row i has its one maximum at token i."""
    values = np.zeros((count, vocab), np.float32)
    values[np.arange(count), np.arange(count)] = 1.0
    return request(values, _GREEDY, data_type=data_type)


@pytest.mark.parametrize(
    ('count', 'data_type', 'size'),
    [
        (6, F32, 3_646_464),
        (7, F32, 4_254_208),
        (13, F16, 3_950_336),
        (14, F16, 4_254_208),
        (110, F32, 66_851_840),  # the most that are under 64 MiB
    ],
)
# Field case G01.
def test_rows_around_grpcs_own_limit_pass(
    server: Server, count: int, data_type: int, size: int
) -> None:
    """4,194,304 bytes is what gRPC takes unless it is told otherwise."""
    asked = _rows(count, data_type)
    assert len(asked.logits.inline) == size
    with Client(server.address) as client:
        assert list(client.sample(asked).token_ids) == list(range(count))
        with client.open_stream() as stream:
            assert list(stream.step(asked).token_ids) == list(range(count))


# Field case G01.
def test_a_message_above_the_cap_is_refused_and_the_connection_stays_up(
    server: Server,
) -> None:
    asked = _rows(111, F32)
    size = asked.ByteSize()
    with Client(server.address) as client:
        info = client.stub.GetServerInfo(sampling_pb2.GetServerInfoRequest())
        assert info.max_message_bytes == _CAP < size
        states: list[grpc.ChannelConnectivity] = []
        client.sample(_rows(1, F32))
        client.channel.subscribe(states.append)
        for _ in range(3):
            code, text = fault_of(lambda: client.sample(asked))
            assert code == _EXHAUSTED
            assert str(size) in text and str(_CAP) in text
            assert list(client.sample(_rows(2, F32)).token_ids) == [0, 1]
    lost = grpc.ChannelConnectivity.TRANSIENT_FAILURE
    assert lost not in states and grpc.ChannelConnectivity.IDLE not in states


def _everything(rows: int) -> Request:
    """Asks for all log-probabilities: 14 bytes a token, or a little less."""
    asked = _rows(rows, F16)
    asked.params[0].logprobs.top_count = _VOCAB
    return asked


# Field case G01.
def test_a_reply_larger_than_grpcs_own_limit_passes(server: Server) -> None:
    with Client(server.address) as client:
        reply = client.sample(_everything(4))
    assert reply.ByteSize() > 4 << 20
    assert [len(d.top_logprobs) for d in reply.details] == [_VOCAB] * 4
    ids = [entry.token_id for entry in reply.details[3].top_logprobs]
    assert ids[:2] == [3, 0] and sorted(ids) == list(range(_VOCAB))
    # Token 3 has logit 1, the others 0.
    wanted = 1 - math.log(math.e + _VOCAB - 1)
    assert reply.details[3].logprob == pytest.approx(wanted, abs=1e-6)


def test_a_reply_above_the_cap_is_refused(start_server: StartServer) -> None:
    server = start_server('--max_message_bytes', '1000000')
    with Client(server.address) as client, client.open_stream() as stream:
        code, text = fault_of(lambda: client.sample(_everything(1)))
        assert code == _EXHAUSTED
        assert text.startswith('the reply has ')
        assert text.endswith(' bytes: over max_message_bytes 1000000')
        assert int(text.split()[3]) > 1_000_000
        reply = stream.step(_everything(1))
        assert (reply.error.code, reply.error.message) == (code.value[0], text)
        assert list(stream.step(_rows(1, F16)).token_ids) == [0]


def test_too_many_rows_and_draws_name_the_limit(
    start_server: StartServer,
) -> None:
    server = start_server('--max_rows', '3', '--max_draws', '5')
    draws = [RowSpec(sample_count=2)] * 3
    with Client(server.address) as client, client.open_stream() as stream:
        for asked, text in (
            (_rows(4, F32, 8), 'logits.row_count: 4 is over max_rows 3'),
            (
                request(np.zeros((3, 8)), rows=draws),
                'rows: 6 draws are over max_draws 5',
            ),
        ):
            fault = fault_of(lambda asked=asked: client.sample(asked))
            assert fault == (_EXHAUSTED, text)
            assert stream.step(asked).error.message == text
        fitting = request(np.zeros((3, 8)), rows=[*draws[:2], RowSpec()])
        assert len(client.sample(fitting).token_ids) == 5
        assert len(stream.step(fitting).token_ids) == 5


@pytest.mark.parametrize(
    ('flags', 'size', 'text'),
    [
        (
            ('--max_rows', '4', '--max_queued_rows', '4'),
            4,
            'the queue is full: max_queued_rows is 4; retry with backoff',
        ),
        (
            ('--max_message_bytes', '100000', '--max_queued_bytes', '100000'),
            1,
            'the queue is full: max_queued_bytes is 100000; retry with backoff',
        ),
    ],
)
def test_a_full_queue_names_the_limit(
    start_server: StartServer, flags: tuple[str, ...], size: int, text: str
) -> None:
    server = start_server('--threads', '1', *flags)
    # 1 row, or 80 kB, is computed meanwhile.
    asked = _rows(size, F32, 20_000 // size)
    with Client(server.address) as client:
        slow = slow_request(client, 1.0)
        mark = CpuMark(server)
        call = client.stub.SampleTokens.future(slow)
        mark.wait_for_work()
        with client.open_stream() as stream:
            assert fault_of(lambda: client.sample(asked)) == (_EXHAUSTED, text)
            assert stream.step(asked).error.message == text
            assert not call.done()
            assert call.result().token_ids
            # The queue is free again.
            assert len(client.sample(asked).token_ids) == size
            assert len(stream.step(asked).token_ids) == size


@pytest.mark.parametrize(
    ('size', 'rows', 'text'),
    [
        (
            607_743,
            1,
            'expected 607744 bytes (row_count 1 x row_stride 151936 x 4 bytes)'
            ', got 607743',
        ),
        (
            607_744,
            2,
            'expected 1215488 bytes (row_count 2 x row_stride 151936 x 4 bytes)'
            ', got 607744',
        ),
    ],
)
# Field case G11.
def test_a_wrong_length_names_both_numbers(
    server: Server, size: int, rows: int, text: str
) -> None:
    asked = _rows(1, F32)
    asked.logits.inline = asked.logits.inline.ljust(size, b'\0')[:size]
    asked.logits.row_count = rows
    with Client(server.address) as client, client.open_stream() as stream:
        fault = fault_of(lambda: client.sample(asked))
        assert fault == (_INVALID, f'logits.inline: {text}')
        assert stream.step(asked).error.message == f'logits.inline: {text}'


@pytest.mark.parametrize('temperature', [0.0, 1.0])
@pytest.mark.parametrize('bits', [0x7FC00000, 0xFFFFFFFF, 0x7F800001])
# Field case G11.
def test_nan_bits_are_an_error_of_their_row_alone(
    server: Server, bits: int, temperature: float
) -> None:
    asked = _rows(3, F32)
    asked.params[0].temperature = temperature
    data = bytearray(asked.logits.inline)
    nan_at = 1 * _VOCAB + 150_000
    data[4 * nan_at : 4 * nan_at + 4] = bits.to_bytes(4, 'little')
    asked.logits.inline = bytes(data)
    with Client(server.address) as client:
        reply = client.sample(asked)
    assert reply.token_ids[1] == -1
    assert min(reply.token_ids[0], reply.token_ids[2]) >= 0
    (error,) = reply.row_errors
    assert error.code == sampling_pb2.ROW_ERROR_CODE_NOT_FINITE
    assert (error.row, error.token_id) == (1, 150_000)


def test_a_row_of_nothing_but_mask_is_an_error_of_its_row_alone(
    server: Server,
) -> None:
    masked = request([[-np.inf] * 3, [0, 1, 0]], _GREEDY)
    with Client(server.address) as client:
        reply = client.sample(masked)
    assert list(reply.token_ids) == [-1, 1]
    (error,) = reply.row_errors
    assert error.code == sampling_pb2.ROW_ERROR_CODE_NO_CANDIDATE
    assert (error.row, error.token_id) == (0, -1)
