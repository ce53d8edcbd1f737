"""The page about states is the code's own word: what is checked in is what would be written now."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts import generate_states

from ringback.domain.states import TRANSITIONS, EndReason, FailureKind, Status, TimeLimit


def test_the_page_is_fresh() -> None:
    assert generate_states.PAGE.read_text(encoding="utf-8") == generate_states.page(), (
        "write it anew: python scripts/generate_states.py"
    )


def test_it_is_written_where_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert generate_states.PAGE.parts[-2:] == ("docs", "states.md")
    monkeypatch.setattr(generate_states, "PAGE", tmp_path / "states.md")
    assert generate_states.main() == 0
    assert (tmp_path / "states.md").read_text(encoding="utf-8") == generate_states.page()


def test_it_shows_every_arc_and_every_word() -> None:
    page = generate_states.page()
    for status, arcs in TRANSITIONS.items():
        for after, reason in arcs.items():
            assert f"    {status} --> {after}\n" in page
            assert f"| `{status}` | `{after}` | {reason} |" in page
    for word in (*Status, *FailureKind, *TimeLimit, *EndReason):
        assert f"`{word}`" in page
