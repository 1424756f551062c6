"""The Python package's candidates: whole rows only where they are needed."""

import grpc
import numpy as np
import pytest

from python_package import tokendraw
import client as generated
from fake_service import FakeService
from harness import Server
from protos import sampling_pb2
from requests_of import BF16
from requests_of import Params
from requests_of import Request
from requests_of import Response
from requests_of import RowSpec
from requests_of import real_rows
from requests_of import tensor

_GREEDY = Params(temperature=0)


class _Decides:
    """Answers candidates of the even rows, and asks for the odd ones whole.

    It has the reply to the whole rows beforehand; rows that are sent whole go
    to a real server.
    """

    def __init__(self, whole: Response, counts: list[int], to: str) -> None:
        self._whole = whole
        self._counts = counts
        self._client = generated.Client(to)
        self.requests: list[Request] = []

    def __call__(
        self, request: Request, context: grpc.ServicerContext
    ) -> Response:
        self.requests.append(Request.FromString(request.SerializeToString()))
        if not request.logits.HasField('candidates'):
            return self._client.sample(request)
        reply = Response(
            step=request.step,
            seeds=self._whole.seeds,
            semantics_version=self._whole.semantics_version,
        )
        tokens = list(self._whole.token_ids)
        for row, count in enumerate(self._counts):
            own, tokens = tokens[:count], tokens[count:]
            if row % 2:
                code = sampling_pb2.ROW_ERROR_CODE_NEED_FULL_ROW
                reply.row_errors.add(row=row, code=code, token_id=-1)
                own = [-1] * count
            reply.token_ids.extend(own)
        even = [d for d in self._whole.details if d.row % 2 == 0]
        reply.details.extend(even)
        return reply


@pytest.mark.parametrize('seeded', [True, False])
@pytest.mark.parametrize(
    ('rows_that_fit', 'rows_a_message'), [(40, 16), (5, 5), (1, 1)]
)
def test_rows_that_candidates_cannot_decide_are_sent_whole(
    server: Server, seeded: bool, rows_that_fit: int, rows_a_message: int
) -> None:
    values = np.tile(real_rows(), (2, 1))
    values[4, 9], values[5, 8] = np.nan, np.nan  # a row error on both ways
    values[4, 9] = 0.0
    counts = [row % 4 + 1 for row in range(len(values))]
    sets = [Params(top_k=5, return_kept=True), Params(min_p=0.1)]
    specs = [
        RowSpec(position=row, params_index=row % 3 % 2, sample_count=count)
        for row, count in enumerate(counts)
    ]
    if seeded:
        for row, spec in enumerate(specs):
            spec.seed = row
    asked = Request(
        step=3, logits=tensor(values, BF16), params=sets, rows=specs
    )
    with generated.Client(server.address) as raw:
        whole = raw.sample(asked)
    assert [error.row for error in whole.row_errors] == [5]
    limits = sampling_pb2.GetServerInfoResponse(
        max_message_bytes=2 * rows_that_fit * values[0].nbytes + 100
    )
    fake = _Decides(whole, counts, server.address)
    with (
        FakeService(fake, limits) as service,
        tokendraw.Client(service.address) as client,
        client.stream() as stream,
    ):
        for call in (client.sample, stream.step):
            fake.requests.clear()
            result = call(values, sets, specs, step=3, candidates=8)
            assert result.response == whole
            assert result.payload == 'candidates'
            assert result.full_rows == tuple(range(1, 48, 2))
            first, *again = fake.requests
            assert len(first.logits.candidates.rows) == 48
            assert len(first.logits.candidates.rows[0].ids) == 8
            sent = [len(request.rows) for request in again]
            assert sum(sent) == 24
            assert set(sent[:-1]) <= {rows_a_message}
            assert sent[-1] <= rows_a_message
            resent = [spec for request in again for spec in request.rows]
            for row, spec in zip(result.full_rows, resent, strict=True):
                assert spec.seed == whole.seeds[row]
                assert spec.position == row


def test_candidates_that_decide_all_rows_are_one_message(
    server: Server,
) -> None:
    values = real_rows()[:1]
    with generated.Client(server.address) as raw:
        whole = raw.sample(Request(logits=tensor(values)))
    fake = _Decides(whole, [1], server.address)
    with (
        FakeService(fake) as service,
        tokendraw.Client(service.address) as client,
    ):
        result = client.sample(values, candidates=1)
    assert result.response == whole
    assert result.full_rows == ()
    assert len(fake.requests) == 1


# From here on: the real server, which must take candidates.


def test_candidates_give_the_tokens_of_the_whole_rows(server: Server) -> None:
    values = real_rows()
    specs = [
        RowSpec(seed=row, position=row, sample_count=1 + row % 2)
        for row in range(len(values))
    ]
    params = Params(temperature=0.8, top_k=40, top_p=0.95, min_p=0.02)
    with tokendraw.Client(server.address) as client:
        for chain in (params, _GREEDY):
            wanted = client.sample(values, chain, specs)
            result = client.sample(values, chain, specs, candidates=64)
            assert result.payload == 'candidates'
            assert result.full_rows == ()
            assert result.response == wanted.response


def test_rows_that_the_server_wants_whole_are_sent_again(
    server: Server,
) -> None:
    values = real_rows()
    sets = [
        Params(top_k=20),
        Params(),
        Params(typical_p=0.99, xtc_probability=1),
    ]
    specs = [
        RowSpec(params_index=row % 3, position=row)
        for row in range(len(values))
    ]
    with (
        tokendraw.Client(server.address) as client,
        client.stream() as stream,
    ):
        for call in (client.sample, stream.step):
            result = call(values, sets, specs, candidates=32)
            # A draw from all of the vocabulary is beyond any candidates.
            assert set(range(1, 24, 3)) <= set(result.full_rows)
            assert not set(range(0, 24, 3)) & set(result.full_rows)
            assert not result.response.row_errors
            for spec, seed in zip(specs, result.response.seeds, strict=True):
                spec.seed = seed
            wanted = client.sample(values, sets, specs)
            assert result.response == wanted.response
            for spec in specs:
                spec.ClearField('seed')


def test_a_bad_row_has_the_error_that_the_whole_row_has(
    server: Server,
) -> None:
    values = real_rows()[:5]
    values[1, [40, 7]] = np.nan
    values[2, 9] = np.inf
    values[3] = -np.inf
    with tokendraw.Client(server.address) as client:
        wanted = client.sample(values, _GREEDY, seeds=range(5))
        result = client.sample(values, _GREEDY, seeds=range(5), candidates=16)
    codes = [
        (error.row, error.code, error.token_id)
        for error in result.response.row_errors
    ]
    assert codes == [
        (1, sampling_pb2.ROW_ERROR_CODE_NOT_FINITE, 7),
        (2, sampling_pb2.ROW_ERROR_CODE_NOT_FINITE, 9),
        (3, sampling_pb2.ROW_ERROR_CODE_NO_CANDIDATE, -1),
    ]
    assert codes == [
        (error.row, error.code, error.token_id)
        for error in wanted.response.row_errors
    ]
    assert list(result.token_ids) == list(wanted.token_ids)
