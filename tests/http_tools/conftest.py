"""Installations for http tools, with a secret in the worker's environment and another in the server's."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.reliability.installation import Installation

Fresh = Callable[..., Installation]
HOOK_SECRET = "whsec_" + "c2VjcmV0LW9mLXRoZS1ob29r"
SERVER_ENV = {"RINGBACK_SECRET_HOOK_SECRET": HOOK_SECRET}
WORKER_ENV = {"API_TOKEN": "s3cr3t-of-the-job-api"}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A server, and a worker with a single slot, for tests that break nothing."""
    with Installation(tmp_path_factory.mktemp("http"), lease_s=10.0) as shared:
        shared.start_server(env=SERVER_ENV)
        shared.start_worker(slots=1, env=WORKER_ENV)
        yield shared


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
