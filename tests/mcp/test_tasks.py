"""The Tasks extension with the official client: what a task says, answering, stopping, listening, and to whom it belongs."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from ringback.store.clock import SystemClock
from tests.api.door import BOUND_TOKEN, OTHER_TOKEN, TOKEN, TOOL, Door
from tests.mcp.peer import ANY, TaskRequest, _Params, over_http, over_stdio
from tests.mcp.serving import serving


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with serving(tmp_path) as one:
        yield one


def url_of(door: Door) -> str:
    return f"{str(door.client.base_url).rstrip('/')}/mcp"


async def _code(asked: Any) -> int:
    with pytest.raises(MCPError) as refused:
        await asked
    return refused.value.error.code


async def test_a_task_is_polled_to_its_result(door: Door) -> None:
    async with over_http(url_of(door), TOKEN) as peer:
        handle = await peer.begin("slow_compute", seconds=0, label="x")
        assert handle["status"] == "working"
        assert handle["ttlMs"] is None
        assert handle["pollIntervalMs"] >= 1000
        assert "result" not in handle
        task = await peer.ended(handle["taskId"])
        assert task["status"] == "completed"
        assert task["resultType"] == "complete"
        assert task["result"]["structuredContent"]["result"] == "computed x"
        assert json.loads(task["result"]["content"][0]["text"]) == task["result"]["structuredContent"]
        assert task["createdAt"] <= task["lastUpdatedAt"]
        assert await peer.ended(handle["taskId"]) == task


async def test_failed_work_is_a_completed_task_and_failed_machinery_is_not(door: Door) -> None:
    async with over_http(url_of(door), TOKEN) as peer:
        failing = await peer.begin("failing_job")
        broken = await peer.begin("protocol_error_job")
        task = await peer.ended(failing["taskId"])
        assert (task["status"], task["result"]["isError"]) == ("completed", True)
        task = await peer.ended(broken["taskId"])
        assert task["status"] == "failed"
        assert task["error"]["code"] == types.INTERNAL_ERROR
        assert "result" not in task


async def test_a_question_is_answered_through_the_task(door: Door) -> None:
    async with over_http(url_of(door), TOKEN) as peer:
        handle = await peer.begin("confirm_delete", filename="a.txt")
        task = await peer.until(handle["taskId"], "input_required")
        ((key, request),) = task["inputRequests"].items()
        assert request["method"] == "elicitation/create"
        assert "Delete a.txt?" in request["params"]["message"]
        again = await peer.until(handle["taskId"], "input_required")
        assert again["inputRequests"] == task["inputRequests"]
        answers: dict[str, Any] = {key: {"action": "accept", "content": {}}, "unknown": {"action": "accept"}}
        assert await peer.ask("tasks/update", handle["taskId"], inputResponses=answers) == {"resultType": "complete"}
        task = await peer.ended(handle["taskId"])
        assert task["result"]["structuredContent"]["result"] == "deleted a.txt"
        assert await peer.ask("tasks/update", handle["taskId"], inputResponses=answers) == {"resultType": "complete"}


async def test_a_declined_question_rejects_and_a_cancelled_one_stays_open(door: Door) -> None:
    async with over_http(url_of(door), TOKEN) as peer:
        handle = await peer.begin("confirm_delete", filename="b.txt")
        task = await peer.until(handle["taskId"], "input_required")
        (key,) = task["inputRequests"]
        await peer.ask("tasks/update", handle["taskId"], inputResponses={key: {"action": "cancel"}})
        assert key in (await peer.until(handle["taskId"], "input_required"))["inputRequests"]
        await peer.ask("tasks/update", handle["taskId"], inputResponses={key: {"action": "decline"}})
        assert (await peer.ended(handle["taskId"]))["result"]["structuredContent"]["result"] == "kept b.txt"


async def test_a_task_is_cancelled_and_cancelling_it_again_is_nothing(door: Door) -> None:
    async with over_http(url_of(door), TOKEN) as peer:
        handle = await peer.begin("slow_compute", seconds=600)
        assert await peer.ask("tasks/cancel", handle["taskId"]) == {"resultType": "complete"}
        task = await peer.ended(handle["taskId"])
        assert task["status"] == "cancelled"
        assert "result" not in task
        assert await peer.ask("tasks/cancel", handle["taskId"]) == {"resultType": "complete"}
        assert (await peer.ask("tasks/get", handle["taskId"])) == task


async def test_unknown_and_foreign_tasks_look_the_same(door: Door) -> None:
    async with over_http(url_of(door), TOKEN) as peer:
        handle = await peer.begin("slow_compute", seconds=600)
        unknown = handle["taskId"][:-4] + "0000"
        told: set[tuple[int, str]] = set()
        for token, project in ((OTHER_TOKEN, "other"), (BOUND_TOKEN, "default"), (TOKEN, "default")):
            name = handle["taskId"] if token != TOKEN else unknown
            async with over_http(url_of(door), token, project=project) as other:
                for method in ("tasks/get", "tasks/cancel", "tasks/update"):
                    more: dict[str, Any] = {"inputResponses": {}} if method == "tasks/update" else {}
                    with pytest.raises(MCPError) as refused:
                        await other.ask(method, name, **more)
                    told.add((refused.value.error.code, refused.value.error.message))
        assert told == {(types.INVALID_PARAMS, "no such task")}
        assert (await peer.ask("tasks/get", handle["taskId"]))["status"] == "working"
        await peer.ask("tasks/cancel", handle["taskId"])
        await peer.ended(handle["taskId"])


async def test_an_expired_task_answers_like_an_unknown_one(door: Door) -> None:
    """O65: every task method agrees that it is gone."""
    methods: dict[str, dict[str, Any]] = {"tasks/get": {}, "tasks/cancel": {}, "tasks/update": {"inputResponses": {}}}
    async with over_http(url_of(door), TOKEN) as peer:
        handle = await peer.begin("slow_compute", seconds=0)
        ended = await peer.ended(handle["taskId"])
        assert ended["ttlMs"] > 0
        for method, more in methods.items():
            await peer.ask(method, handle["taskId"], **more)
        later = replace(door.core.engine.retention, clock=Later(timedelta(milliseconds=ended["ttlMs"], days=1)))
        assert await later.remove() == 1
        told = set()
        for name in (handle["taskId"], handle["taskId"][:-4] + "0000"):
            for method, more in methods.items():
                with pytest.raises(MCPError) as refused:
                    await peer.ask(method, name, **more)
                told.add((refused.value.error.code, refused.value.error.message))
        assert told == {(types.INVALID_PARAMS, "no such task")}


class Later(SystemClock):
    """The present, so much later."""

    def __init__(self, by: timedelta) -> None:
        super().__init__()
        self._by = by // timedelta(microseconds=1)

    def now(self) -> int:
        return super().now() + self._by


async def test_only_a_request_that_declares_the_extension_gets_tasks(door: Door) -> None:
    async with over_http(url_of(door), TOKEN) as peer:
        handle = await peer.begin("slow_compute", seconds=0)
        for mode in ("2026-07-28", "legacy"):
            async with over_http(url_of(door), TOKEN, takes_tasks=False, mode=mode) as plain:
                result = await plain.client.call_tool("slow_compute", {"seconds": 0, "label": mode})
                assert result.structured_content is not None
                assert result.structured_content["status"] == "done"
                assert result.structured_content["job_id"].startswith("job_")
                code = await _code(plain.ask("tasks/get", handle["taskId"]))
                assert code == (
                    types.METHOD_NOT_FOUND if mode == "legacy" else types.MISSING_REQUIRED_CLIENT_CAPABILITY
                )
        for removed in ("tasks/result", "tasks/list"):
            assert await _code(peer.ask(removed, handle["taskId"])) == types.METHOD_NOT_FOUND


async def test_a_listener_hears_each_change_and_the_end(door: Door) -> None:
    async with over_http(url_of(door), TOKEN) as peer:
        handle = await peer.begin("confirm_delete", filename="c.txt")
        params = _Params.model_validate({"notifications": {"taskIds": [handle["taskId"], "job_unknown"]}})
        request = TaskRequest(method="subscriptions/listen", params=params)
        TaskRequest.name_param, kept = None, TaskRequest.name_param
        try:
            listening = asyncio.create_task(peer.client.session.send_request(request, ANY))
            task = await peer_until_input(peer, handle["taskId"])
        finally:
            TaskRequest.name_param = kept
        (key,) = task["inputRequests"]
        await peer.ask("tasks/update", handle["taskId"], inputResponses={key: {"action": "accept", "content": {}}})
        async with asyncio.timeout(90):
            ended = await listening
        assert ended["resultType"] == "complete"
        statuses = [told["status"] for told in peer.tasks.told]
        assert statuses[-1] == "completed"
        assert set(statuses) <= {"working", "input_required", "completed"}
        assert all(told["taskId"] == handle["taskId"] for told in peer.tasks.told)


async def test_a_changed_list_of_tools_is_told(door: Door) -> None:
    heard = asyncio.Event()

    async def hear(message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            heard.set()

    async with over_http(url_of(door), TOKEN, message_handler=hear) as peer:
        params = _Params.model_validate({"notifications": {"toolsListChanged": True}})
        request: Any = types.Request[_Params, str](method="subscriptions/listen", params=params)
        listening = asyncio.create_task(peer.client.session.send_request(request, ANY))
        async with asyncio.timeout(90):
            for number in range(90):  # the first look may come after a change, the next one then tells
                tool = {**TOOL, "name": f"other{number}"}
                await door.client.put("/v1/tools", json={"definitions": [tool]})
                with suppress(TimeoutError):
                    await asyncio.wait_for(heard.wait(), 1)
                if heard.is_set():
                    break
        listening.cancel()
        await asyncio.wait((listening,))
    assert heard.is_set()


async def peer_until_input(peer: Any, task_id: str) -> dict[str, Any]:
    """The question, heard from the stream."""
    async with asyncio.timeout(90):
        while True:
            for told in peer.tasks.told:
                if told["status"] == "input_required":
                    return dict(told)
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
async def test_both_eras_over_stdio(door: Door, tmp_path: Path, mode: str) -> None:
    variables = {"RINGBACK_URL": str(door.client.base_url).rstrip("/"), "RINGBACK_TOKEN": TOKEN}
    variables |= {"RINGBACK_PROJECT": "default", "RINGBACK_DATA": str(tmp_path / "none")}
    async with over_stdio(variables, takes_tasks=mode != "legacy", mode=mode) as peer:
        tools = (await peer.client.list_tools()).tools
        names = [tool.name for tool in tools]
        assert names == sorted(names)
        assert {"start_pause", "slow_compute", "read_async_run", "get_job_status"} <= set(names)
        started = await peer.client.call_tool("start_pause", {"seconds": 0, "idempotency_key": "k"})
        assert started.structured_content is not None
        assert set(started.structured_content) == {"job_id", "status"}
        assert started.structured_content["status"] == "queued"
        again = await peer.client.call_tool("start_pause", {"seconds": 0, "idempotency_key": "k"})
        assert again.structured_content == started.structured_content
        job_id = started.structured_content["job_id"]
        waited = await peer.client.call_tool("wait_for_jobs", {"job_ids": [job_id], "timeout_s": 25})
        assert waited.structured_content is not None
        assert waited.structured_content["jobs"][0]["job_id"] == job_id
        result = await peer.client.call_tool("get_job_result", {"job_id": job_id})
        assert result.structured_content is not None
        if mode != "legacy":
            handle = await peer.begin("slow_compute", seconds=0, label="s")
            assert (await peer.ended(handle["taskId"]))["status"] == "completed"
