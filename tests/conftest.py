"""What several folders of tests share."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.installed import Installed, installed
from tests.leftovers import surroundings

# Time is no matter for properties: a machine that is busy with the other half of the tests makes none of them wrong.
# At the ordinary scale each run draws the same examples, so that what is green stays green; the full scale draws anew.
settings.register_profile(
    "any machine",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=os.environ.get("RINGBACK_TEST_SCALE") != "full",
)
settings.load_profile("any machine")


# In the background of a shell SIGINT is ignored, and every program that a test starts would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def leaves_nothing_behind() -> Iterator[None]:
    """Fails a test that changes what all tests of a process share."""
    before = surroundings()
    yield
    assert before.leftovers(surroundings()) == []


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Installed]:
    """A fresh installation."""
    async with installed(tmp_path) as installation:
        yield installation
