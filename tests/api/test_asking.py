"""Asking over HTTP with an attempt's token, who may answer what was asked, and taking it back."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest

from tests.api.callers import user
from tests.api.door import OTHER_TOKEN, Door, Worker

SHELL = {"name": "shell", "runtime": "command", "inputSchema": {"type": "object"}, "profile": {"command": ["true"]}}
GO: dict[str, Any] = {"kind": "approval", "title": "Go on?", "requestId": "r1"}


class Program:
    """A program inside an attempt: it has the token and nothing else."""

    def __init__(self, door: Door, token: str) -> None:
        self._client = door.client
        self._headers = {"authorization": f"Bearer {token}", "ringback-project": ""}

    async def send(self, method: str, path: str, body: Any = None, **headers: str) -> httpx2.Response:
        named = {**self._headers, **headers}
        return await self._client.request(method, f"/v1/attempt/{path}", json=body, headers=named)

    async def ask(self, **more: Any) -> dict[str, Any]:
        answer = await self.send("POST", "interactions", {**GO, **more})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found


async def _inside(door: Door) -> tuple[Program, Worker, dict[str, Any]]:
    definition = {"description": "", "policy": {}, **SHELL}
    assert (await door.client.put("/v1/tools", json={"definitions": [definition]})).status_code == 200
    await door.start(tool="shell")
    worker = await door.worker()
    claim = await worker.begin()
    return Program(door, claim["runToken"]), worker, claim


async def test_a_program_asks_waits_and_gets_the_answer(door: Door) -> None:
    program, _, claim = await _inside(door)
    asked = await program.ask(respondents=["admin"])
    assert (asked["status"], asked["runId"], asked["respondents"]) == ("open", claim["runId"], ["admin"])
    path = f"interactions/{asked['interactionId']}"
    waiting = asyncio.create_task(program.send("GET", path, prefer="wait=25"))
    answer = await door.client.post(f"/v1/{path}/respond", json={"decision": "approve"})
    assert answer.status_code == 200
    assert (await waiting).json() == answer.json()
    assert (await program.send("GET", "interactions")).json()["items"] == [answer.json()]
    assert await program.ask() == answer.json(), "repeated, the request is the same question"


async def test_a_program_does_nothing_else(door: Door) -> None:
    program, worker, claim = await _inside(door)
    asked = await program.ask()
    bearer = {"authorization": f"Bearer {claim['runToken']}"}
    for method, path in (
        ("GET", f"/v1/runs/{claim['runId']}"),
        ("POST", f"/v1/interactions/{asked['interactionId']}/respond"),
        ("GET", f"/async-runs/{claim['runId']}"),
        ("POST", "/jobs"),
    ):
        answer = await door.client.request(method, path, headers=bearer, json={"decision": "approve"})
        assert answer.status_code in (401, 404), (path, answer.text)
    await worker.settle(claim)
    for sent in (program.send("POST", "interactions", GO), program.send("POST", "progress", {"done": 1})):
        assert (await sent).status_code == 401, "the token dies with the attempt"


async def test_a_question_is_answered_by_those_to_whom_it_is_put(door: Door) -> None:
    program, _, _ = await _inside(door)
    asked = await program.ask(respondents=["editor"])
    runner = await user(door, "runner", {"default": "runner"})
    editor = await user(door, "editor", {"default": "editor"})
    path, body = f"/v1/interactions/{asked['interactionId']}/respond", {"decision": "approve"}
    refused = await door.client.post(path, json=body, headers=runner)
    assert (refused.status_code, refused.json()["code"]) == (403, "not_a_respondent")
    assert "editor and above" in refused.json()["detail"]
    assert (await door.client.get(f"/v1/interactions/{asked['interactionId']}", headers=runner)).json() == asked
    answered = await door.client.post(path, json=body, headers=editor)
    assert (answered.status_code, answered.json()["response"]["submittedBy"]) == (200, "editor")


@pytest.mark.parametrize("by_program", [True, False])
async def test_a_question_is_taken_back(door: Door, by_program: bool) -> None:
    program, worker, claim = await _inside(door)
    asked = await program.ask()
    path = f"interactions/{asked['interactionId']}"
    taken = await (
        program.send("POST", f"{path}/withdraw") if by_program else door.client.post(f"/v1/{path}/withdraw", json={})
    )
    assert (taken.status_code, taken.json()["status"]) == (200, "withdrawn")
    assert (await program.send("GET", path)).json() == taken.json()
    late = await door.client.post(f"/v1/{path}/respond", json={"decision": "approve"})
    assert (late.status_code, late.json()["interactionStatus"]) == (409, "withdrawn")
    assert "blockingInteractionId" not in await door.run(claim["runId"])
    await worker.settle(claim)
    told = [each for each in await door.events(claim["runId"]) if each.type.startswith("interaction.")]
    assert [(each.type, each.body["event"].get("status")) for each in told] == [
        ("interaction.requested", None),
        ("interaction.updated", "withdrawn"),
    ]


async def test_what_was_answered_is_not_taken_back(door: Door) -> None:
    program, _, _ = await _inside(door)
    asked = await program.ask()
    path = f"interactions/{asked['interactionId']}"
    await door.client.post(f"/v1/{path}/respond", json={"decision": "reject"})
    refused = await program.send("POST", f"{path}/withdraw")
    assert (refused.status_code, refused.json()["response"]["decision"]) == (409, "reject")
    theirs = {"authorization": f"Bearer {OTHER_TOKEN}", "ringback-project": "other"}
    assert (await door.client.post(f"/v1/{path}/withdraw", json={}, headers=theirs)).status_code == 404


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({**GO, "respondents": ["boss"]}, "/respondents"),
        ({**GO, "kind": "poll"}, "/kind"),
        ({"kind": "approval", "title": "x"}, "/requestId"),
        ({**GO, "surprise": 1}, "/surprise"),
        ({**GO, "expiresInS": "soon"}, "/expiresInS"),
    ],
)
async def test_what_cannot_be_asked_is_named(door: Door, body: Any, pointer: str) -> None:
    program, _, claim = await _inside(door)
    answer = await program.send("POST", "interactions", body)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)
    assert (await door.run(claim["runId"]))["openInteractionCount"] == 0


async def test_progress_comes_from_the_program_itself(door: Door) -> None:
    program, _, claim = await _inside(door)
    assert (await program.send("POST", "progress", {"done": 3, "total": 10, "message": "a\nb"})).status_code == 204
    assert (await door.run(claim["runId"]))["progress"] == {"done": 3, "total": 10, "message": "a b"}
    assert (await program.send("POST", "progress", {})).status_code == 422


async def test_an_unknown_status_is_no_filter(door: Door) -> None:
    _, _, claim = await _inside(door)
    answer = await door.client.get(f"/v1/runs/{claim['runId']}/interactions?status=open,closed")
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/status")
