"""`ringback wrap`: an unchanged MCP server whose tools are jobs: inline, started, as tasks, and after the end of the front."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from ringback.mcp.wrapping import OWN, Wrapped, definitions_of, prefix_of
from tests.api.door import Door
from tests.hosted.fronts import variables, wrapped
from tests.hosted.servers import everything, filesystem, nasty
from tests.mcp.peer import ROOT
from tests.mcp.serving import serving


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with serving(tmp_path) as one:
        yield one


def text_of(result: Any) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")


@pytest.mark.timeout(400)
async def test_everything_wrapped_answers_as_itself_and_outlives_the_front(door: Door, tmp_path: Path) -> None:
    command = ("--name", "every", "--", *everything()["command"])
    async with wrapped(variables(door, tmp_path), *command) as peer:
        names = [tool.name for tool in (await peer.client.list_tools()).tools]
        assert {"echo", "get-sum", "trigger-long-running-operation", *OWN} <= set(names)
        assert not {"list_projects", "about", "greet", "start_pause"} & set(names)
        assert text_of(await peer.client.call_tool("echo", {"message": "hi"})) == "Echo: hi"
        image = await peer.client.call_tool("get-tiny-image", {})
        assert [block.type for block in image.content] == ["text", "image", "text"]
        structured = await peer.client.call_tool("get-structured-content", {"location": "Chicago"})
        assert structured.structured_content is not None
        assert "temperature" in structured.structured_content
        failed = await peer.client.call_tool("get-resource-reference", {"resourceType": "Text", "resourceId": -1})
        assert failed.is_error
        with pytest.raises(MCPError, match="Unknown tool"):
            await peer.client.call_tool("list_projects", {})
    async with wrapped(variables(door, tmp_path), "--mode", "job", *command) as peer:
        long = {"duration": 2, "steps": 4}
        await peer.client.list_tools()
        started = await peer.client.call_tool("start_trigger-long-running-operation", long)
        assert started.structured_content is not None
        job_id = started.structured_content["job_id"]
    async with wrapped(variables(door, tmp_path), "--mode", "job", *command) as peer:
        waited = await peer.client.call_tool("wait_for_jobs", {"job_ids": [job_id], "timeout_s": 25})
        assert waited.structured_content is not None
        assert waited.structured_content["all_ended"]
        result = (await peer.client.call_tool("get_job_result", {"job_id": job_id})).structured_content
        assert result is not None
        assert "Long running operation completed" in result["result"]["content"][0]["text"]
        assert result["summary"].startswith("Long running operation completed")
    events = [event["event"] for event in (await door.get(f"/v1/runs/{job_id}/events"))["items"]]
    assert [each["progress"]["done"] for each in events if each["type"] == "state.updated"][-1] == 4


@pytest.mark.timeout(400)
async def test_a_wrapped_tool_is_a_task_that_asks(door: Door, tmp_path: Path) -> None:
    command = ("--name", "every", "--", *everything()["command"])
    async with wrapped(variables(door, tmp_path), *command, takes_tasks=True) as peer:
        await peer.client.list_tools()
        handle = await peer.begin("trigger-elicitation-request")
        task = await peer.until(handle["taskId"], "input_required")
        ((key, request),) = task["inputRequests"].items()
        assert request["method"] == "elicitation/create"
        answer = {key: {"action": "accept", "content": {"name": "Ada", "integer": 3}}}
        await peer.ask("tasks/update", handle["taskId"], inputResponses=answer)
        task = await peer.ended(handle["taskId"])
        assert task["status"] == "completed"
        assert any("Ada" in block.get("text", "") for block in task["result"]["content"])
        long = await peer.begin("trigger-long-running-operation", duration=600, steps=6000)
        await peer.ask("tasks/cancel", long["taskId"])
        assert (await peer.ended(long["taskId"]))["status"] == "cancelled"


@pytest.mark.timeout(400)
async def test_filesystem_wrapped(door: Door, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")
    async with wrapped(variables(door, tmp_path), "--", *filesystem(tmp_path)["command"]) as peer:
        await peer.client.list_tools()
        read = await peer.client.call_tool("read_text_file", {"path": str(tmp_path / "a.txt")})
        assert text_of(read) == "hello"
        refused = await peer.client.call_tool("read_text_file", {"path": "/etc/passwd"})
        assert refused.is_error
        assert "denied" in text_of(refused)


@pytest.mark.timeout(400)
async def test_a_server_that_does_not_start_is_told(door: Door, tmp_path: Path) -> None:
    async with wrapped(variables(door, tmp_path), "--", *nasty("refuse")["command"]) as peer:
        with pytest.raises(MCPError, match="can't be used: the MCP server ended with exit code 1; its last words"):
            await peer.client.list_tools()


@pytest.mark.timeout(400)
async def test_the_local_server_is_started_and_variables_stay_on_the_machine(tmp_path: Path) -> None:
    data, key = tmp_path / "data", "S3cr3t-key-0123456789"
    places = {"RINGBACK_DATA": str(data), "API_KEY": key}
    try:
        async with wrapped(places, "--env", "API_KEY", "--name", "n", "--", *nasty()["command"], cwd=tmp_path) as peer:
            await peer.client.list_tools()
            assert text_of(await peer.client.call_tool("secret", {})) == "*** and []"
        (file,) = (data / "wrapped").iterdir()
        assert file.stat().st_mode & 0o777 == 0o600
        assert json.loads(file.read_text()) == {"API_KEY": key}
        ledger = b"".join(path.read_bytes() for path in data.glob("ringback.db*"))
        assert key.encode() not in ledger
    finally:
        down = [sys.executable, "-m", "ringback", "down", "--data", str(data)]
        env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        subprocess.run(down, env=env, capture_output=True, check=True, timeout=60)  # noqa: ASYNC221 - at the end


@pytest.mark.parametrize(
    ("command", "prefix"),
    [
        (["npx", "-y", "@modelcontextprotocol/server-everything@1.2"], "everything"),
        (["uvx", "mcp-server-git", "--repository", "."], "git"),
        (["node", "/opt/tools/dist/index.js"], "index"),
        (["python3", "-m", "weather.py"], "weather"),
        (["/usr/bin/github-mcp-server", "stdio"], "github"),
        (["7zip-server"], "mcp_7zip"),
    ],
)
def test_a_name_is_made_of_the_command(command: list[str], prefix: str) -> None:
    assert prefix_of(command, None) == prefix


def test_a_name_is_made_of_the_address() -> None:
    assert prefix_of([], "https://mcp.example.com/mcp") == "example"


def test_names_and_schemas_of_others_are_made_to_fit() -> None:
    one = Wrapped(prefix="x", server={"command": ["a"]}, mode="task")
    other = Wrapped(prefix="x", server={"command": ["a"], "cwd": "/b"}, mode="task")
    assert one.stem != other.stem
    broken = {"type": "object", "properties": {"a": {"type": "no type"}}}
    tools: list[Any] = [{"name": name, "inputSchema": broken} for name in ("get-sum", "get_sum", "Get.Sum", "l" * 128)]
    tools.append({"name": "tasks only", "execution": {"taskSupport": "required"}})
    found = definitions_of(one, [*tools, {"name": "b", "annotations": {"readOnlyHint": True}}])
    assert len({each["name"] for each in found}) == 5
    assert all(len(each["name"]) <= 64 for each in found)
    assert found[0]["inputSchema"] == {"type": "object"}
    assert [each["policy"] for each in found[-2:]] == [{}, {"idempotent": True}]
