"""Every method of A2A with every role, a token without the scope, and a foreign project: the rules of every other door."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ringback.a2a.http import CARD_PATH, PATH, mounts
from ringback.core import Core
from ringback.services.access import SCOPES
from tests.api.access_table import ROLES
from tests.api.callers import user
from tests.api.door import OTHER_TOKEN, TOOL, Door, opened

UNKNOWN = "01890000-0000-7000-8000-000000000000"
NEEDS: Mapping[str, str] = {
    "SendMessage": "runs:write",
    "SendStreamingMessage": "runs:write",
    "GetTask": "runs:read",
    "ListTasks": "runs:read",
    "CancelTask": "runs:write",
    "SubscribeToTask": "runs:read",
    "GetExtendedAgentCard": "runs:read",
    "message/send": "runs:write",
    "message/stream": "runs:write",
    "tasks/get": "runs:read",
    "tasks/cancel": "runs:write",
    "tasks/resubscribe": "runs:read",
    "agent/getAuthenticatedExtendedCard": "runs:read",
}


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    def mount(core: Core, _: Any) -> dict[str, Any]:
        return mounts(core, "1")

    async with opened(tmp_path, (TOOL,), mount) as opened_door:
        yield opened_door


def params_of(method: str) -> dict[str, Any]:
    data = {"tool": "nobody"}
    match method:
        case "SendMessage" | "SendStreamingMessage":
            return {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"data": data}]}}
        case "message/send" | "message/stream":
            part = {"kind": "data", "data": data}
            return {"message": {"kind": "message", "messageId": "m", "role": "user", "parts": [part]}}
        case "ListTasks" | "GetExtendedAgentCard":
            return {}
        case _:
            return {"id": UNKNOWN}


async def told(door: Door, method: str, headers: Mapping[str, str]) -> str:
    """What the error says, empty without one."""
    version = {} if "/" in method else {"a2a-version": "1.0"}
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params_of(method)}
    answer = await door.client.post(PATH, json=call, headers={**version, **headers})
    assert answer.status_code == 200, answer.text
    text = answer.text
    if answer.headers["content-type"].startswith("text/event-stream"):
        text = next(line.removeprefix("data:") for line in text.splitlines() if line.startswith("data:"))
    return str(json.loads(text).get("error", {}).get("message", ""))


async def test_roles_and_scopes_decide(door: Door) -> None:
    members = {role: await user(door, f"u-{role}", {"default": role}) for role in ROLES}
    narrow = {
        scope: await user(door, f"no-{scope.replace(':', '-')}", {"default": "owner"}, scopes=SCOPES - {scope})
        for scope in set(NEEDS.values())
    }
    stranger = {**await user(door, "stranger", {"other": "owner"}), "ringback-project": "default"}
    for method, needed in NEEDS.items():
        for role, scopes in ROLES.items():
            error = await told(door, method, members[role])
            assert (f"needs {needed}" in error) is (needed not in scopes), (method, role, error)
        assert f"needs {needed}" in await told(door, method, narrow[needed]), method
        assert await told(door, method, stranger), method


async def test_another_project_s_run_is_as_unknown_as_a_missing_one(door: Door) -> None:
    run_id = await door.start()
    headers = {"authorization": f"Bearer {OTHER_TOKEN}", "ringback-project": "other", "a2a-version": "1.0"}
    answers = []
    for task_id in (run_id, UNKNOWN):
        call = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": task_id}}
        answers.append((await door.client.post(PATH, json=call, headers=headers)).json())
    assert answers[0] == answers[1]
    assert answers[0]["error"]["message"] == "Task not found"


async def test_the_card_is_open_and_the_rest_is_not(door: Door) -> None:
    assert (await door.client.get(CARD_PATH, headers={"authorization": ""})).status_code == 200
    assert (await door.client.post(PATH, json={}, headers={"authorization": ""})).status_code == 401


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"1", b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"2.0","id":1,"method":"x"}']
)
async def test_what_is_no_call_is_an_error_of_the_protocol(door: Door, body: bytes) -> None:
    answer = await door.client.post(PATH, content=body)
    assert answer.status_code == 200
    assert answer.json()["error"]["code"] in (-32700, -32600, -32601)
