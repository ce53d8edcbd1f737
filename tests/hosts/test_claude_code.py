"""A real coding assistant, offline: it starts a test run of 30 s, goes on talking, and is told of the end."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.hosts.claude_code import SUMMARY, converse
from tests.mcp.clients import environment
from tests.real.cache import carry_out, kept
from tests.reliability.scale import IS_FULL

PINNED = Path(__file__).parent / "pinned"


def _program() -> str:
    def install(folder: Path) -> None:
        shutil.copytree(PINNED, folder, dirs_exist_ok=True)
        npm = ("npm", "install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error")
        carry_out(npm, folder, {"PATH": environment()["PATH"]})

    folder = kept("claude-code", [(PINNED / "package-lock.json").read_text(encoding="utf-8")], install) / "node_modules"
    (program,) = folder.glob("@anthropic-ai/claude-code-linux-*/claude")
    return str(program)


@pytest.mark.skipif(not IS_FULL, reason="downloads and drives a coding assistant: only at RINGBACK_TEST_SCALE=full")
def test_an_assistant_goes_on_talking_and_is_told_of_the_end(tmp_path: Path) -> None:
    model, times, screen = converse(_program(), tmp_path)
    replies = [reply for _, _, reply in model.asked]
    assert set(times) == {"started", "answered", "told"}, screen[-3000:].decode(errors="replace")
    assert replies.index("Paris.") < replies.index(f"The tests have ended: {SUMMARY}")
