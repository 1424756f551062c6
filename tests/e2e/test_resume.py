"""A worker whose server is killed goes on with the next one, unharmed."""

from collections.abc import Callable
import pathlib

import grpc
import numpy as np

from client import Client
from client import Stream
from conftest import StartServer
from requests_of import BF16
from requests_of import FloatArray
from requests_of import Params
from requests_of import Request
from requests_of import RowSpec
from requests_of import real_rows
from requests_of import request

_STEPS = 200
_KILLED_AT = (37, 100, 101, 163)

_PARAMS = Params(
    temperature=0.9,
    typical_p=0.95,
    xtc_probability=0.5,
    repetition_penalty=1.2,
    dry_multiplier=0.5,
)


class _Worker:
    """A decode loop over a raw stream, opened again whenever it breaks."""

    def __init__(self, address: str) -> None:
        self._client = Client(address)
        self._stream: Stream | None = None
        self.breaks: list[grpc.StatusCode] = []

    def step(self, asked: Request, between: Callable[[], None]) -> int:
        """One token. `between` runs after the request was sent."""
        while True:
            self._stream = self._stream or self._client.open_stream()
            self._stream.send(asked)
            between()
            try:
                reply = self._stream.receive()
            except grpc.RpcError as error:
                self.breaks.append(error.code())
                self._stream, between = None, lambda: None
                continue
            assert reply.step == asked.step
            assert not reply.row_errors and not reply.HasField('error')
            return reply.token_ids[0]

    def close(self) -> None:
        if self._stream:
            self._stream.close()
        self._client.channel.close()


def _generate(
    address: str, rows: FloatArray, between: Callable[[int], None]
) -> tuple[list[int], list[grpc.StatusCode]]:
    """Each step depends on the position and on all tokens so far."""
    worker = _Worker(address)
    tokens: list[int] = []
    for step in range(_STEPS):
        spec = RowSpec(seed=11, position=step, output_ids=tokens)
        row = rows[step % len(rows)][np.newaxis]
        asked = request(row, _PARAMS, [spec], data_type=BF16, step=step)
        tokens.append(worker.step(asked, lambda step=step: between(step)))
    worker.close()
    return tokens, worker.breaks


def test_a_stream_of_200_steps_outlives_kill_9(
    start_server: StartServer, tmp_path: pathlib.Path
) -> None:
    address = f'unix:{tmp_path}/s'
    rows = real_rows()
    servers = [start_server(listen=(address,))]

    def kill_and_replace(step: int) -> None:
        if step in _KILLED_AT:
            servers[-1].kill()
            servers.append(start_server(listen=(address,)))

    undisturbed, breaks = _generate(address, rows, lambda step: None)
    assert not breaks
    assert len(set(undisturbed)) > 20
    resumed, breaks = _generate(address, rows, kill_and_replace)
    assert len(servers) == 1 + len(_KILLED_AT)
    assert breaks and set(breaks) == {grpc.StatusCode.UNAVAILABLE}
    assert resumed == undisturbed
