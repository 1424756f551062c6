"""The one server of these tests."""

from collections.abc import Iterator

import pytest

from service import Service


@pytest.fixture(name='service', scope='session')
def fixture_service() -> Iterator[Service]:
    with Service() as service:
        yield service
