"""Questions from inside a function: what is asked, what comes back, and what a stop does to the waiting."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.worker.functions import SECRET, Functions, Started, functions


@asynccontextmanager
async def asking() -> AsyncIterator[Functions]:
    async with functions(target="tests.worker.asking_tools:app") as tools:
        yield tools


async def _asked(started: Started) -> None:
    await started.recorder.until(lambda recorder: bool(recorder.questions))


@pytest.mark.parametrize(
    ("status", "response", "said"),
    [
        ("answered", {"decision": "approve", "submittedBy": "ann"}, {"yes": True, "decision": "approve", "by": "ann"}),
        ("rejected", {"decision": "reject", "submittedBy": "ann"}, {"yes": False, "decision": "reject", "by": "ann"}),
        ("answered", {"selectedOptionId": "b"}, {"yes": True, "option": "b"}),
        ("expired", {"payload": 7}, {"yes": True, "payload": 7}),
        ("expired", None, {"UnansweredError": "the question is expired"}),
    ],
)
async def test_an_answer_reaches_the_tool(status: str, response: dict[str, Any] | None, said: dict[str, Any]) -> None:
    async with asking() as tools:
        started = tools.begin("asks", {"title": "Deploy?"})
        started.recorder.replies.append((status, response))
        outcome = await started.task
        assert {name: value for name, value in outcome.result.items() if value is not None} == said
        (question,) = started.recorder.questions
        assert question == {"kind": "approval", "title": "Deploy?", "key": "1. Deploy?", "blocking": True}


async def test_everything_that_can_be_said_of_a_question_arrives() -> None:
    more = {
        "kind": "input",
        "description": "why",
        "options": ["a", {"id": "b", "label": "B"}],
        "expires_in": 5.0,
        "default": "a",
    }
    async with asking() as tools:
        started = tools.begin(
            "asks", {"title": "Which?", "more": {**more, "blocking": False, "respondents": ["admin"], "key": "k"}}
        )
        started.recorder.replies.append(("answered", {"selectedOptionId": "a"}))
        await started.task
        (question,) = started.recorder.questions
        assert question == {
            "kind": "input",
            "title": "Which?",
            "key": "k",
            "blocking": False,
            "description": "why",
            "options": [{"id": "a", "label": "a"}, {"id": "b", "label": "B"}],
            "expiresInS": 5.0,
            "onExpiry": "default",
            "default": "a",
            "respondents": ["admin"],
        }


async def test_a_refused_question_is_an_error_of_its_own() -> None:
    async with asking() as tools:
        outcome = await tools.call("asks", {"title": "refused"})
        assert outcome.result == {"QuestionRefusedError": "another one is open (illegal_transition)"}


async def test_secrets_are_masked_in_questions() -> None:
    async with asking() as tools:
        started = tools.begin("asks", {"title": f"Use {SECRET}?"})
        started.recorder.replies.append(("answered", {}))
        await started.task
        assert SECRET not in str(started.recorder.questions)


async def test_an_async_tool_goes_on_while_it_waits() -> None:
    async with asking() as tools:
        started = tools.begin("asks_awaiting", {"title": "never answered"})
        await started.recorder.until(lambda recorder: len(recorder.of("progress")) >= 3)
        started.stop.request("cancel")
        assert (await started.task).kind == "stopped"


async def test_a_stop_ends_the_waiting_of_a_sync_tool_too() -> None:
    async with asking() as tools:
        started = tools.begin("asks", {"title": "never answered"})
        await _asked(started)
        started.stop.request("cancel")
        outcome = await started.task
        assert (outcome.kind, outcome.forced) == ("stopped", False)


async def test_the_idle_limit_rests_while_people_think() -> None:
    async with asking() as tools:
        started = tools.begin("asks", {"title": "never answered"}, idle_timeout_ms=50)
        await _asked(started)
        await asyncio.wait({started.task}, timeout=1)  # for much longer than the limit
        assert not started.stop.requested.is_set()
        started.stop.request("cancel")
        await started.task


async def test_two_questions_with_one_title_are_two() -> None:
    async with asking() as tools:
        started = tools.begin("asks_twice")
        started.recorder.replies += [("answered", {"decision": "approve"}), ("rejected", {"decision": "reject"})]
        assert (await started.task).result == ["approve", "reject"]
        assert [question["key"] for question in started.recorder.questions] == ["1. Again?", "2. Again?"]


async def test_who_stops_waiting_takes_the_question_back() -> None:
    async with asking() as tools:
        started = tools.begin("gives_up")
        assert (await started.task).result == ["withdrawn", None]
        assert started.recorder.withdrawn == ["short", "short", "unknown"]


async def test_a_stop_takes_nothing_back_for_the_end_of_the_attempt_does() -> None:
    async with asking() as tools:
        started = tools.begin("asks_awaiting", {"title": "never answered"})
        await _asked(started)
        started.stop.request("cancel")
        await started.task
        assert started.recorder.withdrawn == []


async def test_a_sync_tool_takes_back_by_key() -> None:
    async with asking() as tools:
        started = tools.begin("takes_back")
        started.recorder.replies.append(("answered", {}))
        assert (await started.task).result == ["withdrawn", None]


async def test_a_withdrawn_question_has_no_answer() -> None:
    async with asking() as tools:
        started = tools.begin("asks", {"title": "Deploy?"})
        started.recorder.replies.append(("withdrawn", None))
        assert (await started.task).result == {"UnansweredError": "the question is withdrawn"}


@pytest.mark.parametrize("tool", ["parks", "parks_in_sync"])
async def test_an_attempt_gives_its_slot_back_while_people_think(tool: str) -> None:
    async with asking() as tools:
        started = tools.begin(tool)
        started.recorder.replies.append(("open", None))
        outcome = await started.task
        assert (outcome.kind, outcome.parked) == ("released", True)
        assert outcome.to_wire() == {"outcome": "released", "parked": True}
        assert started.recorder.withdrawn == []
        again = tools.begin(tool, checkpoint=["prepared"])
        again.recorder.replies.append(("answered", {"decision": "approve"}))
        assert (await again.task).result == (["prepared", "approve"] if tool == "parks" else "approve")


async def test_an_answer_that_is_there_needs_no_giving_back() -> None:
    async with asking() as tools:
        started = tools.begin("parks")
        started.recorder.replies.append(("rejected", {"decision": "reject"}))
        assert (await started.task).result == ["prepared", "reject"]


async def test_only_a_question_that_blocks_gives_the_slot_back() -> None:
    async with asking() as tools:
        outcome = await tools.call("parks_beside")
        assert (outcome.kind, outcome.error_kind) == ("failed", "tool_error")
        assert "release=True" in (outcome.error_message or "")


@pytest.mark.parametrize(
    ("status", "kind", "retryable"), [("expired", "expired", False), ("withdrawn", "tool_error", True)]
)
async def test_a_question_that_nobody_answered_ends_a_tool_that_lets_it_pass(
    status: str, kind: str, retryable: bool
) -> None:
    async with asking() as tools:
        started = tools.begin("lets_pass")
        started.recorder.replies.append((status, None))
        outcome = await started.task
        assert (outcome.kind, outcome.error_kind, outcome.retryable) == ("failed", kind, retryable)
