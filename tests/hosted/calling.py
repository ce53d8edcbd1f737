"""The MCP runtime with a guardian of its own, called without a server of runs."""

import asyncio
import contextlib
import os
import uuid
from collections.abc import AsyncIterator, Mapping
from typing import Any

from ringback.worker.assignment import Assignment, Outcome, Stop
from ringback.worker.processes.guardian import Guardian
from ringback.worker.runtimes.mcp import McpRuntime
from tests.worker.recorder import Recorder

WITHIN_S = 60.0


class Calls:
    """Makes calls and keeps what was reported of them."""

    def __init__(self, runtime: McpRuntime) -> None:
        self.runtime = runtime
        self.recorder = Recorder()
        self.stop = Stop()

    async def __call__(self, server: Mapping[str, Any], tool: str = "", **more: Any) -> Outcome:
        """One call, with a recorder and a stop of its own; both stay here for the test."""
        return await self.begin(server, tool, **more)

    def begin(self, server: Mapping[str, Any], tool: str = "", **more: Any) -> "asyncio.Task[Outcome]":
        """One call, under way."""
        self.recorder, self.stop = Recorder(), Stop()
        self.recorder.replies = more.pop("replies", [])
        profile = {"server": server, **({"tool": tool} if tool else {}), **more.pop("profile", {})}
        assignment = Assignment(
            run_id="run",
            attempt_id=str(uuid.uuid4()),
            runtime="mcp",
            tool="demo",
            arguments=more.pop("arguments", {}),
            profile=profile,
            **more,
        )
        return asyncio.create_task(_within(self.runtime.run(assignment, self.recorder, self.stop)))


async def _within(work: Any) -> Outcome:
    async with asyncio.timeout(WITHIN_S):
        outcome: Outcome = await work
    return outcome


@contextlib.asynccontextmanager
async def calling(environment: Mapping[str, str] | None = None) -> AsyncIterator[Calls]:
    """Ready to call; afterwards nothing is left of any server."""
    guardian = Guardian(worker_mark=uuid.uuid4().hex)
    await guardian.start()
    runtime = McpRuntime(guardian, environment={**os.environ, **(environment or {})}, secret_values=("rbp_worker",))
    try:
        yield Calls(runtime)
    finally:
        await runtime.aclose()
        await guardian.aclose()


def text_of(outcome: Outcome) -> str:
    """The text of a result."""
    assert outcome.kind == "succeeded", outcome
    return "\n".join(block["text"] for block in outcome.result["content"] if block["type"] == "text")
