"""Questions of shell scripts: answered in an MCP host's elicitation form, on the page behind a link, and by nobody twice."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from tests.api.callers import user
from tests.api.door import TOKEN, Door
from tests.mcp.peer import over_http
from tests.mcp.serving import serving

SCHEMA = {"type": "object", "properties": {"name": {"type": "string", "title": "Name"}}, "required": ["name"]}


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with serving(tmp_path) as one:
        yield one


async def _script(door: Door, folder: Path, text: str) -> str:
    """A tool of mode `task` that runs a shell script."""
    file = folder / "deploy.sh"
    file.write_text(f'ask() {{ {sys.executable} -m ringback ask "$@"; }}\n{text}\n', encoding="utf-8")
    tool = {
        "name": "deploy",
        "description": "Deploy",
        "runtime": "command",
        "mode": "task",
        "inputSchema": {"type": "object"},
        "profile": {"command": ["sh", str(file)], "cwd": str(folder)},
        "policy": {},
    }
    answer = await door.client.put("/v1/tools", json={"definitions": [tool]})
    assert answer.status_code == 200, answer.text
    return "deploy"


def _url(door: Door) -> str:
    return f"{str(door.client.base_url).rstrip('/')}/mcp"


def _form(request: Any) -> types.ElicitRequestFormParams:
    """What a host shows, read with the official types."""
    asked = types.ElicitRequest.model_validate(request)
    assert isinstance(asked.params, types.ElicitRequestFormParams)
    return asked.params


def _said(task: dict[str, Any]) -> str:
    """What the script itself wrote, without what `ringback ask` remarks on stderr."""
    lines = task["result"]["structuredContent"]["output"].splitlines()
    return "".join(f"{line}\n" for line in lines if not line.startswith("ringback: "))


def _filled(**content: Any) -> dict[str, Any]:
    """What a host sends when its user pressed the button of a form."""
    return types.ElicitResult(action="accept", content=content).model_dump(by_alias=True, exclude_none=True)


async def test_an_approval_and_a_value_of_a_script_are_given_in_the_hosts_form(door: Door, tmp_path: Path) -> None:
    """The issue's own line: an approval from a shell script, answered from an MCP host's elicitation form."""
    script = f"ask --approve 'Deploy 1.4?' && ask --input 'Who?' --schema '{json.dumps(SCHEMA)}' && echo deployed"
    tool = await _script(door, tmp_path, script)
    async with over_http(_url(door), TOKEN) as peer:
        handle = await peer.begin(tool)
        task = await peer.until(handle["taskId"], "input_required")
        ((first, request),) = task["inputRequests"].items()
        form = _form(request)
        assert (form.message, form.requested_schema["properties"]) == ("Deploy 1.4?", {})
        await peer.ask("tasks/update", handle["taskId"], inputResponses={first: _filled()})
        async with asyncio.timeout(90):
            while first in (task := await peer.until(handle["taskId"], "input_required")).get("inputRequests", {}):
                await asyncio.sleep(0.05)
        ((second, request),) = task["inputRequests"].items()
        assert _form(request).requested_schema == SCHEMA
        await peer.ask("tasks/update", handle["taskId"], inputResponses={second: _filled(name="Ada")})
        ended = await peer.ended(handle["taskId"])
        assert ended["status"] == "completed"
        assert _said(ended) == '{"name": "Ada"}\ndeployed\n'


async def test_a_declined_approval_of_a_script_ends_it_as_the_script_says(door: Door, tmp_path: Path) -> None:
    tool = await _script(door, tmp_path, "ask --approve 'Deploy?' || { echo \"refused $?\"; exit 3; }")
    async with over_http(_url(door), TOKEN) as peer:
        handle = await peer.begin(tool)
        task = await peer.until(handle["taskId"], "input_required")
        (key,) = task["inputRequests"]
        await peer.ask("tasks/update", handle["taskId"], inputResponses={key: {"action": "decline"}})
        ended = await peer.ended(handle["taskId"])
        assert (ended["status"], ended["result"]["isError"]) == ("completed", True)
        assert _said(ended) == "refused 1\n"


async def test_an_approval_of_a_script_is_given_on_the_page_behind_a_link_and_mcp_shows_it(
    door: Door, tmp_path: Path
) -> None:
    """The issue's own line: answered from a phone-sized link. What comes later, through MCP, is shown that answer."""
    tool = await _script(door, tmp_path, "ask --approve 'Deploy?' && echo deployed")
    async with over_http(_url(door), TOKEN) as peer:
        handle = await peer.begin(tool)
        task = await peer.until(handle["taskId"], "input_required")
        (key,) = task["inputRequests"]
        made = await door.client.post(f"/v1/interactions/{key}/links", json={"label": "Bob"})
        async with httpx2.AsyncClient(trust_env=False, timeout=30) as phone:
            assert "Deploy?" in (await phone.get(made.json()["url"])).text
            sent = await phone.post(made.json()["url"], data={"action": "approve"})
            assert sent.status_code == 303
        ended = await peer.ended(handle["taskId"])
        assert _said(ended) == "deployed\n"
        late = await peer.client.call_tool("answer_interaction", {"interaction_id": key, "decision": "reject"})
        assert late.is_error
        assert isinstance(late.content[0], types.TextContent)
        told = json.loads(late.content[0].text)["error"]
        assert (told["interaction_status"], told["response"]["decision"]) == ("answered", "approve")
        assert told["response"]["submittedBy"] == "tester (link for Bob)"


async def test_who_is_not_asked_gets_a_clear_no(door: Door, tmp_path: Path) -> None:
    tool = await _script(door, tmp_path, "ask --approve 'Deploy?' --respondent owner && echo deployed")

    runner = (await user(door, "runner", {"default": "runner"}))["authorization"].removeprefix("Bearer ")
    async with over_http(_url(door), runner) as peer:
        handle = await peer.begin(tool)
        task = await peer.until(handle["taskId"], "input_required")
        (key,) = task["inputRequests"]
        refused = await peer.client.call_tool("answer_interaction", {"interaction_id": key, "decision": "approve"})
        assert refused.is_error
        assert isinstance(refused.content[0], types.TextContent)
        assert "owner and above" in refused.content[0].text

        with pytest.raises(MCPError) as unanswered:
            await peer.ask("tasks/update", handle["taskId"], inputResponses={key: _filled()})
        assert "owner and above" in str(unanswered.value)
        assert (
            await door.client.post(f"/v1/interactions/{key}/respond", json={"decision": "approve"})
        ).status_code == 200
        assert (await peer.ended(handle["taskId"]))["status"] == "completed"
