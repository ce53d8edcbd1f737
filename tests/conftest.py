"""What several folders of tests share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.installed import Installed, installed


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Installed]:
    """A fresh installation."""
    async with installed(tmp_path) as installation:
        yield installation
