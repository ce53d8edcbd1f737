"""Runs as tasks of A2A: one word for each state, and nothing that the protocol's numbers can't hold."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ringback.domain.ids import InteractionId
from ringback.domain.records import replace
from ringback.domain.states import Status
from ringback.services.questions import Interaction
from ringback.services.results import ResultPage
from ringback.views.a2a import Seen, artifacts, card, data_part, status, task
from tests.builders import NOON, blocked, ended, in_status, run_id, running


def seen(run: Any, **more: Any) -> Seen:
    return Seen(run=run, context_id="ctx", **more)


def question(kind: str = "approval") -> Interaction:
    return Interaction(
        interaction_id=InteractionId("i1"),
        run_id=run_id(1),
        kind=kind,
        is_blocking=True,
        status="open",
        question={"title": "Go?"},
        expires_at=None,
        opened_at=NOON,
        closed_at=None,
        response=None,
    )


@pytest.mark.parametrize(
    ("run", "word"),
    [
        (in_status(Status.QUEUED), "SUBMITTED"),
        (in_status(Status.SUBMITTED), "SUBMITTED"),
        (in_status(Status.RUNNING), "WORKING"),
        (in_status(Status.RETRYING), "WORKING"),
        (in_status(Status.CANCELING), "WORKING"),
        (in_status(Status.SUCCEEDED), "COMPLETED"),
        (in_status(Status.FAILED), "FAILED"),
        (in_status(Status.CANCELED), "CANCELED"),
    ],
)
def test_each_status_has_one_word(run: Any, word: str) -> None:
    assert task(seen(run))["status"]["state"] == f"TASK_STATE_{word}"


@pytest.mark.parametrize(("kind", "word"), [("approval", "INPUT_REQUIRED"), ("auth", "AUTH_REQUIRED")])
def test_a_question_is_the_status_and_its_message(kind: str, word: str) -> None:
    shown = status(seen(blocked(running()), question=question(kind)))
    assert shown["state"] == f"TASK_STATE_{word}"
    text, data = shown["message"]["parts"]
    assert text == {"text": "Go?"}
    assert data["data"]["interaction"]["interactionId"] == "i1"


@pytest.mark.parametrize(
    ("progress", "text"),
    [
        ({"done": 2, "total": 5, "message": "m"}, "2/5 m"),
        ({"done": 0.5}, "0.5"),
        ({"message": "m"}, "m"),
        ({}, None),
        (None, None),
    ],
)
def test_progress_is_said(progress: Any, text: str | None) -> None:
    shown = status(seen(replace(running(), progress=progress)))
    assert shown.get("message", {}).get("parts") == (None if text is None else [{"text": text}])


def test_what_was_brought_and_written() -> None:
    run = ended(Status.SUCCEEDED, summary="fine")
    page = ResultPage(
        run=run, items=[1], output=b"out\x1b[1m", dropped=0, value={"result": {"n": 1}}, next_cursor="more"
    )
    result, output = artifacts(seen(run, brought=page))
    assert result["parts"] == [{"data": {"result": {"n": 1}, "items": [1]}, "mediaType": "application/json"}]
    assert output["parts"][0]["text"] == "out"
    assert output["metadata"] == {"isComplete": False}
    assert status(seen(run))["message"]["parts"] == [{"text": "fine"}]
    nothing = ResultPage(run=run, items=None, output=b"", dropped=0, value=None, next_cursor=None)
    assert "artifacts" not in task(seen(run, brought=nothing))


def test_numbers_that_a_double_can_not_hold_go_as_text() -> None:
    deep: Any = 1
    for _ in range(60):
        deep = [deep]
    for value in ({"n": 2**53 + 1}, [-(2**60)], deep):
        part = data_part(value)
        assert json.loads(part["text"]) == value
    assert data_part({"n": 2**53, "b": True})["data"] == {"n": 2**53, "b": True}


def test_the_card_is_the_same_for_everybody() -> None:
    assert card("http://h/a2a", "1")["supportedInterfaces"][0]["url"] == "http://h/a2a"
