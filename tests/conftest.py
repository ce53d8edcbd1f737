"""What several folders of tests share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.installed import Installed, installed

# Time is no matter for properties: a machine that is busy with the other half of the tests makes none of them wrong.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Installed]:
    """A fresh installation."""
    async with installed(tmp_path) as installation:
        yield installation
