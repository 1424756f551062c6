"""Random numbers belong to a row's own key, and to nothing else."""

from concurrent import futures

import numpy as np

from client import Client
from harness import Server
import oracle
from requests_of import Params
from requests_of import Response
from requests_of import RowSpec
from requests_of import request


def test_a_neighbour_without_a_seed_does_not_move_a_row_with_one(
    server: Server,
) -> None:
    flat = np.zeros((8, 4), np.float32)
    seeded, drawn = RowSpec(seed=42), RowSpec()
    wanted = oracle.sample(flat[0], Params(), seeded)[0].token
    neighbours: set[int] = set()
    with Client(server.address) as client:
        for _ in range(100):
            reply = client.sample(request(flat[:2], rows=[seeded, drawn]))
            assert reply.token_ids[0] == wanted
            assert reply.seeds[0] == 42
            neighbours.add(reply.seeds[1])
        alone = client.sample(request(flat[:1], rows=[seeded]))
        last = client.sample(request(flat, rows=[drawn] * 7 + [seeded]))
    assert len(neighbours) == 100  # 2.7e-16 that two of them are equal
    assert (alone.token_ids[0], last.token_ids[7]) == (wanted, wanted)


def test_eight_callers_with_one_seed_draw_the_serial_sequence(
    server: Server,
) -> None:
    flat = np.zeros((1, 1000), np.float32)
    spec = RowSpec(seed=42, sample_count=64)

    def draw() -> Response:
        with Client(server.address) as client:
            return client.sample(request(flat, rows=[spec]))

    serial = list(draw().token_ids)
    assert len(set(serial)) > 32
    with futures.ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(draw) for _ in range(8)]
    replies = [call.result() for call in calls]
    assert [list(reply.token_ids) for reply in replies] == [serial] * 8
    assert [list(reply.seeds) for reply in replies] == [[42]] * 8


def test_the_seed_that_the_service_drew_replays_the_row(server: Server) -> None:
    flat = np.zeros((1, 1000), np.float32)
    with Client(server.address) as client:
        first = client.sample(request(flat, rows=[RowSpec(sample_count=64)]))
        spec = RowSpec(seed=first.seeds[0], sample_count=64)
        again = client.sample(request(flat, rows=[spec]))
    assert first.seeds[0] != 0  # 5.4e-20 that it is drawn
    assert again == first


def test_the_draws_of_one_row_are_independent(server: Server) -> None:
    flat = np.zeros((1, 4), np.float32)
    asked = request(flat, rows=[RowSpec(seed=1, sample_count=64)])
    with Client(server.address) as client:
        tokens = list(client.sample(asked).token_ids)
        assert list(client.sample(asked).token_ids) == tokens
    # The seed is fixed, so this cannot fail by chance.
    assert all(6 <= tokens.count(token) <= 28 for token in range(4))
