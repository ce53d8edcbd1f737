"""A function runtime with a real guardian and real interpreters, for tests to call tools through."""

import asyncio
import contextlib
import os
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringback.worker.assignment import Assignment, Outcome, Stop, StopReason
from ringback.worker.processes.guardian import Guardian
from ringback.worker.runtimes.function import FunctionRuntime
from tests.worker.recorder import Recorder

ROOT = Path(__file__).resolve().parents[2]
SECRET = "S3cr3t-abc-123456"
TOKEN = "rb_worker_token_0001"


@dataclass
class Started:
    """An attempt that is under way."""

    recorder: Recorder
    stop: Stop
    task: "asyncio.Task[Outcome]"

    async def stopped(self, why: StopReason = "cancel", *, grace_ms: int | None = None) -> Outcome:
        """Wait until the tool runs, ask it to stop, and wait for the end."""
        await self.recorder.until_started()
        self.stop.request(why, grace_ms=grace_ms)
        return await self.task


class Functions:
    """Calls tools."""

    def __init__(self, runtime: FunctionRuntime, guardian: Guardian) -> None:
        self.runtime = runtime
        self.guardian = guardian

    def begin(self, tool: str, /, arguments: dict[str, Any] | None = None, **more: Any) -> Started:
        """Start an attempt; `more` are members of the assignment."""
        members: dict[str, Any] = {"run_id": "run", "attempt_id": str(uuid.uuid4()), "runtime": "function", **more}
        members["profile"] = {"secrets": ["SECRET_TOKEN"], **more.get("profile", {})}
        assignment = Assignment(tool=tool, arguments=arguments or {}, **members)
        recorder, stop = Recorder(), Stop()
        task = asyncio.get_running_loop().create_task(self.runtime.run(assignment, recorder, stop))
        return Started(recorder, stop, task)

    async def call(self, tool: str, /, arguments: dict[str, Any] | None = None, **more: Any) -> Outcome:
        """Carry out an attempt to its end."""
        return await self.begin(tool, arguments, **more).task

    async def value(self, tool: str, /, **arguments: Any) -> Any:
        """The result of an attempt that succeeds."""
        outcome = await self.call(tool, arguments)
        assert outcome.kind == "succeeded", outcome
        return outcome.result


@contextlib.asynccontextmanager
async def functions(
    target: str = "tests.worker.function_tools:app", *, slots: int = 2, cwd: Path = ROOT, **env: str
) -> AsyncIterator[Functions]:
    """A started runtime; nothing of it is left afterwards."""
    guardian = Guardian(worker_mark=uuid.uuid4().hex)
    await guardian.start()
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "SECRET_TOKEN": SECRET, **env}
    runtime = FunctionRuntime(guardian, target, slots=slots, env=environment, cwd=str(cwd), secret_values=[TOKEN])
    try:
        await runtime.start()
        yield Functions(runtime, guardian)
    finally:
        await runtime.aclose()
        await guardian.aclose()


def is_alive(pid: int) -> bool:
    """Whether there is a process of this number that isn't a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except FileNotFoundError:
        return False
    return stat[stat.rindex(b")") + 2 :][:1] not in (b"Z", b"X")
