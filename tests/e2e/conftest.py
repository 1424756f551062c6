"""Fixtures of the end-to-end tests."""

from collections.abc import Callable, Iterator
import pathlib

from harness import Server
import pytest

StartServer = Callable[..., Server]


def _factory(directory: pathlib.Path) -> Iterator[StartServer]:
    servers: list[Server] = []

    def start(*flags: str, **settings: object) -> Server:
        servers.append(Server(directory, *flags, **settings))
        return servers[-1]

    yield start
    errors: list[str] = []
    for server in reversed(servers):
        try:
            server.close()
        except RuntimeError as error:
            errors.append(str(error))
    assert not errors, errors


@pytest.fixture(name='start_server')
def fixture_start_server(tmp_path: pathlib.Path) -> Iterator[StartServer]:
    """Starts servers (see harness.Server) that end with the test."""
    yield from _factory(tmp_path)


@pytest.fixture(name='server', scope='module')
def fixture_server(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Server]:
    """A server with default flags, for all tests of a file: socket and port."""
    directory = tmp_path_factory.mktemp('server')
    for start in _factory(directory):
        yield start(listen=(f'unix:{directory}/s', '127.0.0.1:0'))
