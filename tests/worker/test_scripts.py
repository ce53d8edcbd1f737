"""Stored scripts as attempts: a real guardian, a real interpreter a script."""

from __future__ import annotations

import asyncio
import contextlib
import os
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ringback.worker.assignment import Assignment, Outcome, OutputStream, Stop
from ringback.worker.processes.guardian import Guardian
from ringback.worker.runtimes.script import ScriptRuntime
from tests.worker.recorder import Recorder

SECRET = "S3cr3t-abc-123456"


@contextlib.asynccontextmanager
async def runtime() -> AsyncIterator[ScriptRuntime]:
    guardian = Guardian(worker_mark=uuid.uuid4().hex)
    await guardian.start()
    one = ScriptRuntime(guardian, environment={**os.environ, "API_KEY": SECRET, "RINGBACK_TOKEN": "rbp_worker"})
    try:
        yield one
    finally:
        await one.aclose()
        await guardian.aclose()


async def carry_out(source: str, arguments: dict[str, Any] | None = None, **more: Any) -> tuple[Outcome, Recorder]:
    profile = {"source": source, **more.pop("profile", {})}
    recorder, stop = Recorder(), Stop()
    assignment = Assignment(
        run_id="run",
        attempt_id=str(uuid.uuid4()),
        runtime="script",
        tool="demo",
        arguments=arguments or {},
        profile=profile,
        **more,
    )
    async with runtime() as scripts, asyncio.timeout(60):
        return await scripts.run(assignment, recorder, stop), recorder


@pytest.mark.parametrize(
    ("source", "result"),
    [
        pytest.param("def main(args): return {'ok': args['a']}", {"ok": 1}, id="args"),
        pytest.param("async def main(ctx, args): return [ctx.run_id, args]", ["run", {"a": 1}], id="context"),
        pytest.param("def main(): return 'plain'", "plain", id="neither"),
        pytest.param("print('no main')", None, id="no-main"),
        pytest.param(
            "from dataclasses import dataclass\n@dataclass\nclass A:\n  n: int\ndef main(args): return A(3).n",
            3,
            id="class",
        ),
    ],
)
async def test_main_returns_the_output(source: str, result: object) -> None:
    outcome, _ = await carry_out(source, {"a": 1})
    assert (outcome.kind, outcome.result) == ("succeeded", result)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param("def main(args): return 1 / 0", "ZeroDivisionError", id="raises"),
        pytest.param("raise ValueError('at once')", "at once", id="top-level"),
        pytest.param("def main(", "SyntaxError", id="syntax"),
        pytest.param("def main(args): return object()", "object", id="no-json"),
        pytest.param("import os; os._exit(3)", "exit code 3", id="exit"),
        pytest.param("def main(args): return len('x' * (1 << 31))", "MemoryError", id="memory"),
    ],
)
async def test_what_a_script_does_wrong_is_a_failure_of_the_work(source: str, message: str) -> None:
    outcome, _ = await carry_out(source, profile={"limits": {"memoryBytes": 1 << 30}})
    assert (outcome.kind, outcome.error_kind) == ("failed", "tool_error")
    assert message in str(outcome.error_message)


class _StopsOnOutput(Recorder):
    """Lets the limit fire as soon as the script has printed something."""

    def __init__(self, stop: Stop) -> None:
        super().__init__()
        self._stop = stop

    async def output(self, stream: OutputStream, data: bytes) -> None:
        await super().output(stream, data)
        self._stop.request("timeout:attempt")


async def test_a_limit_of_time_holds_for_the_top_level() -> None:
    """A stop reaches a script that never comes to its `main`."""
    stop = Stop()
    recorder = _StopsOnOutput(stop)
    assignment = Assignment(
        run_id="run",
        attempt_id=str(uuid.uuid4()),
        runtime="script",
        tool="demo",
        profile={"source": "print('on', flush=True)\nwhile True: pass"},
        grace_ms=100,
    )
    async with runtime() as scripts, asyncio.timeout(60):
        outcome = await scripts.run(assignment, recorder, stop)
    assert (outcome.kind, outcome.limit) == ("timed_out", "attempt")


async def test_it_sees_little_of_the_worker_and_leaves_nothing() -> None:
    """The environment is a command's, secrets are masked, and its folder is gone."""
    source = "import os\ndef main(args):\n print(os.environ['API_KEY'])\n return [os.getcwd(), sorted(os.environ)]"
    outcome, recorder = await carry_out(source, profile={"secrets": ["API_KEY"]})
    assert outcome.kind == "succeeded"
    folder, names = outcome.result
    assert not await asyncio.to_thread(Path(folder).exists)
    assert "RINGBACK_TOKEN" not in names
    assert SECRET not in str(vars(recorder))


async def test_a_secret_that_the_worker_lacks_is_named() -> None:
    outcome, _ = await carry_out("", profile={"secrets": ["NOT_THERE"]})
    assert (outcome.kind, "NOT_THERE" in str(outcome.error_message)) == ("failed", True)
