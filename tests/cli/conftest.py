"""One running server for the tests of the commands."""

from collections.abc import Iterator

import pytest

from tests.cli.living import Living, living


@pytest.fixture(scope="session")
def rb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Living]:
    with living(tmp_path_factory.mktemp("living")) as running:
        yield running
