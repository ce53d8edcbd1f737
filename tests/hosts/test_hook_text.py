"""What hooks answer: each in its host's words, never more than it takes, and nothing where nothing can be told."""

from __future__ import annotations

from typing import Any

import pytest

from ringback.cli.inbox import Format
from ringback.domain.notice_text import event_text
from ringback.hosts.batch import ABOUT, CHARS_MAX, batch
from ringback.hosts.dialects import DIALECTS, Moment


def item(number: int, *, said: str | None = "3 passed", status: str = "done") -> dict[str, Any]:
    job_id = f"job_{number:026d}"
    text = event_text(
        "job_completed", job_id=job_id, tool="test", status=status, event_id="0" * 36 + ":9", sequence=9, said=said
    )
    return {"itemId": str(number), "status": status, "text": text}


def test_every_dialect_is_a_format_of_the_command() -> None:
    assert {each.value for each in Format} - {"text", "json"} == set(DIALECTS)


@pytest.mark.parametrize("name", ["claude-code-hook", "codex-hook"])
@pytest.mark.parametrize("event", ["UserPromptSubmit", "SessionStart", "PostToolUse"])
def test_notices_are_added_to_what_the_model_reads(name: str, event: str) -> None:
    dialect = DIALECTS[name]
    assert dialect.moment_of({"hook_event_name": event}) is Moment.PROMPT
    assert dialect.answer(Moment.PROMPT, event, "news") == {
        "hookSpecificOutput": {"hookEventName": event, "additionalContext": "news"}
    }


@pytest.mark.parametrize(
    ("name", "told", "answer"),
    [
        ("claude-code-hook", {"hook_event_name": "Stop"}, {"decision": "block", "reason": "news"}),
        ("codex-hook", {"hook_event_name": "Stop"}, {"decision": "block", "reason": "news"}),
        (
            "vscode-hook",
            {"hookEventName": "Stop"},
            {"hookSpecificOutput": {"hookEventName": "Stop", "decision": "block", "reason": "news"}},
        ),
        ("gemini-hook", {"hook_event_name": "AfterAgent"}, {"decision": "deny", "reason": "news"}),
        (
            "cursor-hook",
            {"hook_event_name": "stop", "status": "completed", "loop_count": 0},
            {"followup_message": "news"},
        ),
    ],
)
def test_at_the_end_of_a_turn_they_give_it_one_more(name: str, told: dict[str, Any], answer: dict[str, Any]) -> None:
    dialect = DIALECTS[name]
    moment = dialect.moment_of(told)
    assert moment is Moment.TURN_END
    assert dialect.answer(moment, dialect.event_of(told), "news") == answer


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("claude-code-hook", {"hook_event_name": "Stop", "stop_hook_active": True}),
        ("codex-hook", {"hook_event_name": "Stop", "stop_hook_active": True}),
        ("gemini-hook", {"hook_event_name": "AfterAgent", "stop_hook_active": True}),
        ("cursor-hook", {"hook_event_name": "stop", "status": "completed", "loop_count": 3}),
        ("cursor-hook", {"hook_event_name": "stop", "status": "aborted", "loop_count": 0}),
        ("cursor-hook", {"hook_event_name": "beforeSubmitPrompt"}),
        ("claude-code-hook", {"hook_event_name": "Notification"}),
        ("vscode-hook", {"hook_event_name": "UserPromptSubmit"}),
    ],
)
def test_nothing_is_told_where_it_would_loop_or_get_lost(name: str, told: dict[str, Any]) -> None:
    assert DIALECTS[name].moment_of(told) is Moment.OTHER


@pytest.mark.parametrize("name", ["vscode-hook", "gemini-hook"])
def test_the_other_hosts_take_context_too(name: str) -> None:
    dialect = DIALECTS[name]
    assert dialect.answer(Moment.PROMPT, "SessionStart", "news") == {
        "hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "news"}
    }
    assert dialect.moment_of({}) is Moment.PROMPT


def test_a_batch_says_whose_words_these_are() -> None:
    """O83."""
    told = batch([item(1), item(2)])
    assert told.text.startswith(ABOUT)
    assert "not from the user" in ABOUT
    assert told.text.count("[event]") == 2
    assert batch([]).text == ""


def test_sixty_ends_are_one_batch_that_fits() -> None:
    """O85."""
    items = [item(number, said="x" * 500, status="failed" if number % 7 == 0 else "done") for number in range(60)]
    told, taken = "", 0
    turns = 0
    while taken < len(items):
        one = batch(items[taken:])
        assert len(one.text) <= CHARS_MAX
        assert one.text.count("[event]") == len(one.told)
        if taken + len(one.told) < len(items):
            assert f"{len(items) - taken - len(one.told)} more wait" in one.text
        told, taken, turns = told + one.text, taken + len(one.told), turns + 1
    assert turns <= 2
    assert [each for each in items if each["text"].split("\n")[0] not in told] == []


def test_what_is_beyond_this_page_is_said_too() -> None:
    assert batch([item(1)], has_more=True).text.endswith("0+ more wait in the inbox and come next.")
    assert batch([item(1, said=None)] * 80).text.count("summary:") == 0
    assert batch([{"text": "x" * CHARS_MAX}]).told == ()
