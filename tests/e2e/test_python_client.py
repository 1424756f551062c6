"""A generated client: one answer in every encoding and in every batch."""

from collections.abc import Iterable
from concurrent import futures

import numpy as np
import pytest

from client import Client
from conftest import StartServer
from harness import Server
from harness import scaled
import oracle
from protos import params_pb2
from requests_of import BF16
from requests_of import F16
from requests_of import F32
from requests_of import FloatArray
from requests_of import Params
from requests_of import Request
from requests_of import Response
from requests_of import RowSpec
from requests_of import float_values
from requests_of import logits_of
from requests_of import real_rows
from requests_of import request
from requests_of import tensor
from requests_of import to_bytes

_REPORT = params_pb2.Logprobs(
    mode=params_pb2.LOGPROB_MODE_PROCESSED, top_count=5
)

_SETS = [
    Params(
        typical_p=0.9,
        xtc_probability=0.5,
        return_kept=True,
        logprobs=_REPORT,
    ),
    Params(temperature=0.8, top_k=40, top_p=0.95, min_p=0.02, logprobs=_REPORT),
    Params(
        repetition_penalty=1.3,
        dry_multiplier=0.8,
        frequency_penalty=0.2,
        top_n_sigma=1.0,
        return_kept=True,
    ),
    Params(p_less=True, temperature=1.5),
]


def _batch_of(values: FloatArray, rows: Iterable[int]) -> Request:
    """Some of 64 different row requests."""
    rows = list(rows)
    specs = [
        RowSpec(
            params_index=row % len(_SETS),
            seed=row * 7919,
            position=row,
            sample_count=1 + row % 3,
            output_ids=[50, 60, 70, 50, 60] * (row % 2),
        )
        for row in rows
    ]
    chosen = values[[row % len(values) for row in rows]]
    batch = request(chosen, rows=specs, data_type=BF16)
    batch.params.extend(_SETS)
    return batch


def _answers(reply: Response) -> list[bytes]:
    """What each row was answered, as bytes that do not tell its place."""
    assert not reply.row_errors
    tokens = list(reply.token_ids)
    details = list(reply.details)
    answers: list[bytes] = []
    for row, seed in enumerate(reply.seeds):
        number = seed // 7919
        own = Response(seeds=[seed])
        for _ in range(1 + number % 3):
            own.token_ids.append(tokens.pop(0))
        while details and details[0].row == row:
            detail = own.details.add()
            detail.CopyFrom(details.pop(0))
            detail.row = 0
        # Without details there is nothing to compare.
        assert bool(own.details) == (number % len(_SETS) != 3)
        answers.append(own.SerializeToString(deterministic=True))
    assert not tokens and not details
    return answers


def _stream_in_batches_of(
    address: str, values: FloatArray, size: int
) -> list[bytes]:
    """The answers of 64 rows, over one stream."""
    answers: list[bytes] = []
    with Client(address) as client, client.open_stream() as stream:
        for start in range(0, 64, size):
            rows = range(start, min(start + size, 64))
            answers += _answers(stream.step(_batch_of(values, rows)))
    return answers


def test_every_encoding_of_the_real_rows_gives_the_same_bytes(
    server: Server,
) -> None:
    values = real_rows()
    assert np.array_equal(values.astype('<f2').astype('<f4'), values)
    base = _batch_of(values, range(len(values)))
    tensors = [tensor(values, kind) for kind in (F32, F16, BF16)]
    tensors += [tensor(values, kind, padding=832) for kind in (F32, F16, BF16)]
    tensors.append(float_values(values))
    replies: list[bytes] = []
    with Client(server.address) as client:
        for logits in tensors:
            base.logits.CopyFrom(logits)
            replies.append(client.sample_bytes(base))
    assert len(replies[0]) > 1000
    assert [reply == replies[0] for reply in replies] == [True] * len(replies)
    tokens = Response.FromString(replies[0]).token_ids
    # One row, by the outside implementation: equal is not equally wrong.
    spec = base.rows[0]
    assert tokens[0] == oracle.sample(values[0], _SETS[0], spec)[0].token


def test_the_padding_of_a_wide_row_is_cut_off(server: Server) -> None:
    """1000 is the largest number of each padded row: greedy would take it."""
    values = np.array([[3, 1, 2], [1, 2, 3]], np.float32)
    batch = Request(logits=tensor(values, padding=5))
    batch.params.add(temperature=0)
    assert len(batch.logits.inline) == len(to_bytes(values, F32)) + 40
    with Client(server.address) as client:
        assert list(client.sample(batch).token_ids) == [0, 2]


@pytest.fixture(name='wanted', scope='module')
def fixture_wanted(server: Server) -> list[bytes]:
    """The answers of 64 rows, one unary call each."""
    values = real_rows()
    answers: list[bytes] = []
    with Client(server.address) as client:
        for row in range(64):
            answers += _answers(client.sample(_batch_of(values, [row])))
    assert len(set(answers)) == 64
    return answers


@pytest.mark.parametrize('threads', [1, 2])
def test_batches_of_1_7_and_64_from_8_streams_give_equal_bytes(
    start_server: StartServer, wanted: list[bytes], threads: int
) -> None:
    server = start_server('--threads', str(threads))
    values = real_rows()
    sizes = [1, 7, 64] * 2 + [7, 1]
    with futures.ThreadPoolExecutor(len(sizes)) as pool:
        runs = [
            pool.submit(_stream_in_batches_of, server.address, values, size)
            for size in sizes[: max(3, scaled(len(sizes)))]
        ]
    for run in runs:
        assert run.result() == wanted


def test_xtc_acts_on_one_row_on_eight_rows_and_on_eight_steps(
    server: Server,
) -> None:
    row = logits_of([0.7, 0.2, 0.1])
    xtc = Params(xtc_probability=1, xtc_threshold=0.15, return_kept=True)
    eight = np.repeat(row, 8, axis=0)
    draws = RowSpec(sample_count=50)
    with Client(server.address) as client:
        replies = [client.sample(request(row, xtc, [draws]))]
        replies.append(client.sample(request(eight, xtc, [draws] * 8)))
        with client.open_stream() as stream:
            for step in range(8):
                spec = RowSpec(sample_count=50, position=step)
                replies.append(stream.step(request(row, xtc, [spec])))
    for reply in replies:
        assert set(reply.token_ids) == {1, 2}
        assert all(list(d.kept_ids) == [1, 2] for d in reply.details)
        assert all(d.xtc_applied for d in reply.details)


def test_typical_p_and_xtc_change_the_support_of_a_real_vocabulary(
    server: Server,
) -> None:
    vocab = 151_936
    rng = np.random.default_rng(5)
    row = rng.normal(0, 1, vocab).astype(np.float32)
    row[[7, 151_000]] = 13.0, 12.8
    spec = RowSpec(seed=9)
    xtc = {'xtc_probability': 1.0, 'xtc_threshold': 0.1}
    kept: list[list[int]] = []
    for sets in ({}, {'typical_p': 0.6}, xtc, {'typical_p': 0.6, **xtc}):
        params = Params(return_kept=True, **sets)
        with Client(server.address) as client:
            asked = request(row[np.newaxis], params, [spec])
            detail = client.sample(asked).details[0]
        wanted = oracle.sample(row, params, spec)[0]
        assert wanted.certain
        assert (list(detail.kept_ids), detail.token_id) == (
            wanted.kept,
            wanted.token,
        )
        kept.append(wanted.kept)
    everything, typical, excluded, _ = map(set, kept)
    assert len(everything) == vocab
    assert 0 < len(typical) < vocab
    assert excluded == everything - {7}
