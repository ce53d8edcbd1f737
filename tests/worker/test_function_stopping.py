"""Stopping functions: kindly where they look, by force where they don't, and never at the cost of others.

O05 and O80 at the level of the runtime: the event loop of the worker stays free whatever user code does. O81: attempts
that time out leave neither threads nor processes.
"""

import asyncio
import os
import threading
from pathlib import Path

import pytest

from ringback.worker.assignment import Outcome
from ringback.worker.processes import procfs
from tests.worker.functions import Functions, functions, is_alive

COOPERATIVE = ["loops", "waits", "generates_forever", "asks_forever"]
DEAF = ["sleeps", "blocks_loop", "waits_stubbornly", "holds_interpreter"]


def below(tools: Functions) -> list[procfs.Process]:
    """Every process of the runtime, the guardian's own excepted."""
    assert tools.guardian.pid is not None
    return [each for each in procfs.descendants(procfs.scan(), [tools.guardian.pid]) if each.pid != tools.guardian.pid]


@pytest.mark.parametrize("tool", COOPERATIVE)
async def test_a_tool_that_looks_ends_by_itself_and_its_interpreter_stays_warm(tool: str) -> None:
    async with functions(slots=1) as tools:
        before = await tools.value("whoami")
        started = tools.begin(tool)
        assert await started.stopped() == Outcome(kind="stopped", forced=False)
        kinds = [event[0] for event in started.recorder.events if event[0].startswith("cancel")]
        assert kinds == ["cancel_delivered", "cancel_acknowledged"]
        assert await tools.value("whoami") == {"pid": before["pid"], "call": before["call"] + 1}


@pytest.mark.parametrize("tool", DEAF)
async def test_a_tool_that_does_not_look_is_ended_by_force_with_its_processes(tool: str) -> None:
    async with functions(slots=1) as tools:
        before = await tools.value("whoami")
        outcome = await tools.begin(tool).stopped(grace_ms=20)
        assert outcome == Outcome(kind="stopped", forced=True)
        assert not is_alive(before["pid"])
        after = await tools.value("whoami")
        assert after["call"] == 1
        assert [each.pid for each in below(tools)] == [after["pid"]]


async def test_a_cancelled_async_tool_may_clean_up() -> None:
    async with functions(slots=1) as tools:
        started = tools.begin("waits")
        await started.stopped()
        assert started.recorder.text("stdout").endswith("cleaned up\n")


async def test_a_tool_that_finishes_in_spite_of_a_stop_has_succeeded() -> None:
    async with functions(slots=1) as tools:
        assert (await tools.begin("loops", {"cleans_up": True}).stopped()).kind == "succeeded"


@pytest.mark.parametrize("limit", ["attempt", "idle", "deadline"])
async def test_a_limit_that_fired_is_named_whatever_the_tool_does(limit: str) -> None:
    async with functions(slots=1) as tools:
        for tool, arguments in (("loops", {}), ("loops", {"cleans_up": True}), ("sleeps", {})):
            outcome = await tools.begin(tool, arguments).stopped(f"timeout:{limit}", grace_ms=20)  # type: ignore[arg-type]
            assert (outcome.kind, outcome.limit, outcome.forced) == ("timed_out", limit, tool == "sleeps")


async def test_the_idle_limit_is_kept_by_the_runtime() -> None:
    async with functions(slots=1) as tools:
        outcome = await tools.call("loops", idle_timeout_ms=100)
        assert (outcome.kind, outcome.limit) == ("timed_out", "idle")
        started = tools.begin("counts", {"n": 300_000}, idle_timeout_ms=5_000)
        assert (await started.task).kind == "succeeded"


async def test_a_drain_gives_the_attempt_back() -> None:
    async with functions(slots=1) as tools:
        assert (await tools.begin("loops").stopped("drain")).kind == "released"
        assert (await tools.begin("sleeps").stopped("drain", grace_ms=20)).kind == "released"


async def test_a_lost_attempt_is_killed_without_grace_even_in_the_grace_of_a_stop() -> None:
    async with functions(slots=1) as tools:
        assert (await tools.begin("sleeps").stopped("lost")).forced
        started = tools.begin("sleeps")
        await started.recorder.until_started()
        started.stop.request("cancel", grace_ms=3_600_000)
        await started.recorder.until(lambda recorder: ["cancel_delivered"] in [[kind] for kind, *_ in recorder.events])
        started.stop.request("lost")
        assert (await asyncio.wait_for(started.task, 5)).forced


async def test_an_abandoned_attempt_leaves_nothing() -> None:
    async with functions(slots=1) as tools:
        pid = (await tools.value("whoami"))["pid"]
        started = tools.begin("sleeps")
        await started.recorder.until_started()
        started.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await started.task
        assert not is_alive(pid)


@pytest.mark.parametrize("tool", ["blocks_loop", "holds_interpreter"])
async def test_blocking_user_code_delays_nobody_else(tool: str) -> None:
    async with functions(slots=2) as tools:
        hog = tools.begin(tool)
        await hog.recorder.until_started()
        async with asyncio.timeout(15):
            assert [await tools.value("echo", value=n) for n in range(10)] == list(range(10))
        assert not hog.task.done()
        assert (await hog.stopped(grace_ms=0)).forced


async def test_hundreds_of_stopped_attempts_leave_no_threads_and_no_processes() -> None:
    async with functions(slots=2) as tools:
        threads, files = threading.active_count(), len(os.listdir("/proc/self/fd"))  # noqa: PTH208
        for _ in range(5):
            deaf = [tools.begin("sleeps") for _ in range(2)]
            await asyncio.gather(*(each.stopped("timeout:attempt", grace_ms=0) for each in deaf))
        looking = [tools.begin("waits") for _ in range(200)]
        await asyncio.gather(*(each.stopped("timeout:attempt") for each in looking))
        quick = [tools.begin("naps", {"seconds": 0.002}) for _ in range(300)]
        for position, each in enumerate(quick):
            if position % 2:
                each.stop.request("cancel")
        outcomes = [await each.task for each in quick]
        assert {outcome.kind for outcome in outcomes} <= {"succeeded", "stopped"}
        assert threading.active_count() == threads
        assert len(below(tools)) <= 2
        assert len(os.listdir("/proc/self/fd")) <= files + 6  # noqa: PTH208 - three for a second interpreter, and what is in transit


async def test_nothing_outlives_the_guardian() -> None:
    async with functions(slots=2) as tools:
        started = [tools.begin("sleeps"), tools.begin("holds_interpreter")]
        for each in started:
            await each.recorder.until_started()
        pids = [each.pid for each in below(tools)]
        assert len(pids) >= 3
        closing = asyncio.get_running_loop().create_task(tools.guardian.aclose())
        assert {(await each.task).kind for each in started} == {"failed"}
        await closing
        assert not [pid for pid in pids if is_alive(pid)]


async def test_closing_the_runtime_ends_what_runs_and_gives_back_what_waits() -> None:
    async with functions(slots=1) as tools:
        running, waiting = tools.begin("sleeps"), tools.begin("noop")
        await running.recorder.until_started()
        await tools.runtime.aclose()
        assert ((await running.task).kind, (await waiting.task).kind) == ("failed", "released")
        assert not below(tools)
        await tools.runtime.aclose()


async def test_a_stop_does_not_wait_for_an_application_that_loads_forever(tmp_path: Path) -> None:
    loads = tmp_path / "loads"
    source = f"""
import pathlib, threading
from ringback import App
app = App()
app.tool(name="noop")(lambda: None)
if pathlib.Path({str(loads)!r}).exists():
    threading.Event().wait()
pathlib.Path({str(loads)!r}).touch()
"""
    (tmp_path / "slow.py").write_text(source, encoding="utf-8")
    async with functions("slow:app", slots=1, cwd=tmp_path) as tools:
        await tools.runtime._idle[0].kill()
        started = tools.begin("noop")
        while not tools.runtime._spawning:
            await asyncio.sleep(0)
        started.stop.request("timeout:attempt")
        assert (await asyncio.wait_for(started.task, 5)).kind == "timed_out"
