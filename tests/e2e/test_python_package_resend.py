"""The Python package: all of a reply is there after rows were sent whole."""

from collections.abc import Callable
import itertools

from google.protobuf import descriptor
from google.protobuf import message
import grpc
import numpy as np
import pytest

from python_package import tokendraw
from fake_service import FakeService
from harness import Server
from protos import sampling_pb2
from requests_of import FloatArray
from requests_of import Params
from requests_of import Request
from requests_of import Response
from requests_of import RowSpec
from requests_of import real_rows

_NEED_FULL_ROW = sampling_pb2.ROW_ERROR_CODE_NEED_FULL_ROW
_LENIENT = sampling_pb2.VALIDATION_LENIENT


def _fill(empty: message.Message, numbers: itertools.count) -> None:
    """Sets every field, at every depth; no two numbers are the same.

    Of a oneof, the last one stays.
    """
    field: descriptor.FieldDescriptor
    for field in empty.DESCRIPTOR.fields:
        for _ in range(2 if field.is_repeated else 1):
            if field.message_type:
                value = getattr(empty, field.name)
                _fill(value.add() if field.is_repeated else value, numbers)
                continue
            number = next(numbers)
            value = {
                field.CPPTYPE_BOOL: True,
                field.CPPTYPE_STRING: str(number),
                field.CPPTYPE_ENUM: 1,
            }.get(field.cpp_type, number)
            if field.type == field.TYPE_BYTES:
                value = value.encode()
            if field.is_repeated:
                getattr(empty, field.name).append(value)
            else:
                setattr(empty, field.name, value)


def _names(of: message.Message) -> set[str]:
    """Of the fields that are set."""
    return {field.name for field, _ in of.ListFields()}


def _all_names(of: type[message.Message]) -> set[str]:
    return {field.name for field in of.DESCRIPTOR.fields}


# Row 2 has an error at once, row 5 one when it is sent whole.
_BAD_ROWS = {2, 5}
_DRAWS = [1, 2, 3, 1, 2, 3]


def _has_states(row: int) -> bool:
    return row % 3 != 1


def _answers() -> list[Response]:
    """What the server says of each row, as if it were the only one."""
    numbers = itertools.count(100)
    answers = []
    for row, draws in enumerate(_DRAWS):
        answer = Response(seeds=[next(numbers)], step=77)
        answer.semantics_version = 'x'
        answer.token_ids.extend(next(numbers) for _ in range(draws))
        if row in _BAD_ROWS:
            _fill(answer.row_errors.add(), numbers)
        for _ in range(0 if row in _BAD_ROWS else draws):
            _fill(answer.details.add(), numbers)
            if _has_states(row):
                _fill(answer.sampler_states.add(), numbers)
        answers.append(answer)
    return answers


def _together(answers: list[Response]) -> Response:
    reply = Response()
    for row, answer in enumerate(answers):
        for each in (*answer.row_errors, *answer.details):
            each.row = row
        reply.MergeFrom(answer)
    return reply


def _undecided(answer: Response) -> Response:
    """The same for candidates that do not decide."""
    reply = Response(seeds=answer.seeds, step=answer.step)
    reply.semantics_version = answer.semantics_version
    reply.token_ids.extend(-1 for _ in answer.token_ids)
    reply.row_errors.add(code=_NEED_FULL_ROW)
    return reply


class _DecidesEvenRows:
    """Rows are known by their `position`."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    def __call__(
        self, request: Request, context: grpc.ServicerContext
    ) -> Response:
        self.requests.append(request)
        answers = _answers()
        if request.logits.HasField('candidates'):
            return _together(
                [
                    _undecided(answer) if row % 2 else answer
                    for row, answer in enumerate(answers)
                ]
            )
        return _together([answers[spec.position] for spec in request.rows])


def test_no_field_is_lost() -> None:
    """Of the request, nor of the reply, as they are in the proto today."""
    whole = _together(_answers())
    # What a stream refused has no rows.
    assert _names(whole) == _all_names(Response) - {'error'}

    numbers = itertools.count(1)
    sets = [Params(), Params(), Params()]
    for params in sets:
        _fill(params, numbers)
        params.ClearField('mirostat')
        params.ClearField('adaptive_target')
    sets[0].mirostat = 1
    sets[2].adaptive_target = 0.5
    sets[2].adaptive_decay = 0.5
    specs = [RowSpec() for _ in _DRAWS]
    for row, spec in enumerate(specs):
        _fill(spec, numbers)
        spec.params_index = row % 3
        spec.position = row
        spec.sample_count = _DRAWS[row]
        if row != 3:
            spec.ClearField('seed')
    values = np.arange(24, dtype=np.float32).reshape(6, 4)

    fake = _DecidesEvenRows()
    with (
        FakeService(fake) as service,
        tokendraw.Client(service.address) as client,
        client.stream() as stream,
    ):
        for call in (client.sample, stream.step):
            fake.requests.clear()
            result = call(
                values,
                sets,
                specs,
                step=77,
                candidates=2,
                validation=_LENIENT,
            )
            assert result.response == whole
            first, again = fake.requests
            unset = {'timeout_ms'} if call == client.sample else set()
            assert _names(first) == _all_names(Request) - unset
            assert list(first.rows) == specs
            assert set().union(*map(_names, specs)) == _all_names(RowSpec)
            _check_again(first, again, values, whole)


def _check_again(
    first: Request,
    again: Request,
    values: FloatArray,
    whole: Response,
) -> None:
    """Whether the undecided rows were sent as they were."""
    logits = np.frombuffer(again.logits.inline, np.float32)
    assert (logits.reshape(3, 4) == values[1::2]).all()
    for spec, row in zip(again.rows, (1, 3, 5), strict=True):
        assert spec.seed == whole.seeds[row]
        wanted = RowSpec()
        wanted.CopyFrom(first.rows[row])
        wanted.seed = spec.seed
        assert spec == wanted
    # The deadline comes nearer.
    assert again.timeout_ms <= first.timeout_ms
    for request in (first, again):
        for name in ('logits', 'rows', 'timeout_ms'):
            request.ClearField(name)
    assert again == first


@pytest.mark.parametrize(
    'fault',
    [
        lambda reply: reply.seeds.append(1),
        lambda reply: reply.seeds.pop(),
        lambda reply: reply.token_ids.append(1),
        lambda reply: reply.token_ids.pop(),
        lambda reply: reply.row_errors.add(row=2),
        lambda reply: reply.row_errors.add(row=-1),
        lambda reply: reply.details.add(row=2),
        lambda reply: reply.details.add(row=-1),
        lambda reply: reply.sampler_states.add(),
        lambda reply: reply.sampler_states.pop(),
    ],
)
@pytest.mark.parametrize('candidates', [True, False])
def test_a_reply_that_does_not_fit_is_an_error(
    fault: Callable[[Response], None], candidates: bool
) -> None:
    def answer(request: Request, context: grpc.ServicerContext) -> Response:
        count = request.logits.row_count
        reply = Response(seeds=range(count), token_ids=[1] * count)
        reply.sampler_states.add()
        if request.logits.HasField('candidates'):
            reply.row_errors.add(row=1, code=_NEED_FULL_ROW)
        if request.logits.HasField('candidates') == candidates:
            fault(reply)
        return reply

    with (
        FakeService(answer) as service,
        tokendraw.Client(service.address) as client,
        pytest.raises(tokendraw.TokendrawError) as caught,
    ):
        client.sample(
            np.zeros((2, 4), np.float32), Params(mirostat=1), candidates=2
        )
    assert caught.value.code is grpc.StatusCode.INTERNAL
    assert 'does not have the rows of the request' in caught.value.details


# From here on: the real server.

_SETS = {
    'mirostat 2': Params(mirostat=2, mirostat_tau=2),
    'mirostat 1': Params(mirostat=1),
    'adaptive-p': Params(adaptive_target=0.3, top_k=10),
    'with its zeros': Params(
        adaptive_target=0, adaptive_decay=0, mirostat_eta=0, top_k=10
    ),
    'both': Params(adaptive_target=1, mirostat=2, mirostat_tau=2, top_k=10),
    'none': Params(top_k=10),
    'off': Params(mirostat=0, adaptive_target=-1, top_k=10),
}
_OFF_IF_LENIENT = {
    'mirostat': Params(mirostat=3, top_k=10),
    'mirostat_tau': Params(mirostat=2, mirostat_tau=-1, top_k=10),
    'mirostat_eta': Params(mirostat=2, mirostat_eta=np.inf, top_k=10),
    'adaptive_target': Params(adaptive_target=np.nan, top_k=10),
    'adaptive_decay': Params(adaptive_target=0.5, adaptive_decay=1, top_k=10),
}


@pytest.mark.parametrize('name', [*_SETS, *_OFF_IF_LENIENT])
def test_the_states_of_all_rows_are_there(server: Server, name: str) -> None:
    """Half the rows cannot be decided by candidates."""
    values = real_rows()[:8]
    sets = [{**_SETS, **_OFF_IF_LENIENT}[name], Params(), Params(mirostat=1)]
    specs = [
        RowSpec(
            params_index=(0, 1, 0, 2)[row % 4],
            seed=row,
            sample_count=1 + row % 2,
            sampler_state={'mirostat_mu': 1 + row},
        )
        for row in range(8)
    ]
    options = {'validation': _LENIENT} if name in _OFF_IF_LENIENT else {}
    with tokendraw.Client(server.address) as client:
        wanted = client.sample(values, sets, specs, **options).response
        result = client.sample(values, sets, specs, candidates=64, **options)
    assert set(result.full_rows) >= {1, 5}
    assert result.response == wanted
    own = 0 if name in ('none', 'off', *_OFF_IF_LENIENT) else 4
    assert len(result.response.sampler_states) == own + 4
