"""The example does what its README says."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringback.toolfile import load
from tests.http_tools.attempt import tried
from tests.worker.functions import ROOT

FOLDER = Path(ROOT) / "examples" / "http"


@pytest.fixture
def farm() -> Iterator[str]:
    """The farm's address."""
    with subprocess.Popen([sys.executable, str(FOLDER / "farm.py"), "0"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found is not None
            yield found[0]
        finally:
            process.kill()


async def test_the_farm_renders(farm: str) -> None:
    (definition,) = load(FOLDER).tools
    http = {**definition["profile"]["http"], "url": f"{farm}/v1/renderings"}
    async with tried() as it:
        outcome = await it.run(http, {"scene": "lighthouse", "frames": 2})
        assert (outcome.kind, outcome.result) == ("succeeded", {"film": "lighthouse.mp4", "frames": 2})
