"""A session as an attempt: requests in, one answer each, through deaths, restarts, doubts and stops. Without a server of runs."""

import asyncio
import contextlib
import os
import signal
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from ringback.worker.assignment import Assignment, Outcome, Stop
from tests.hosted.calling import WITHIN_S, calling
from tests.hosted.servers import nasty
from tests.worker.attempts import is_alive
from tests.worker.recorder import Recorder

CLIENT: dict[str, Any] = {
    "mode": "mcp_server",
    "clientInfo": {"name": "t", "version": "1"},
    "clientCapabilities": {"elicitation": {}},
}


class Open:
    """One session under way."""

    def __init__(self, recorder: Recorder, stop: Stop, running: "asyncio.Task[Outcome]") -> None:
        self.recorder, self.stop, self.running = recorder, stop, running

    async def ask(self, method: str, params: dict[str, Any] | None = None, **more: Any) -> Any:
        number = self.recorder.ask_session(method, params=params or {}, **more)
        return await self.recorder.answer_to(number)

    async def call(self, tool: str, **arguments: Any) -> Any:
        return await self.ask("tools/call", {"name": tool, "arguments": arguments})

    async def text(self, tool: str, **arguments: Any) -> str:
        answer = await self.call(tool, **arguments)
        return str(answer["result"]["content"][0]["text"])

    async def ended(self) -> Outcome:
        async with asyncio.timeout(WITHIN_S):
            return await self.running

    async def end(self) -> Outcome:
        self.stop.request("cancel", grace_ms=2000)
        return await self.ended()


@contextlib.asynccontextmanager
async def opened(server: dict[str, Any], put: list[dict[str, Any]] | None = None, **more: Any) -> AsyncIterator[Open]:
    async with calling() as call:
        recorder, stop = Recorder(), Stop()
        recorder.put, recorder.replies = list(put or []), more.pop("replies", [])
        assignment = Assignment(
            run_id="run",
            attempt_id=str(uuid.uuid4()),
            runtime="mcp",
            tool="demo",
            resource_type="mcp_server",
            input={**CLIENT, **more.pop("given", {})},
            profile={"server": server},
            **more,
        )
        running = asyncio.create_task(call.runtime.run(assignment, recorder, stop))
        try:
            yield Open(recorder, stop, running)
        finally:
            stop.request("lost")
            await asyncio.wait((running,))


@pytest.mark.parametrize("era", ["handshake", "modern"])
async def test_requests_are_answered_and_the_server_keeps_its_state(era: str) -> None:
    async with opened(nasty(era), replies=[("answered", {"payload": {"name": "Ada"}})]) as session:
        pid = int(await session.text("pid"))
        assert int(await session.text("pid")) == pid
        ((facts,),) = session.recorder.of("mcp.opened")
        assert facts["protocolVersion"] == ("2025-11-25" if era == "handshake" else "2026-07-28")
        assert (await session.ask("initialize"))["result"]["capabilities"] == {"tools": {}}
        assert len((await session.ask("tools/list"))["result"]["tools"]) == 10  # a page: the client asks for the next
        assert (await session.ask("no/such"))["error"]["code"] == -32601
        assert (await session.call("wrong"))["error"]["code"] == -32602
        assert "Ada" in await session.text("ask")
        assert session.recorder.questions[0]["kind"] == "input"
        await session.call("progress")
        told = [value["method"] for (value,) in session.recorder.of("mcp.notification")]
        assert told == ["notifications/progress"] * 3 + ["notifications/message"]
        outcome = await session.end()
        assert (outcome.kind, outcome.forced) == ("stopped", False)
        assert session.recorder.of("cancel_acknowledged")
        assert not is_alive(pid)


async def test_only_what_the_client_declared_is_declared() -> None:
    async with opened(nasty(), given={"clientCapabilities": {}}) as session:
        assert '"code": -32601' in await session.text("ask")
        assert '"code": -32601' in await session.text("sample")


async def test_a_death_answers_what_was_open_and_the_rest_goes_on() -> None:
    async with opened(nasty()) as session:
        pid = int(await session.text("pid"))
        hanging = session.recorder.ask_session("tools/call", params={"name": "hang", "_meta": {"progressToken": 1}})
        await session.recorder.until(lambda recorder: bool(recorder.of("mcp.notification")))
        os.kill(pid, signal.SIGKILL)
        answer = await session.recorder.answer_to(hanging)
        assert answer["error"] == {"code": -32000, "message": "the MCP server was killed by SIGKILL before it answered"}
        assert int(await session.text("pid")) != pid
        assert [facts["restarts"] for (facts,) in session.recorder.of("mcp.opened")] == [0, 1]
        assert "killed by SIGKILL; it is started again" in session.recorder.text("stderr")


async def test_a_server_that_may_not_be_started_again_ends_the_run() -> None:
    async with opened(nasty(restart={"policy": "never"})) as session:
        assert (await session.call("die"))["error"]["code"] == -32000
        outcome = await session.ended()
        assert (outcome.kind, outcome.error_kind) == ("failed", "tool_error")
        assert outcome.error_message == "the MCP server was killed by SIGKILL"


async def test_a_server_that_never_starts_ends_the_run_after_its_tries() -> None:
    async with opened(nasty("refuse", restart={"attemptsMax": 2, "delayS": 0.01})) as session:
        outcome = await session.ended()
        assert outcome.kind == "failed"
        assert "ended with exit code 1" in (outcome.error_message or "")
        assert outcome.result == {"requests": 0, "restarts": 2}


async def test_a_session_that_nobody_uses_ends_as_succeeded() -> None:
    async with opened(nasty(idleS=0.3)) as session:
        assert await session.text("echo") == "{}"
        outcome = await session.ended()
        assert outcome.kind == "succeeded"
        assert outcome.result == {"requests": 1, "restarts": 0}
    async with opened(nasty(), idle_timeout_ms=200) as session:
        assert (await session.ended()).kind == "stopped"
        assert session.stop.why == "timeout:idle"


async def test_what_is_in_doubt_is_repeated_only_if_it_reads() -> None:
    calls = {"method": "tools/call", "params": {"name": "pid"}}
    put: list[dict[str, Any]] = [
        {"number": 1, "request": calls, "inDoubt": True},
        {"number": 2, "request": {"method": "tools/list"}, "inDoubt": True},
        {"number": 3, "request": calls},
    ]
    async with opened(nasty(), put) as session:
        doubted = await session.recorder.answer_to(1)
        assert doubted["error"]["code"] == -32001
        assert "tools" in (await session.recorder.answer_to(2))["result"]
        assert "content" in (await session.recorder.answer_to(3))["result"]


async def test_a_request_is_cancelled_by_the_id_that_its_client_gave() -> None:
    async with opened(nasty()) as session:
        params = {"name": "obey", "_meta": {"progressToken": "p"}}
        slow = session.recorder.ask_session("tools/call", params=params, id="a-1")
        await session.recorder.until(lambda recorder: bool(recorder.of("mcp.notification")))
        ((told,),) = session.recorder.of("mcp.notification")
        assert told["params"]["progressToken"] == "p"
        cancelled = await session.ask("notifications/cancelled", {"requestId": "a-1", "reason": "enough"})
        assert cancelled == {"result": {}}
        assert (await session.recorder.answer_to(slow))["error"]["message"] == "cancelled"


async def test_an_answer_that_is_too_large_is_an_error_of_its_request() -> None:
    async with opened(nasty()) as session:
        assert "4194304 are the most" in (await session.call("huge", mib=5))["error"]["message"]
        assert "16777216 are the most" in (await session.call("huge", mib=20))["error"]["message"]
        assert await session.text("echo") == "{}"


async def test_a_deaf_server_is_ended_by_force() -> None:
    async with opened(nasty()) as session:
        session.recorder.ask_session("tools/call", params={"name": "deaf", "_meta": {"progressToken": 1}})
        await session.recorder.until(lambda recorder: bool(recorder.of("mcp.notification")))
        outcome = await session.end()
        assert (outcome.kind, outcome.forced) == ("stopped", True)
