"""The Python package: whatever way the rows go, the tokens are the same."""

from concurrent import futures
import pathlib
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from python_package import fixture_shm_dir  # noqa: F401
from python_package import tokendraw
import client as generated
from conftest import StartServer
from fake_service import FakeService
from harness import Server
from requests_of import BF16
from requests_of import F16
from requests_of import F32
from requests_of import Params
from requests_of import Request
from requests_of import RowSpec
from requests_of import real_rows
from requests_of import tensor
from requests_of import to_bf16

_PARAMS = Params(
    typical_p=0.9,
    xtc_probability=0.5,
    return_kept=True,
    logprobs={'top_count': 3},
)
_KINDS = {'f32': F32, 'f16': F16, 'bf16': BF16}


def _elements(kind: str) -> npt.NDArray[Any]:
    """The real rows, as a worker has them."""
    values = real_rows()
    if kind == 'bf16':
        return to_bf16(values)
    return values.astype({'f32': np.float32, 'f16': np.float16}[kind])


def _into(buffer: tokendraw.RowBuffer, rows: npt.NDArray[Any]) -> Any:
    array = buffer.array(rows.dtype.type, rows.shape)
    array[:] = rows
    return array


@pytest.mark.parametrize('kind', _KINDS)
def test_replies_are_those_of_a_generated_client(
    start_server: StartServer, shm_dir: pathlib.Path, kind: str
) -> None:
    server = start_server('--shm_dir', str(shm_dir))
    elements = _elements(kind)
    specs = [
        RowSpec(seed=row, position=row, sample_count=row % 3)
        for row in range(len(elements))
    ]
    asked = Request(
        step=5,
        logits=tensor(real_rows(), _KINDS[kind]),
        params=[_PARAMS],
        rows=specs,
    )
    with generated.Client(server.address) as raw:
        wanted = raw.sample(asked)
    data_type = 'bf16' if kind == 'bf16' else None
    with (
        tokendraw.Client(server.address, shm_dir=str(shm_dir)) as client,
        client.row_buffer(elements.nbytes) as buffer,
        client.stream() as stream,
    ):
        shared = _into(buffer, elements)
        for call in (client.sample, stream.step):
            for logits, payload in (
                (elements, 'inline'),
                (shared, 'shared_memory'),
            ):
                result = call(
                    logits, _PARAMS, specs, step=5, data_type=data_type
                )
                assert result.response == wanted
                assert result.payload == payload
                assert result.token_ids.tolist() == list(wanted.token_ids)


def test_seeds_and_positions_are_those_of_rows(server: Server) -> None:
    rows = real_rows()[:3]
    seeds, positions = [2**64 - 1, 0, 7], [5, 6, 0]
    specs = [
        RowSpec(seed=s, position=p)
        for s, p in zip(seeds, positions, strict=True)
    ]
    with tokendraw.Client(server.address) as client:
        wanted = client.sample(rows, rows=specs).response
        result = client.sample(rows, seeds=seeds, positions=positions)
        assert result.response == wanted
        drawn = client.sample(rows, positions=positions).response
        again = client.sample(rows, seeds=drawn.seeds, positions=positions)
        assert again.response == drawn


def test_a_buffer_is_written_to_step_after_step(
    start_server: StartServer, shm_dir: pathlib.Path
) -> None:
    server = start_server('--shm_dir', str(shm_dir))
    values = real_rows()
    with (
        tokendraw.Client(server.address, shm_dir=str(shm_dir)) as client,
        client.stream() as stream,
    ):
        buffer = client.row_buffer(4 * values[0].nbytes)
        logits = buffer.array(np.float32, (4, values.shape[1]))
        tokens = set()
        for step in range(50):
            logits[:] = np.roll(values, step, axis=0)[:4]
            own = {'seeds': range(4), 'positions': [step] * 4, 'step': step}
            result = stream.step(logits, _PARAMS, **own)
            assert result.payload == 'shared_memory'
            inline = client.sample(logits.copy(), _PARAMS, **own)
            assert inline.payload == 'inline'
            assert result.response == inline.response
            assert result.response.step == step
            tokens.update(result.token_ids.tolist())
            assert len(list(shm_dir.iterdir())) == 1
    assert len(tokens) > 20
    # The client closes what nobody did.
    assert buffer.closed
    assert not list(shm_dir.iterdir())


def test_some_columns_of_a_buffer_are_a_tensor_with_a_stride(
    start_server: StartServer, shm_dir: pathlib.Path
) -> None:
    server = start_server('--shm_dir', str(shm_dir))
    values = real_rows()[:3]
    rows, vocab = values.shape
    wide = np.pad(values, ((0, 0), (100, 100)), constant_values=1000.0)
    greedy = Params(temperature=0)
    with tokendraw.Client(server.address, shm_dir=str(shm_dir)) as client:
        logits = client.row_buffer(3 * wide.nbytes).array(
            np.float32, (3 * rows, vocab + 200)
        )
        logits[:] = np.tile(wide, (3, 1))
        for view, payload in (
            (logits[:rows, 100:-100], 'shared_memory'),
            # The last row's padding would lie outside the file.
            (logits[-rows:, 100:-100], 'inline'),
            (logits[1 : 2 * rows : 2, 100:-100], 'shared_memory'),
            (logits[rows - 1 :: -1, 100:-100], 'inline'),
            (logits[:rows, 100:-100:2], 'inline'),
            (np.asfortranarray(values), 'inline'),
        ):
            result = client.sample(view, greedy)
            assert result.token_ids.tolist() == view.argmax(axis=1).tolist()
            assert result.payload == payload
            assert len(set(result.token_ids)) > 1


@pytest.mark.parametrize(
    ('vocab', 'payload'), [(16_383, 'inline'), (16_384, 'shared_memory')]
)
def test_64_kib_are_the_least_that_a_file_is_used_for(
    start_server: StartServer, shm_dir: pathlib.Path, vocab: int, payload: str
) -> None:
    server = start_server('--shm_dir', str(shm_dir))
    with tokendraw.Client(server.address, shm_dir=str(shm_dir)) as client:
        logits = client.row_buffer(1 << 20).array(np.float32, (1, vocab))
        logits[0, -1] = 1.0
        result = client.sample(logits, Params(temperature=0))
        assert result.payload == payload
        assert result.token_ids.tolist() == [vocab - 1]


def test_the_directory_is_by_default_the_servers(
    start_server: StartServer, shm_dir: pathlib.Path
) -> None:
    server = start_server('--shm_dir', str(shm_dir))
    values = real_rows()
    with tokendraw.Client(server.address) as client:
        logits = _into(client.row_buffer(values.nbytes), values)
        assert len(list(shm_dir.iterdir())) == 1
        result = client.sample(logits, Params(temperature=0))
        assert result.payload == 'shared_memory'
        assert result.token_ids.tolist() == values.argmax(axis=1).tolist()


@pytest.mark.parametrize('seen', ['other', 'none', 'off'])
def test_without_a_shared_directory_the_rows_go_as_bytes(
    start_server: StartServer,
    shm_dir: pathlib.Path,
    tmp_path: pathlib.Path,
    seen: str,
) -> None:
    flags = [] if seen == 'off' else ['--shm_dir', str(shm_dir)]
    server = start_server(*flags)
    directory = {'other': tmp_path, 'none': tmp_path / 'none', 'off': shm_dir}
    before = set(tmp_path.iterdir())
    values = real_rows()
    with tokendraw.Client(
        server.address, shm_dir=str(directory[seen])
    ) as client:
        buffer = client.row_buffer(values.nbytes)
        logits = _into(buffer, values)
        result = client.sample(logits, Params(temperature=0))
        assert result.payload == 'inline'
        assert result.token_ids.tolist() == values.argmax(axis=1).tolist()
        assert not list(shm_dir.iterdir())
        assert set(tmp_path.iterdir()) == before
        buffer.close()
        with pytest.raises(ValueError, match='the buffer is closed'):
            buffer.array(np.float32, (1, 1))


def test_a_server_without_shared_memory_is_not_asked_to_prove_it(
    shm_dir: pathlib.Path,
) -> None:
    asked: list[Request] = []
    with (
        FakeService(lambda request, _: asked.append(request)) as service,
        tokendraw.Client(service.address, shm_dir=str(shm_dir)) as client,
    ):
        client.row_buffer(1 << 20)
        assert not asked and not list(shm_dir.iterdir())


@pytest.mark.parametrize('later', ['other', 'off'])
def test_a_server_that_comes_back_without_the_directory_gets_bytes(
    start_server: StartServer,
    shm_dir: pathlib.Path,
    tmp_path: pathlib.Path,
    later: str,
) -> None:
    server = start_server('--shm_dir', str(shm_dir))
    values = real_rows()
    wanted = values.argmax(axis=1).tolist()
    with tokendraw.Client(server.address, shm_dir=str(shm_dir)) as client:
        logits = _into(client.row_buffer(values.nbytes), values)
        assert client.sample(logits).payload == 'shared_memory'
        server.close()
        flags = ['--shm_dir', str(tmp_path)] if later == 'other' else []
        start_server(*flags)
        for _ in range(2):
            result = client.sample(logits, Params(temperature=0))
            assert result.payload == 'inline'
            assert result.token_ids.tolist() == wanted
        assert isinstance(client.row_buffer(9), tokendraw.RowBuffer)
        assert len(list(shm_dir.iterdir())) == 1


def test_a_client_serves_eight_threads(
    start_server: StartServer, shm_dir: pathlib.Path
) -> None:
    server = start_server('--shm_dir', str(shm_dir))
    values = real_rows()

    def loop(client: tokendraw.Client, row: int) -> list[str]:
        with client.row_buffer(values.nbytes) as buffer:
            logits = _into(buffer, values[row : row + 1])
            results = [
                client.sample(logits, Params(temperature=0)) for _ in range(20)
            ]
        assert {r.token_ids[0] for r in results} == {values[row].argmax()}
        return [result.payload for result in results]

    with (
        tokendraw.Client(server.address, shm_dir=str(shm_dir)) as client,
        futures.ThreadPoolExecutor(8) as pool,
    ):
        loops = [pool.submit(loop, client, row) for row in range(8)]
        for run in loops:
            assert run.result() == ['shared_memory'] * 20
        assert not list(shm_dir.iterdir())
