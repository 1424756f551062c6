"""Rows that a worker leaves in a file of a memory file system."""

import os
import pathlib
import tempfile
from collections.abc import Iterator

import grpc
import pytest

from client import Client, fault_of
from conftest import StartServer
from protos import logits_pb2, sampling_pb2
from requests_of import real_rows, request, tensor

_F32, _BF16 = logits_pb2.DATA_TYPE_F32, logits_pb2.DATA_TYPE_BF16
_TRUNCATIONS = 200


@pytest.fixture(name='shm_dir')
def fixture_shm_dir() -> Iterator[pathlib.Path]:
    memory = '/dev/shm' if os.access('/dev/shm', os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as directory:
        yield pathlib.Path(directory)


def _shared(
    path: pathlib.Path, inline: logits_pb2.LogitsTensor
) -> logits_pb2.LogitsTensor:
    """The same tensor, left in a file."""
    path.write_bytes(inline.inline)
    shared = logits_pb2.LogitsTensor()
    shared.CopyFrom(inline)
    shared.shared_memory.name = path.name
    return shared


@pytest.mark.parametrize('data_type', [_F32, _BF16])
def test_real_rows_give_the_same_reply_from_a_file(
    start_server: StartServer, shm_dir: pathlib.Path, data_type: int
) -> None:
    server = start_server('--shm_dir', str(shm_dir))
    rows = real_rows()
    params = sampling_pb2.SampleTokensRequest(
        rows=[{'seed': 7, 'position': i} for i in range(len(rows))],
        params=[
            {'typical_p': 0.9, 'xtc_probability': 0.5, 'return_kept': True}
        ],
    )
    inline = sampling_pb2.SampleTokensRequest(logits=tensor(rows, data_type))
    inline.MergeFrom(params)
    shared = sampling_pb2.SampleTokensRequest(
        logits=_shared(shm_dir / 'rows', inline.logits)
    )
    shared.MergeFrom(params)
    with Client(server.address) as client, client.open_stream() as stream:
        assert client.sample(shared) == client.sample(inline)
        assert stream.step(shared) == stream.step(inline)


def test_a_file_that_is_gone_is_refused_and_the_stream_goes_on(
    start_server: StartServer, shm_dir: pathlib.Path
) -> None:
    server = start_server('--shm_dir', str(shm_dir))
    inline = request(real_rows()[:2])
    gone = request(real_rows()[:2])
    gone.logits.shared_memory.name = 'none'
    with Client(server.address) as client, client.open_stream() as stream:
        code, text = fault_of(lambda: client.sample(gone))
        assert code == grpc.StatusCode.INVALID_ARGUMENT
        assert text.startswith(
            'logits.shared_memory.name: cannot open the file'
        )
        assert 'cannot open the file' in stream.step(gone).error.message
        assert len(stream.step(inline).token_ids) == 2


# Field case G15.
def test_a_file_that_is_cut_while_it_is_queued_harms_nobody(
    start_server: StartServer, shm_dir: pathlib.Path
) -> None:
    server = start_server('--shm_dir', str(shm_dir))
    inline = request(real_rows())
    shared = request(real_rows())
    shared.logits.CopyFrom(_shared(shm_dir / 'rows', inline.logits))
    with Client(server.address) as client, client.open_stream() as stream:
        for _ in range(_TRUNCATIONS):
            stream.send(shared)
            os.truncate(shm_dir / 'rows', 0)
            reply = stream.receive()
            for error in reply.row_errors:
                assert error.code == sampling_pb2.ROW_ERROR_CODE_UNREADABLE
            (shm_dir / 'rows').write_bytes(inline.logits.inline)
        assert client.sample(shared).row_errors == []
