"""One installation for the tests that leave it alive; a fresh one for those that kill something."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.reliability.client import Client
from tests.reliability.installation import FUNCTIONS, Installation
from tests.reliability.scale import IS_FULL

Fresh = Callable[..., Installation]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The full counts take their time."""
    for item in items if IS_FULL else ():
        item.add_marker(pytest.mark.timeout(3600))


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A server and two workers, one of them with functions, for tests that break nothing."""
    with Installation(tmp_path_factory.mktemp("installation"), lease_s=10.0) as shared:
        shared.start_server()
        shared.start_worker(slots=8, app=FUNCTIONS)
        shared.start_worker(slots=4, pools=["second"])
        yield shared


@pytest.fixture
def client(installation: Installation) -> Client:
    return installation.client()


@pytest.fixture
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fresh]:
    """Makes installations of the test's own, which end with it."""
    made: list[Installation] = []

    def make(**settings: Any) -> Installation:
        made.append(Installation(tmp_path_factory.mktemp("fresh"), **settings))
        return made[-1]

    try:
        yield make
    finally:
        for each in made:
            each.close()
