"""The manual and the example: every block of TOML there is read, and its commands can be rendered."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ringback.domain.commands import render
from ringback.toolfile import load, parse
from ringback.toolfile.tools import KEYS

ROOT = Path(__file__).parents[2]
MANUAL = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```toml\n(.*?)^```", MANUAL, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.partition("\n")[0])
def test_a_block_of_the_manual_is_read(block: str) -> None:
    for tool in parse(block, file=ROOT / "ringback.toml").tools:
        required = tool["inputSchema"].get("required", [])
        assert render(tool["profile"], dict.fromkeys(required, "a"))


def test_the_manual_has_every_key() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", MANUAL, re.MULTILINE)
    assert set(KEYS) <= set(rows)


def test_the_quickstart_is_read_and_needs_nothing_to_start() -> None:
    file = load(ROOT / "examples" / "quickstart")
    assert [tool["name"] for tool in file.tools] == ["test", "check", "countdown", "build"]
    for tool in file.tools:
        argv = render(tool["profile"], {})
        assert argv[0] == "python"
        assert Path(tool["profile"]["cwd"]) == ROOT / "examples" / "quickstart"
        assert argv[1] == "-m" or (ROOT / "examples" / "quickstart" / argv[1]).is_file()
