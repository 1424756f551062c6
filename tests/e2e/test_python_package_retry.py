"""The Python package: which calls are made again, and when."""

import time

import grpc
import numpy as np
import pytest

from python_package import tokendraw
from fake_service import FakeService
from protos import sampling_pb2
from requests_of import Params
from requests_of import Request
from requests_of import Response

_ROW = np.array([[1, 3, 2]], np.float32)
_GREEDY = Params(temperature=0)
_CODE = grpc.StatusCode


class _Fails:
    """Fails the first calls in one way; notes when each one came."""

    def __init__(self, times: int, code: _CODE, pushback: str = '') -> None:
        self._times = times
        self._code = code
        self._pushback = pushback
        self.came: list[float] = []
        self.last = Request()

    def __call__(
        self, request: Request, context: grpc.ServicerContext
    ) -> Response:
        self.came.append(time.monotonic())
        self.last = request
        if len(self.came) > self._times:
            return Response(token_ids=[1], seeds=[0])
        return self._refuse(context)

    def _refuse(self, context: grpc.ServicerContext) -> Response:
        if self._pushback:
            pushback = ('grpc-retry-pushback-ms', self._pushback)
            context.set_trailing_metadata((pushback,))
        context.abort(self._code, 'not now')


class _FailsInBand(_Fails):
    """The same in the messages of a stream."""

    def _refuse(self, context: grpc.ServicerContext) -> Response:
        error = sampling_pb2.Error(
            code=self._code.value[0],
            message='not now',
            retry_after_ms=int(self._pushback or 0),
        )
        return Response(error=error)


def _one_call(fails: _Fails, deadline: float = 30.0) -> int:
    """Streams that one call, or step, took."""
    with (
        FakeService(fails) as service,
        tokendraw.Client(service.address, deadline=deadline) as client,
        client.stream() as stream,
    ):
        unary = type(fails) is _Fails
        result = (client.sample if unary else stream.step)(_ROW, _GREEDY)
        assert result.token_ids.tolist() == [1]
        return service.streams


def _fault(fails: _Fails, deadline: float = 30.0) -> tokendraw.TokendrawError:
    with pytest.raises(tokendraw.TokendrawError) as caught:
        _one_call(fails, deadline)
    return caught.value


@pytest.mark.parametrize('kind', [_Fails, _FailsInBand])
def test_unavailable_is_retried_with_a_growing_pause(
    kind: type[_Fails],
) -> None:
    fails = kind(6, _CODE.UNAVAILABLE)
    # A server that drains will not take the next message of a stream.
    assert _one_call(fails) == (0 if kind is _Fails else 7)
    pauses = np.diff(fails.came)
    assert len(pauses) == 6
    assert (pauses >= 0.01 * 2.0 ** np.arange(6)).all()


@pytest.mark.parametrize('kind', [_Fails, _FailsInBand])
def test_unavailable_until_the_deadline_is_deadline_exceeded(
    kind: type[_Fails],
) -> None:
    fails = kind(10**6, _CODE.UNAVAILABLE)
    start = time.monotonic()
    error = _fault(fails, deadline=0.5)
    assert time.monotonic() - start < 10
    assert error.code is _CODE.DEADLINE_EXCEEDED
    assert error.details == (
        f'no server took the call in {len(fails.came)} attempts; '
        'the last one: UNAVAILABLE: not now'
    )
    assert len(fails.came) > 2


@pytest.mark.parametrize('kind', [_Fails, _FailsInBand])
def test_resource_exhausted_is_retried_when_the_server_says_so(
    kind: type[_Fails],
) -> None:
    fails = kind(2, _CODE.RESOURCE_EXHAUSTED, pushback='150')
    assert _one_call(fails) == (0 if kind is _Fails else 1)
    assert (np.diff(fails.came) >= 0.15).all()
    assert len(fails.came) == 3

    fails = kind(10**6, _CODE.RESOURCE_EXHAUSTED, pushback='60000')
    start = time.monotonic()
    error = _fault(fails)
    assert time.monotonic() - start < 20
    assert error.code is _CODE.DEADLINE_EXCEEDED
    assert 'RESOURCE_EXHAUSTED: not now' in error.details
    assert len(fails.came) == 1


@pytest.mark.parametrize(
    ('kind', 'code', 'pushback'),
    [
        (_Fails, _CODE.RESOURCE_EXHAUSTED, ''),
        (_Fails, _CODE.RESOURCE_EXHAUSTED, '-1'),
        (_Fails, _CODE.INTERNAL, '10'),
        (_Fails, _CODE.CANCELLED, '10'),
        (_Fails, _CODE.INVALID_ARGUMENT, ''),
        (_FailsInBand, _CODE.RESOURCE_EXHAUSTED, ''),
        (_FailsInBand, _CODE.RESOURCE_EXHAUSTED, '-1'),
        (_FailsInBand, _CODE.INTERNAL, '10'),
        (_FailsInBand, _CODE.CANCELLED, '10'),
        (_FailsInBand, _CODE.INVALID_ARGUMENT, ''),
    ],
)
def test_nothing_else_is_retried(
    kind: type[_Fails], code: _CODE, pushback: str
) -> None:
    fails = kind(1, code, pushback)
    error = _fault(fails)
    assert (error.code, error.details) == (code, 'not now')
    assert len(fails.came) == 1


def test_a_refused_message_is_an_error_of_its_step_alone() -> None:
    fails = _FailsInBand(1, _CODE.INVALID_ARGUMENT)
    with (
        FakeService(fails) as service,
        tokendraw.Client(service.address) as client,
        client.stream() as stream,
    ):
        with pytest.raises(tokendraw.TokendrawError, match='not now'):
            stream.step(_ROW)
        assert stream.step(_ROW).token_ids.tolist() == [1]
        assert service.streams == 1
        # What is queued for longer need not be computed.
        assert 29_000 < fails.last.timeout_ms <= 30_001


@pytest.mark.parametrize('code', [0, 17, -1])
def test_an_error_without_the_code_of_an_error_is_unknown(code: int) -> None:
    error = sampling_pb2.Error(code=code, message='what?')
    with (
        FakeService(lambda *_: Response(error=error)) as service,
        tokendraw.Client(service.address) as client,
        client.stream() as stream,
        pytest.raises(tokendraw.TokendrawError) as caught,
    ):
        stream.step(_ROW)
    assert caught.value.code is _CODE.UNKNOWN
    assert caught.value.details == 'what?'
