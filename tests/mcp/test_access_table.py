"""Every MCP method and tool, with every role, a token without the scope, and a foreign project, against the declared table."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ringback.core import Core
from ringback.domain.roles import Role
from ringback.mcp.builtin import builtin_tools
from ringback.mcp.http import PATH, McpDoor
from ringback.mcp.server import create_server
from ringback.services.access import SCOPES
from tests.api.access_table import ROLES
from tests.api.callers import user
from tests.api.door import TOKEN, TOOL, Door, opened
from tests.api.mcp_access_table import METHODS, OF_THE_CALLER, TOOLS

UNKNOWN = "job_01890000000070008000000000"
UNKNOWN_RUN = "01890000-0000-7000-8000-000000000000"
VERSION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {
        "elicitation": {},
        "extensions": {"io.modelcontextprotocol/tasks": {}},
    },
}
ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    "answer_interaction": {"interaction_id": UNKNOWN_RUN, "decision": "approve"},
    "get_job_result": {"job_id": UNKNOWN},
    "get_job_status": {"job_id": UNKNOWN},
    "read_async_run": {"run_id": UNKNOWN_RUN},
    "stop_job": {"job_id": UNKNOWN},
    "test_run_script": {"name": "none"},
    "wait_for_jobs": {"job_ids": [UNKNOWN]},
}
SERVED = [name for name in METHODS if name != "tools/call"]


@dataclass(frozen=True, slots=True)
class Task:
    """A job of the caller's own that asks something."""

    task_id: str
    question: str


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    doors: list[McpDoor] = []

    def mount(core: Core, api: Any) -> dict[str, Any]:
        doors.append(McpDoor(api, core.access.owner_of))
        return {PATH: doors[0]}

    async with opened(tmp_path, (TOOL,), mount) as one:
        one.client.headers.pop("ringback-project")
        try:
            yield one
        finally:
            await doors[0].aclose()


async def ask(door: Door, headers: Mapping[str, str], slug: str, method: str, **params: Any) -> dict[str, Any]:
    """The message that answers a request of the stateless era."""
    name = params.get("name") or params.get("taskId")
    routed = {"mcp-protocol-version": VERSION, "mcp-method": method, **({"mcp-name": str(name)} if name else {})}
    routed |= {"accept": "application/json, text/event-stream", "ringback-project": slug, **headers}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
    answer = await door.client.post(PATH, json=body, headers=routed, timeout=60)
    assert answer.status_code < 500, answer.text
    if answer.headers["content-type"].startswith("text/event-stream"):
        lines = [line for line in answer.text.splitlines() if line.startswith("data: ")]
        messages = [json.loads(line[6:]) for line in lines]
        return next(dict(each) for each in messages if each.get("id") == 1)
    return dict(answer.json())


def error_of(message: Mapping[str, Any]) -> dict[str, Any] | None:
    """What was refused, whether as an error of the protocol or of a tool; None: nothing was."""
    if "error" in message:
        error: dict[str, Any] = message["error"]
        return {
            "code": error["code"],
            "message": error["message"],
            "status": (error.get("data") or {}).get("httpStatus"),
        }
    if not message["result"].get("isError"):
        return None
    (block,) = message["result"]["content"]
    error = json.loads(block["text"])["error"]
    return {"code": error["code"], "message": error["message"], "status": error.get("http_status")}


async def use(door: Door, headers: Mapping[str, str], slug: str, name: str, task: Task | None = None) -> Any:
    """Ask for a method or call a tool; how it was refused."""
    if name in TOOLS:
        message = await ask(door, headers, slug, "tools/call", name=name, arguments=dict(ARGUMENTS.get(name, {})))
        return error_of(message)
    task_id = task.task_id if task else UNKNOWN
    params: dict[str, Any] = {"taskId": task_id} if name.startswith("tasks/") else {}
    if name == "tasks/update":
        answer = {"action": "accept", "content": {}}
        params["inputResponses"] = {task.question if task else UNKNOWN_RUN: answer}
    if name == "subscriptions/listen":  # a stream about a task that is unknown ends at once
        params = {"notifications": {"taskIds": [UNKNOWN]}}
    return error_of(await ask(door, headers, slug, name, **params))


def is_forbidden(error: Mapping[str, Any] | None) -> bool:
    return error is not None and error["status"] == 403


async def own_task(door: Door, headers: Mapping[str, str]) -> Task:
    """A job that the caller started, which a worker has begun and which asks."""
    named = {**headers, "ringback-project": "default"}
    started = await door.client.post("/jobs", json={"tool": "echo", "arguments": {}}, headers=named)
    assert started.status_code == 202, started.text
    kept = dict(door.client.headers)
    door.client.headers["ringback-project"] = "default"
    try:
        worker = await door.worker()
        claim = await worker.begin()
        question = {"kind": "approval", "title": "Deploy?", "key": "deploy"}
        (told,) = await worker.report(claim, {"kind": "ask", "question": question})
    finally:
        door.client.headers = kept
    return Task(started.json()["job_id"], told["interactionId"])


async def test_the_table_is_whole(door: Door) -> None:
    headers = {"authorization": f"Bearer {TOKEN}"}
    listed = await ask(door, headers, "default", "tools/list")
    assert {tool["name"] for tool in listed["result"]["tools"]} == set(TOOLS) == {*builtin_tools(), "start_echo"}
    server = create_server(_nobody)
    asked = (*METHODS, "ping", "prompts/list", "prompts/get", "resources/list", "resources/read", "completion/complete")
    served = {name for name in asked if server.get_request_handler(name) is not None}
    assert served == {*METHODS, "ping"}  # a ping is about nothing that is anybody's


async def _nobody(_: Any) -> Any:
    raise AssertionError("nobody calls")


@pytest.mark.parametrize("role", ROLES)
async def test_a_role_opens_what_the_table_says(door: Door, role: str) -> None:
    """A task is shown to its owner alone: the caller starts one as an owner of the project and then has the role only."""
    headers = await user(door, "someone", {"default": "owner"})
    task = await own_task(door, headers)
    installation = await door.core.access.authenticate(TOKEN)
    project = door.core.access.authorize(installation, "access:admin", "default")
    await door.core.directory.set_role(installation, project, "other-owner", Role.OWNER)
    await door.core.directory.set_role(installation, project, "someone", Role(role))
    for name in (*TOOLS, *SERVED):
        scope = METHODS.get(name) if name in METHODS else TOOLS[name]
        error = await use(door, headers, "default", name, task)
        is_open = scope is None or scope in ROLES[role]
        assert is_forbidden(error) != is_open, (name, error)
        if name in SERVED and is_open:
            assert error is None, (name, error)


async def test_a_token_narrows_its_users_role(door: Door) -> None:
    """An owner's token without a scope opens nothing that needs it, and everything else."""
    owner = await user(door, "someone", {"default": "owner"})
    for scope in sorted({*TOOLS.values(), *(scope for scope in METHODS.values() if scope)}):
        task = await own_task(door, owner)
        token = f"rbp_{scope.replace(':', '_'):w<43}"
        await door.core.access.remember(token, owner="someone", scopes=SCOPES - {scope}, user_id="someone")
        for name in (*TOOLS, *SERVED):
            if (METHODS[name] if name in METHODS else TOOLS[name]) == scope:
                error = await use(door, {"authorization": f"Bearer {token}"}, "default", name, task)
                assert is_forbidden(error), (scope, name, error)


async def test_a_foreign_project_answers_like_none(door: Door) -> None:
    """Same refusal but for the name that was asked for, and never as if it were there."""
    headers = await user(door, "someone", {"default": "owner"})
    for name in (*TOOLS, *SERVED):
        foreign, none = [await use(door, headers, slug, name) for slug in ("other", "ntohr")]
        if name in OF_THE_CALLER:
            assert (foreign, none) == (None, None), name
            continue
        if name == "subscriptions/listen":  # none of its tasks is honoured, there or anywhere
            assert foreign == none
            continue
        assert foreign is not None, name
        assert none is not None, name
        assert foreign["status"] in (404, None), (name, foreign)
        assert {**foreign, "message": foreign["message"].replace("other", "SLUG")} == {
            **none,
            "message": none["message"].replace("ntohr", "SLUG"),
        }, name


async def test_no_token_opens_nothing(door: Door) -> None:
    for given in ({}, {"authorization": "Bearer rbp_" + "x" * 43}):
        door.client.headers.pop("authorization", None)
        answer = await door.client.post(
            PATH, json={}, headers={"accept": "application/json, text/event-stream", **given}
        )
        assert answer.status_code == 401
