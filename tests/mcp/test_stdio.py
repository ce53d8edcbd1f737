"""The stdio front as a program: only protocol on stdout, ends with its input, and no call of it holds any work."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.door import TOKEN, Door
from tests.mcp.lines import Lines, front
from tests.mcp.serving import serving


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with serving(tmp_path) as one:
        yield one


def variables(door: Door, tmp_path: Path) -> dict[str, str]:
    url = str(door.client.base_url).rstrip("/")
    return {
        "RINGBACK_URL": url,
        "RINGBACK_TOKEN": TOKEN,
        "RINGBACK_PROJECT": "default",
        "RINGBACK_DATA": str(tmp_path / "n"),
    }


@pytest.fixture
async def lines(door: Door, tmp_path: Path) -> AsyncIterator[Lines]:
    async with front(variables(door, tmp_path)) as one:
        yield one


async def started(lines: Lines, request_id: int, tool: str, **arguments: object) -> str:
    answer = await lines.call(request_id, tool, **arguments)
    return str(answer["result"]["structuredContent"]["job_id"])


async def test_it_ends_with_its_input_and_its_jobs_go_on(door: Door, lines: Lines, tmp_path: Path) -> None:
    await lines.greet()
    job_id = await started(lines, 2, "start_pause", seconds=600)
    assert await lines.end() == 0
    assert (await door.get(f"/jobs/{job_id}"))["status"] in ("queued", "running")
    async with front(variables(door, tmp_path)) as second:
        await second.greet()
        found = await second.call(2, "list_jobs", status="active")
        assert [job["job_id"] for job in found["result"]["structuredContent"]["jobs"]] == [job_id]
        await second.call(3, "stop_job", job_id=job_id)
        assert await second.end() == 0
    async with front(variables(door, tmp_path)) as silent:
        assert await silent.end() == 0


async def test_only_messages_reach_stdout_whatever_the_work_prints(lines: Lines) -> None:
    await lines.greet()
    job_id = await started(lines, 2, "start_chatter", text="not-a-message")
    await lines.call(3, "wait_for_jobs", job_ids=[job_id], timeout_s=25)
    result = (await lines.call(4, "get_job_result", job_id=job_id))["result"]["structuredContent"]
    assert result["output"].count("not-a-message") == 3


async def test_a_cancelled_request_is_not_answered_and_the_job_goes_on(door: Door, lines: Lines) -> None:
    await lines.greet()
    job_id = await started(lines, 2, "start_pause", seconds=600)
    wait = {"name": "wait_for_jobs", "arguments": {"job_ids": [job_id], "timeout_s": 25}}
    await lines.send(id=99, method="tools/call", params=wait)
    for request_id in (99, 12345):
        await lines.send(method="notifications/cancelled", params={"requestId": request_id})
    assert "result" in await lines.ask(3, "tools/list")
    assert (await door.get(f"/jobs/{job_id}"))["status"] in ("queued", "running")
    await lines.call(4, "stop_job", job_id=job_id)
    assert 99 not in [message.get("id") for message in lines.seen if "result" in message]


async def test_an_unreadable_line_is_answered_and_the_connection_lives(lines: Lines) -> None:
    await lines.greet()
    await lines.write(b"no json")
    assert (await lines.read())["error"]["code"] == -32700
    await lines.write(b"\xff\xfe")
    assert "error" in await lines.read()
    half = r'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"start_pause","arguments":{"\ud800":1}}}'
    await lines.write(half.encode())
    answer = await lines.read()
    assert "error" in answer or answer["result"]["isError"]
    assert "result" in await lines.ask(8, "tools/list")


async def test_a_wait_tells_its_progress_to_who_gave_a_token(lines: Lines) -> None:
    await lines.greet()
    params = {"name": "slow_compute", "arguments": {"seconds": 3}, "_meta": {"progressToken": "p"}}
    answer = await lines.ask(2, "tools/call", **params)
    assert answer["result"]["structuredContent"]["status"] == "done"
    told = [each["params"] for each in lines.seen if each.get("method") == "notifications/progress"]
    assert told
    assert {each["progressToken"] for each in told} == {"p"}
    values = [each["progress"] for each in told]
    assert values == sorted(set(values))


async def test_a_repeated_start_with_one_key_is_one_job(lines: Lines) -> None:
    await lines.greet()
    first = await started(lines, 2, "start_pause", seconds=600, idempotency_key="once")
    assert await started(lines, 3, "start_pause", seconds=600, idempotency_key="once") == first
    other = await lines.call(4, "start_pause", seconds=1, idempotency_key="once")
    assert other["result"]["isError"]
    assert json.loads(other["result"]["content"][0]["text"])["error"]["http_status"] == 422
    await lines.call(5, "stop_job", job_id=first)
