"""The Python package for asyncio: the same surface, the same tokens."""

import asyncio
from collections.abc import Awaitable, Callable
from importlib import metadata
import inspect
import pathlib
import signal
import time
from typing import Any

import grpc
import numpy as np
import pytest

from python_package import fixture_shm_dir  # noqa: F401
from python_package import tokendraw
from conftest import StartServer
from fake_service import FakeService
from harness import PATIENCE_S
from harness import Server
from harness import scaled
from protos import sampling_pb2
from requests_of import Params
from requests_of import Request
from requests_of import Response
from requests_of import real_rows

# pylint: disable=wrong-import-position,ungrouped-imports
import tokendraw.aio  # noqa: E402

_ROW = np.array([[1, 3, 2]], np.float32)
_GREEDY = Params(temperature=0)
_PARAMS = Params(
    typical_p=0.9, xtc_probability=0.5, return_kept=True, logprobs={}
)
_CODE = grpc.StatusCode

# sample() and step() take the same arguments.
_Call = Callable[..., Awaitable[tokendraw.SampleResult]]


def _both(
    address: str,
    deadline: float,
    check: Callable[[_Call], Awaitable[None]],
    shm_dir: str | None = None,
) -> None:
    async def run() -> None:
        async with (
            tokendraw.aio.Client(
                address, deadline=deadline, shm_dir=shm_dir
            ) as client,
            client.stream() as stream,
        ):
            for call in (client.sample, stream.step):
                await check(call)

    asyncio.run(run())


async def _fault(result: Awaitable[Any]) -> tokendraw.TokendrawError:
    with pytest.raises(tokendraw.TokendrawError) as caught:
        await result
    return caught.value


@pytest.mark.parametrize(
    ('blocking', 'awaited'),
    [
        (tokendraw.Client, tokendraw.aio.Client),
        (tokendraw.SampleStream, tokendraw.aio.SampleStream),
    ],
)
def test_the_surface_is_that_of_the_blocking_client(
    blocking: type, awaited: type
) -> None:
    def surface(of: type) -> dict[str, list[inspect.Parameter]]:
        return {
            name: list(inspect.signature(method).parameters.values())
            for name, method in inspect.getmembers(of, inspect.isfunction)
            if not name.startswith('_')
        }

    assert surface(blocking) == surface(awaited)
    assert {'close'} < set(surface(awaited))


def test_the_options_are_those_of_the_blocking_client() -> None:
    options = inspect.signature(tokendraw.Client)
    assert options == inspect.signature(tokendraw.aio.Client)
    assert 'token_file' in options.parameters


def test_replies_are_those_of_the_blocking_client(
    start_server: StartServer, shm_dir: pathlib.Path
) -> None:
    server = start_server('--shm_dir', str(shm_dir))
    rows = real_rows()
    own = {'seeds': range(24), 'positions': range(24), 'step': 5}
    with tokendraw.Client(server.address, shm_dir=str(shm_dir)) as client:
        wanted = client.sample(rows, _PARAMS, **own).response
        cut = client.sample(rows, _PARAMS, candidates=20, **own)
    assert cut.full_rows

    async def run() -> None:
        async with (
            tokendraw.aio.Client(
                server.address, shm_dir=str(shm_dir)
            ) as client,
            client.stream() as stream,
        ):
            buffer = await client.row_buffer(rows.nbytes)
            shared = buffer.array(np.float32, rows.shape)
            shared[:] = rows
            for call in (client.sample, stream.step):
                for logits, payload in (
                    (rows, 'inline'),
                    (shared, 'shared_memory'),
                ):
                    result = await call(logits, _PARAMS, **own)
                    assert result.response == wanted
                    assert result.payload == payload
                assert cut == await call(rows, _PARAMS, candidates=20, **own)
        assert buffer.closed
        assert not list(shm_dir.iterdir())

    asyncio.run(run())


def test_info_and_validate_say_what_the_server_says(server: Server) -> None:
    bad = [Params(top_p=0.5), Params(top_p=0), Params(dry_breaker_ids=[9])]
    with tokendraw.Client(server.address) as client:
        wanted = client.validate(bad, vocab_size=9)
    assert len(wanted) == 2

    async def run() -> None:
        async with tokendraw.aio.Client(server.address) as client:
            info = await client.info()
            assert info.max_message_bytes == 64 << 20
            assert info.version == metadata.version('tokendraw')
            assert await client.validate(bad, vocab_size=9) == wanted
            assert await client.validate(bad[0]) == []

    asyncio.run(run())


def test_calls_of_many_tasks_run_beside_each_other(server: Server) -> None:
    """64 sequences, each in a task with a stream of its own."""
    rows = real_rows()
    with tokendraw.Client(server.address) as client:
        wanted = client.sample(
            rows, seeds=[7] * 24, positions=range(24)
        ).token_ids.tolist()
    assert len(set(wanted)) > 10

    async def sequence(client: tokendraw.aio.Client) -> list[int]:
        tokens: list[int] = []
        async with client.stream() as stream:
            for step in range(scaled(24)):
                result = await stream.step(
                    rows[step : step + 1], seeds=[7], positions=[step]
                )
                tokens += result.token_ids.tolist()
        return tokens

    async def run() -> None:
        async with tokendraw.aio.Client(server.address) as client:
            done = await asyncio.gather(
                *(sequence(client) for _ in range(scaled(64)))
            )
        for tokens in done:
            assert tokens == wanted[: scaled(24)]

    asyncio.run(run())


def test_an_error_has_the_code_and_the_text_of_the_server(
    server: Server,
) -> None:
    async def check(call: _Call) -> None:
        error = await _fault(call(_ROW, Params(top_p=0)))
        assert error.code is _CODE.INVALID_ARGUMENT
        assert error.details == 'params[0].top_p: top_p must be in (0.0, 1.0]'
        with pytest.raises(TypeError, match='numpy array, got list'):
            await call([[1.0]])
        assert (await call(_ROW, _GREEDY)).token_ids.tolist() == [1]

    _both(server.address, 30.0, check)


def test_the_deadline_holds_where_nobody_serves(
    tmp_path: pathlib.Path,
) -> None:
    address = f'unix:{tmp_path}/none'

    async def check(call: _Call) -> None:
        start = time.monotonic()
        error = await _fault(call(_ROW))
        assert 0.3 <= time.monotonic() - start < 10
        assert error.code is _CODE.DEADLINE_EXCEEDED
        assert address in error.details

    _both(address, 0.3, check)


def test_a_late_reply_is_nobodys(start_server: StartServer) -> None:
    server = start_server()

    async def check(call: _Call) -> None:
        assert (await call(_ROW, step=1)).response.step == 1
        server.signal(signal.SIGSTOP)
        try:
            error = await _fault(call(_ROW, step=2))
        finally:
            server.signal(signal.SIGCONT)
        assert error.code is _CODE.DEADLINE_EXCEEDED
        assert server.address in error.details
        for step in (3, 4):
            assert (await call(_ROW, step=step)).response.step == step

    _both(server.address, 3.0, check)


def test_restarts_are_not_seen(start_server: StartServer) -> None:
    server = start_server()
    rows = real_rows()[:2]
    done = [0] * 8
    stop = asyncio.Event()

    async def loop(client: tokendraw.aio.Client, number: int) -> None:
        async with client.stream() as stream:
            call = stream.step if number % 2 else client.sample
            while not stop.is_set():
                result = await call(rows, _GREEDY)
                assert result.token_ids.tolist() == rows.argmax(axis=1).tolist()
                done[number] += 1

    async def wait_for_calls(tasks: list[asyncio.Task[None]]) -> None:
        enough = [count + scaled(30) for count in done]
        async with asyncio.timeout(PATIENCE_S):
            while not all(map(int.__ge__, done, enough)):
                if any(task.done() for task in tasks):
                    return
                await asyncio.sleep(0.005)

    async def run() -> None:
        running = server
        async with tokendraw.aio.Client(server.address) as client:
            tasks = [asyncio.create_task(loop(client, n)) for n in range(8)]
            try:
                for end in (signal.SIGTERM, signal.SIGKILL) * 3:
                    await wait_for_calls(tasks)
                    running.signal(end)
                    await asyncio.to_thread(running.wait)
                    running = start_server(listen=(server.address,))
                await wait_for_calls(tasks)
            finally:
                stop.set()
                await asyncio.gather(*tasks)

    asyncio.run(run())


@pytest.mark.parametrize('code', [_CODE.UNAVAILABLE, _CODE.RESOURCE_EXHAUSTED])
def test_a_call_is_made_again_after_the_pause_that_the_server_asks_for(
    code: grpc.StatusCode,
) -> None:
    came: list[float] = []

    def refuse_twice(
        request: Request, context: grpc.ServicerContext
    ) -> Response:
        came.append(time.monotonic())
        if len(came) > 2:
            return Response(token_ids=[1], seeds=[0])
        if request.timeout_ms:  # a step of a stream
            return Response(
                error={'code': code.value[0], 'retry_after_ms': 150}
            )
        context.set_trailing_metadata((('grpc-retry-pushback-ms', '150'),))
        context.abort(code, 'not now')

    async def check(call: _Call) -> None:
        came.clear()
        assert (await call(_ROW)).token_ids.tolist() == [1]
        assert len(came) == 3
        assert (np.diff(came) >= 0.15).all()

    with FakeService(refuse_twice) as service:
        _both(service.address, 30.0, check)


def test_messages_are_as_large_as_the_server_takes_them(
    start_server: StartServer,
) -> None:
    server = start_server('--max_message_bytes', str(8 << 20))

    async def check(call: _Call) -> None:
        rows = np.tile(real_rows(), (2, 1)).astype(np.float16)
        result = await call(rows, Params(return_kept=True))
        # More than the 4 MiB that gRPC takes by default.
        assert rows.nbytes > 4 << 20 and result.response.ByteSize() > 4 << 20
        large = np.zeros((1, (2 << 20) + 1), np.float32)
        error = await _fault(call(large))
        assert error.code is _CODE.RESOURCE_EXHAUSTED
        assert str(8 << 20) in error.details
        assert (await call(_ROW, _GREEDY)).token_ids.tolist() == [1]

    _both(server.address, 30.0, check)


def test_a_cancelled_task_is_cancelled_and_a_closed_client_is_an_error(
    start_server: StartServer,
) -> None:
    server = start_server()

    async def run(kind: str) -> None:
        client = tokendraw.aio.Client(server.address)
        stream = client.stream()
        call = client.sample if kind == 'unary' else stream.step
        assert await call(_ROW)
        server.signal(signal.SIGSTOP)
        try:
            task = asyncio.create_task(call(_ROW))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            task = asyncio.create_task(call(_ROW))
            await asyncio.sleep(0)
            assert not task.done()
            await client.close()
            error = await _fault(task)
            assert error.code is _CODE.CANCELLED
        finally:
            server.signal(signal.SIGCONT)
        await stream.close()

    for kind in ('unary', 'stream'):
        asyncio.run(run(kind))


def test_deadline_has_a_range() -> None:
    with pytest.raises(ValueError, match='deadline must be in'):
        tokendraw.aio.Client('unix:/none', deadline=0)
