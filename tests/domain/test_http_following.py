"""What answers of job APIs mean, style by style."""

from __future__ import annotations

from typing import Any

import pytest

from ringback.domain.http_following import Follow, Word, judge, progress_of, result_of, text_of
from ringback.domain.http_styles import STYLES
from ringback.domain.http_template import MISSING


def follow(**told: Any) -> Follow:
    return Follow.of({"follow": told})


@pytest.mark.parametrize(
    ("style", "status", "document", "word"),
    [
        ("auto", 202, MISSING, "active"),
        ("auto", 200, MISSING, "done"),
        ("auto", 200, {"rows": 1}, "done"),
        ("auto", 200, {"status": "Running"}, "active"),
        ("auto", 200, {"status": "in-progress"}, "active"),
        ("auto", 202, {"status": "Succeeded"}, "done"),
        ("auto", 200, {"state": "TIMED OUT"}, "failed"),
        ("auto", 200, {"status": {"state": "Canceled"}}, "cancelled"),
        ("auto", 200, {"properties": {"provisioningState": "Creating"}}, "active"),
        ("auto", 200, {"done": False}, "active"),
        ("auto", 200, {"name": "operations/1", "metadata": {}}, "active"),
        ("auto", 200, {"done": True, "response": {}}, "done"),
        ("auto", 200, [1, 2], "done"),
        ("azure", 200, {"status": "InProgress"}, "active"),
        ("azure", 200, {"status": "Failed", "error": {"code": "x"}}, "failed"),
        ("google", 200, {"name": "operations/1", "metadata": {}}, "active"),
        ("google", 200, {"name": "operations/1", "done": True, "response": 1}, "done"),
        ("google", 200, {"name": "operations/1", "done": True, "error": {"code": 3}}, "failed"),
        ("google", 200, {"name": "operations/1", "done": True, "error": {"code": 1}}, "cancelled"),
        ("ringback", 200, {"status": "queued"}, "active"),
        ("ringback", 200, {"status": "done"}, "done"),
        ("ringback", 200, {"status": "cancelled"}, "cancelled"),
        ("openai", 200, {"status": "finalizing"}, "active"),
        ("openai", 200, {"status": "cancelling"}, "active"),
        ("openai", 200, {"status": "completed"}, "done"),
        ("openai", 200, {"status": "expired"}, "failed"),
    ],
)
def test_verdicts(style: str, status: int, document: Any, word: Word) -> None:
    assert judge(follow(style=style), status, document).word == word


def test_a_job_that_told_its_state_must_go_on_doing_so() -> None:
    assert judge(follow(), 200, {"oops": 1}, knew_state=True).word == "unclear"
    assert judge(follow(), 202, MISSING, knew_state=True).word == "active"


def test_words_of_ones_own() -> None:
    mine = follow(state="/phase", running=["brewing", 1], done=[2, True], failed=["spilt"], cancelled=[])
    verdicts = {value: judge(mine, 200, {"phase": value}).word for value in ("Brewing", 2, "spilt", "cancelled")}
    assert verdicts == {"Brewing": "active", 2: "done", "spilt": "failed", "cancelled": "unclear"}
    assert judge(mine, 200, {"phase": 1}).word == "active"
    assert judge(mine, 200, {"phase": True}).word == "done"
    assert judge(mine, 200, {"phase": [1]}).word == "done"  # no state at all: as HTTP says


def test_progress_messages_and_results() -> None:
    assert progress_of(follow(), {"progress": {"done": 2, "total": 4, "message": "m"}}) == (2, 4, "m")
    assert progress_of(follow(), {"percentComplete": 12.5, "message": " "}) == (12.5, None, None)
    assert progress_of(follow(), {"progress": True}) == (None, None, None)
    assert text_of(["/a", "/b"], {"a": 1, "b": "x" * 2000}) == "x" * 1000
    assert result_of(follow(), {"result": None}) is None
    assert result_of(follow(), {"other": 1}) == {"other": 1}
    assert result_of(follow(result="/deep/0"), {"deep": [5]}) == 5
    assert result_of(follow(result="/deep/1"), {"deep": [5]}) == {"deep": [5]}


@pytest.mark.parametrize("style", STYLES)
def test_what_the_profile_says_counts(style: str) -> None:
    mine = follow(style=style, headers="X-Job", intervalS=100, on=[299])
    assert (mine.headers, mine.interval_s, mine.interval_max_s, mine.on) == (("X-Job",), 100, 100, (299,))
