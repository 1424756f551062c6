"""How much of a stream the server takes at a time."""

import numpy as np
import pytest

from client import Client
from conftest import StartServer
from requests_of import Params
from requests_of import Request
from requests_of import request
from slow import slow_request

_DEADLINE_EXCEEDED = 4


def _small(step: int) -> Request:
    asked = request([[1, 3, 2]], Params(temperature=0), step=step)
    asked.timeout_ms = 500
    return asked


@pytest.mark.parametrize('max_in_flight', [1, 2, 5])
def test_a_client_that_writes_50_messages_has_n_of_them_taken(
    start_server: StartServer, max_in_flight: int
) -> None:
    """The time of a message runs from when it is taken.

    So those that are taken while the first one is computed expire, and those
    that wait in the transport do not.
    """
    server = start_server(
        '--threads', '1', '--max_in_flight', str(max_in_flight)
    )
    with Client(server.address) as client, client.open_stream() as stream:
        stream.step(_small(0))
        stream.send(slow_request(client, 2.0))
        for step in range(1, 50):
            stream.send(_small(step))
        replies = list(stream.rest())
    assert [reply.step for reply in replies] == list(range(50))
    codes = [reply.error.code for reply in replies]
    late = [_DEADLINE_EXCEEDED] * (max_in_flight - 1)
    assert codes == [0, *late] + [0] * (49 - len(late))
    assert all(list(r.token_ids) == [1] for r in replies[max_in_flight:])


def test_replies_keep_the_order_of_the_messages(
    start_server: StartServer,
) -> None:
    """Long and short messages in turn, on two threads."""
    server = start_server('--threads', '2', '--max_in_flight', '8')
    wide = np.zeros((20, 20_000), np.float32)
    with Client(server.address) as client, client.open_stream() as stream:
        for step in range(40):
            rows = wide if step % 2 == 0 else wide[:1, :3]
            stream.send(request(rows, step=step))
        steps = [(r.step, len(r.token_ids)) for r in stream.rest()]
    assert steps == [(step, 1 if step % 2 else 20) for step in range(40)]
