"""Questions over HTTP: asked by a worker, listed, answered once, and unknown to strangers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.api.door import OTHER_TOKEN, Door, Worker

QUESTION: dict[str, Any] = {"kind": "approval", "title": "Deploy?", "key": "deploy"}
FORM = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}


async def _asked(door: Door, **more: Any) -> tuple[Worker, dict[str, Any], dict[str, Any]]:
    """A worker, its claim, and the question that it asked."""
    run_id = await door.start()
    worker = await door.worker()
    claim = await worker.begin()
    (told,) = await worker.report(claim, {"kind": "ask", "question": {**QUESTION, **more}})
    assert (told["ok"], told["interactionStatus"]) == (True, "open")
    (item,) = (await door.get(f"/v1/runs/{run_id}/interactions?status=open"))["items"]
    assert item["interactionId"] == told["interactionId"]
    return worker, claim, item


async def _respond(door: Door, item: dict[str, Any], body: Any, **headers: str) -> tuple[int, dict[str, Any]]:
    answer = await door.client.post(f"/v1/interactions/{item['interactionId']}/respond", json=body, headers=headers)
    return answer.status_code, answer.json()


async def test_a_question_is_shown_with_all_that_an_answer_needs(door: Door) -> None:
    options = [{"id": "a", "label": "Now"}, {"id": "b"}]
    more = {"options": options, "description": "To production.", "expiresInS": 60, "respondents": ["admin"]}
    _, claim, item = await _asked(door, onExpiry="reject", **more)
    assert (item["kind"], item["status"], item["blocking"], item["options"]) == ("approval", "open", True, options)
    assert item["prompt"] == {"title": "Deploy?", "description": "To production."}
    assert (item["runId"], item["onExpiry"], item["respondents"]) == (claim["runId"], "reject", ["admin"])
    assert item["expiresAt"] > item["openedAt"]
    assert await door.get(f"/v1/interactions/{item['interactionId']}") == item
    run = await door.run(claim["runId"])
    assert (run["blockingInteractionId"], run["openInteractionCount"]) == (item["interactionId"], 1)
    job = await door.get(f"/jobs/{run['jobId']}")
    waiting = {"kind": "interaction", "interactionId": item["interactionId"], "reason": "Deploy?"}
    assert (job["status"], job["waiting_for"]) == ("running", waiting)


async def test_an_answer_is_single_and_the_second_is_shown_the_first(door: Door) -> None:
    worker, claim, item = await _asked(door)
    status, closed = await _respond(door, item, {"decision": "approve"})
    assert (status, closed["status"], closed["response"]["submittedBy"]) == (200, "answered", "tester")
    status, problem = await _respond(door, item, {"decision": "reject"})
    assert (status, problem["code"], problem["retryable"]) == (409, "already_answered", False)
    assert (problem["interactionStatus"], problem["response"]) == ("answered", closed["response"])
    (told,) = await worker.report(claim, {"kind": "ask", "question": QUESTION})
    assert (told["interactionStatus"], told["response"]) == ("answered", closed["response"])
    assert (await door.get(f"/v1/runs/{claim['runId']}/interactions?status=open"))["items"] == []


async def test_of_many_answers_at_once_one_counts(door: Door) -> None:
    _, _, item = await _asked(door)
    words = ("approve", "reject") * 4
    answers = await asyncio.gather(*(_respond(door, item, {"decision": word}) for word in words))
    assert sorted(status for status, _ in answers) == [200] + [409] * 7
    counted = next(body["response"] for status, body in answers if status == 200)
    assert all(body["response"] == counted for _, body in answers)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"payload": {"n": 0}}, "/payload/n"),
        ({"payload": {"n": "x"}}, "/payload/n"),
        ({"payload": {}}, "/payload"),
        ({"payload": None}, "/payload"),
        ({}, "/payload"),
        ({"decision": "maybe"}, "/decision"),
        ({"selectedOptionId": "a"}, "/selectedOptionId"),
        ({"answer": 1}, "/answer"),
    ],
)
async def test_what_is_no_answer_is_named_and_leaves_the_question_open(door: Door, body: Any, pointer: str) -> None:
    _, _, item = await _asked(door, kind="input", responseSchema=FORM)
    status, problem = await _respond(door, item, body)
    assert (status, problem["errors"][0]["pointer"]) == (422, pointer)
    assert (await door.get(f"/v1/interactions/{item['interactionId']}"))["status"] == "open"
    status, closed = await _respond(door, item, {"payload": {"n": 1}})
    assert (status, closed["response"]["payload"]) == (200, {"n": 1})


async def test_to_refuse_is_an_answer_to_every_question(door: Door) -> None:
    _, _, item = await _asked(door, kind="input", responseSchema=FORM)
    status, closed = await _respond(door, item, {"decision": "reject"})
    assert (status, closed["status"]) == (200, "rejected")


async def test_an_answer_wakes_a_worker_that_waits_for_work(door: Door) -> None:
    worker, claim, item = await _asked(door)
    waiting = asyncio.create_task(worker.post("claim", {"slots": 0, "waitMs": 20_000}))
    assert (await _respond(door, item, {"decision": "approve"}))[0] == 200
    assert (await waiting)["answered"] == [claim["runId"]]


async def test_another_project_sees_and_answers_nothing(door: Door) -> None:
    _, claim, item = await _asked(door)
    theirs = {"authorization": f"Bearer {OTHER_TOKEN}", "ringback-project": "other"}
    for path in (f"/v1/interactions/{item['interactionId']}", f"/v1/runs/{claim['runId']}/interactions"):
        assert (await door.client.get(path, headers=theirs)).status_code == 404
    status, problem = await _respond(door, item, {"decision": "approve"}, **theirs)
    missing, unknown = await _respond(door, {"interactionId": "int_" + "0" * 32}, {"decision": "approve"}, **theirs)
    assert (status, problem["code"], missing, unknown["code"]) == (404, "not_found", 404, "not_found")
    assert (await door.get(f"/v1/interactions/{item['interactionId']}"))["status"] == "open"


async def test_the_stream_tells_of_the_question_and_of_its_answer(door: Door) -> None:
    worker, claim, item = await _asked(door)
    await _respond(door, item, {"decision": "reject"})
    await worker.settle(claim)
    told = [each for each in await door.events(claim["runId"]) if each.type.startswith("interaction.")]
    assert [each.type for each in told] == ["interaction.requested", "interaction.responded"]
    assert {each.body["event"]["interactionId"] for each in told} == {item["interactionId"]}
    assert told[1].body["event"]["status"] == "rejected"
    assert (await door.get(f"/v1/runs/{claim['runId']}/replay"))["identical"]
