"""Runs that are sessions of MCP servers, over HTTP with a real worker: opened, continued, killed, many at a time."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.api.door import OTHER_TOKEN, Door, Worker
from tests.hosted.servers import everything, filesystem, nasty, tiny
from tests.mcp.serving import serving
from tests.reliability.scale import IS_FULL
from tests.worker.attempts import dead, is_alive

WITHIN_S = 60.0
COUNT = 200 if IS_FULL else 40
CLIENT: dict[str, Any] = {
    "mode": "mcp_server",
    "clientInfo": {"name": "t", "version": "1"},
    "clientCapabilities": {"elicitation": {}},
}


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with serving(tmp_path) as one:
        yield one


async def apply(door: Door, name: str, server: dict[str, Any], *, pool: str = "default", **more: Any) -> None:
    profile = {"server": server, "pool": pool}
    definition = {"resourceType": "mcp_server", "name": name, "runtime": "mcp", "profile": profile, **more}
    answer = await door.client.put("/v1/tools", json={"definitions": [definition]})
    assert answer.status_code == 200, answer.text


async def opened(door: Door, name: str, **more: Any) -> str:
    body = {"resourceType": "mcp_server", "resourceId": name, "input": CLIENT, **more}
    answer = await door.client.post("/v1/runs", json=body)
    assert answer.status_code == 202, answer.text
    run_id: str = answer.json()["runId"]
    return run_id


async def put(door: Door, run_id: str, method: str, params: dict[str, Any] | None = None, **more: Any) -> Any:
    """Put a request, and wait for its answer."""
    body = {"mode": "mcp_server", "request": {"method": method, "params": params or {}, **more}}
    answer = await door.client.post(f"/v1/runs/{run_id}/continue", json=body, headers={"prefer": "wait=30"})
    assert answer.status_code == 200, answer.text
    assert answer.json()["status"] == "answered", answer.text
    return answer.json()["response"]


async def call(door: Door, run_id: str, tool: str, **arguments: Any) -> Any:
    return await put(door, run_id, "tools/call", {"name": tool, "arguments": arguments})


def text_of(response: Any) -> str:
    return "\n".join(block["text"] for block in response["result"]["content"] if block["type"] == "text")


async def events(door: Door, run_id: str, kind: str) -> list[Any]:
    found = await door.get(f"/v1/runs/{run_id}/events")
    return [each["event"] for each in found["items"] if each["event"]["type"] == kind]


async def ended(door: Door, run_id: str) -> Any:
    async with asyncio.timeout(WITHIN_S):
        while True:
            run = await door.get(f"/v1/runs/{run_id}")
            if run["status"] in ("succeeded", "failed", "canceled"):
                return run
            await asyncio.sleep(0.02)


@pytest.mark.timeout(400)
async def test_everything_in_a_session(door: Door) -> None:
    await apply(door, "every", everything())
    run_id = await opened(door, "every")
    tools = (await put(door, run_id, "tools/list"))["result"]["tools"]
    assert "trigger-elicitation-request" in [tool["name"] for tool in tools]
    assert text_of(await call(door, run_id, "echo", message="hi")) == "Echo: hi"
    (resource, *_) = (await put(door, run_id, "resources/list"))["result"]["resources"]
    read = await put(door, run_id, "resources/read", {"uri": resource["uri"]})
    assert read["result"]["contents"][0]["text"]
    prompt = await put(door, run_id, "prompts/get", {"name": "args-prompt", "arguments": {"city": "Zurich"}})
    assert "Zurich" in prompt["result"]["messages"][0]["content"]["text"]

    given = {"name": "trigger-long-running-operation", "arguments": {"duration": 0.6, "steps": 3}}
    long = await put(door, run_id, "tools/call", {**given, "_meta": {"progressToken": "p1"}}, id=7)
    assert long["id"] == 7
    assert "Steps: 3." in text_of(long)
    told = [
        event["params"] for event in await events(door, run_id, "mcp.notification") if "progress" in event["params"]
    ]
    assert [(each["progressToken"], each["progress"]) for each in told] == [("p1", 1), ("p1", 2), ("p1", 3)]

    asking = asyncio.ensure_future(call(door, run_id, "trigger-elicitation-request"))
    question = await _question(door, run_id)
    assert question["kind"] == "input"
    answer = {"payload": {"name": "Ada", "integer": 3}}
    await door.client.post(f"/v1/interactions/{question['interactionId']}/respond", json=answer)
    assert "Ada" in text_of(await asking)

    await door.client.post(f"/v1/runs/{run_id}/cancel", json={})
    run = await ended(door, run_id)
    assert (run["status"], run["resourceType"]) == ("canceled", "mcp_server")
    body = {"mode": "mcp_server", "request": {"method": "ping"}}
    refused = await door.client.post(f"/v1/runs/{run_id}/continue", json=body)
    assert (refused.status_code, refused.json()["code"]) == (409, "illegal_transition")
    replay = await door.get(f"/v1/runs/{run_id}/replay")
    assert replay["identical"]


async def _question(door: Door, run_id: str) -> Any:
    async with asyncio.timeout(WITHIN_S):
        while True:
            found = (await door.get(f"/v1/runs/{run_id}/interactions?status=open"))["items"]
            if found:
                return found[0]
            await asyncio.sleep(0.02)


@pytest.mark.timeout(400)
async def test_filesystem_in_a_session_survives_kill_9(door: Door, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")
    await apply(door, "files", filesystem(tmp_path))
    run_id = await opened(door, "files")
    path = str(tmp_path / "a.txt")
    assert text_of(await call(door, run_id, "read_text_file", path=path)) == "hello"
    (pid,) = _servers(b"server-filesystem")
    os.kill(pid, signal.SIGKILL)
    await dead(pid)
    assert text_of(await call(door, run_id, "read_text_file", path=path)) == "hello"
    assert [event["restarts"] for event in await events(door, run_id, "mcp.opened")] == [0, 1]
    attempts = (await door.get(f"/v1/runs/{run_id}/attempts"))["items"]
    assert len(attempts) == 1


@pytest.mark.timeout(400)
async def test_a_request_is_durable_before_anybody_hosts_the_session(door: Door) -> None:
    await apply(door, "later", nasty(), pool="nobody")
    run_id = await opened(door, "later")
    request: dict[str, Any] = {"method": "tools/call", "params": {"name": "echo"}, "id": "once"}
    body = {"mode": "mcp_server", "request": request}
    first = await door.client.post(f"/v1/runs/{run_id}/continue", json=body)
    assert first.status_code == 202
    again = await door.client.post(f"/v1/runs/{run_id}/continue", json=body)
    assert again.json() == first.json()
    other = {**body, "request": {**request, "method": "ping"}}
    refused = await door.client.post(f"/v1/runs/{run_id}/continue", json=other)
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/request/id")
    look = await door.client.get(first.headers["location"], headers={"prefer": "wait=1"})
    assert (look.status_code, look.json()["status"]) == (200, "open")
    for place in (f"/v1/runs/{run_id}/continuations/99", f"/v1/runs/{run_id}/continuations/1"):
        assert (await door.client.get(place)).status_code == 404
    foreign = await door.client.get(first.headers["location"], headers={"authorization": f"Bearer {OTHER_TOKEN}"})
    assert foreign.status_code in (403, 404)
    await door.client.post(f"/v1/runs/{run_id}/cancel", json={})
    assert (await door.get(first.headers["location"]))["status"] == "over"


async def test_a_runtime_takes_requests_some_at_a_time_and_answers_each_once(door: Door) -> None:
    await apply(door, "mine", nasty(), pool="mine")
    run_id = await opened(door, "mine")
    body: dict[str, Any]
    for n in range(120):
        body = {"mode": "mcp_server", "request": {"method": "ping", "params": {"n": n}}}
        assert (await door.client.post(f"/v1/runs/{run_id}/continue", json=body)).status_code == 202
    offers = {"name": "p", "incarnation": "p", "protocolVersion": 1, "slots": 1, "offers": ["mine/mcp"]}
    attached = (await door.client.post("/v1/workers/attach", json=offers)).json()
    worker = Worker(door.client, attached["sessionId"])
    claim = await worker.begin()
    assert (claim["resourceType"], claim["input"]) == ("mcp_server", CLIENT)
    (first,) = await worker.report(claim, {"kind": "requests", "after": 0})
    assert [each["request"]["params"]["n"] for each in first["requests"]] == list(range(100))
    number = first["requests"][0]["number"]
    (rest,) = await worker.report(claim, {"kind": "requests", "after": first["requests"][-1]["number"]})
    assert [each["request"]["params"]["n"] for each in rest["requests"]] == list(range(100, 120))

    def answer(value: Any, seq: int) -> dict[str, Any]:
        return {"kind": "events", "seq": seq, "events": [{"type": "mcp.response", "value": value}]}

    wrongs: list[Any] = [{"number": "1", "response": {"result": {}}}, {"number": number, "response": {}}, [], {}]
    for wrong in wrongs:
        body = {"reports": [{**answer(wrong, 1), "runId": run_id, "fence": claim["fence"]}]}
        refused = await door.client.post(f"/v1/workers/{attached['sessionId']}/report", json=body)
        assert refused.status_code == 422
    for seq, result in ((1, {"n": 1}), (1, {"n": 1}), (2, {"n": 2})):  # said twice, and a second answer
        (told,) = await worker.report(claim, answer({"number": number, "response": {"result": result}}, seq))
        assert told["ok"]
    found = await door.get(f"/v1/runs/{run_id}/continuations/{number}")
    assert (found["status"], found["response"]) == ("answered", {"result": {"n": 1}})
    (left,) = await worker.report(claim, {"kind": "requests", "after": 0})
    assert left["requests"][0]["number"] > number
    await worker.settle(claim)
    (stale,) = await worker.report(claim, {"kind": "requests", "after": 0})
    assert (stale["ok"], stale["code"]) == (False, "stale_fence")


async def test_what_is_no_request_is_refused_by_pointer(door: Door) -> None:
    await apply(door, "nasty", nasty())
    run_id = await opened(door, "nasty")
    for request, pointer in (
        ({"method": ""}, "/request/method"),
        ({"method": "x" * 300}, "/request/method"),
        ({"method": "ping", "more": 1}, "/request/more"),
        ({}, "/request"),
    ):
        body = {"mode": "mcp_server", "request": request}
        answer = await door.client.post(f"/v1/runs/{run_id}/continue", json=body)
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer), answer.text
    other = await door.client.post(f"/v1/runs/{run_id}/continue", json={"mode": "agent", "messages": []})
    assert other.status_code == 422
    unknown = {"resourceType": "mcp_server", "resourceId": "nasty", "input": {**CLIENT, "other": 1}}
    assert (await door.client.post("/v1/runs", json=unknown)).json()["errors"][0]["pointer"] == "/input/other"


async def test_a_session_that_nobody_uses_succeeds(door: Door) -> None:
    await apply(door, "short", nasty(idleS=0.5))
    run_id = await opened(door, "short")
    assert text_of(await call(door, run_id, "echo")) == "{}"
    run = await ended(door, run_id)
    assert run["status"] == "succeeded"
    assert run["summary"] == "1 requests answered; nobody put another one for 0.5 s"


@pytest.mark.timeout(400)
async def test_an_attempt_that_is_lost_leaves_no_request_without_an_answer(door: Door) -> None:
    await apply(door, "again", nasty(), policy={"retryOnLost": True, "retry": {"attemptsMax": 3}})
    run_id = await opened(door, "again")
    pid = int(text_of(await call(door, run_id, "pid")))
    body = {"method": "tools/call", "params": {"name": "hang", "_meta": {"progressToken": 1}}}
    asked = await door.client.post(f"/v1/runs/{run_id}/continue", json={"mode": "mcp_server", "request": body})
    async with asyncio.timeout(WITHIN_S):
        while not await events(door, run_id, "mcp.notification"):
            await asyncio.sleep(0.02)
    (session,) = (await door.get("/v1/workers"))["items"]
    await door.client.post(f"/v1/workers/{session['sessionId']}/detach")  # the attempt is another one's now
    answer = await door.client.get(asked.headers["location"], headers={"prefer": "wait=30"})
    assert answer.json()["response"]["error"]["code"] == -32001
    assert int(text_of(await call(door, run_id, "pid"))) != pid
    assert not is_alive(pid)


async def test_a_run_opens_a_session_that_ends_with_it(door: Door) -> None:
    await apply(door, "child", nasty())
    definition = {"name": "parent", "runtime": "function", "profile": {"pool": "mine"}}
    await door.client.put("/v1/tools", json={"definitions": [definition]})
    offers = {"name": "p", "incarnation": "p", "protocolVersion": 1, "slots": 1, "offers": ["mine/function:parent"]}
    attached = (await door.client.post("/v1/workers/attach", json=offers)).json()
    worker = Worker(door.client, attached["sessionId"])
    run_id = await door.start(tool="parent")
    claim = await worker.begin()
    opening = {"kind": "child", "requestId": "s1", "tool": "child", "relation": "mcp_session"}
    (wrong,) = await worker.report(claim, {**opening, "arguments": {"other": 1, "clientInfo": 2}})
    assert (wrong["ok"], wrong["code"]) == (False, "invalid_input")
    (found,) = await worker.report(claim, opening)
    session = found["childRunId"]
    assert text_of(await call(door, session, "echo")) == "{}"
    (link,) = (await door.get(f"/v1/runs/{run_id}/links"))["items"]
    assert (link["relationType"], link["toRunId"]) == ("mcp_session", session)
    await door.client.post(f"/v1/runs/{run_id}/cancel", json={})
    assert (await ended(door, session))["status"] == "canceled"


@pytest.mark.timeout(400)
async def test_two_hundred_sessions_on_one_worker(tmp_path: Path) -> None:
    print(f"{COUNT} sessions; 200 at RINGBACK_TEST_SCALE=full, and always in test_many, without a server of runs")
    async with serving(tmp_path, slots=COUNT) as door:
        await apply(door, "tiny", tiny())
        runs = [await opened(door, "tiny") for _ in range(COUNT)]
        pids: list[int] = []
        for start in range(0, COUNT, 50):
            some = await asyncio.gather(*(call(door, run_id, "pid") for run_id in runs[start : start + 50]))
            pids += [int(text_of(each)) for each in some]
        assert len(set(pids)) == COUNT
        assert all(map(is_alive, pids))
        again = await asyncio.gather(*(call(door, run_id, "pid") for run_id in runs[:50]))
        assert [int(text_of(each)) for each in again] == pids[:50]
        for run_id in runs:
            await door.client.post(f"/v1/runs/{run_id}/cancel", json={})
        for run_id in runs:
            assert (await ended(door, run_id))["status"] == "canceled"
        assert not any(map(is_alive, pids))


def _servers(name: bytes) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            if name in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found
