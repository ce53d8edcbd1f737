"""What attempts leave behind: processes are ended, threads and growth cost the interpreter, the rest goes on warm."""

import asyncio

import pytest

from ringback.worker.processes import procfs
from tests.worker.functions import functions, is_alive


def children_of(pid: int) -> list[procfs.Process]:
    return [process for process in procfs.scan().values() if process.ppid == pid]


@pytest.mark.parametrize("detached", [False, True])
async def test_processes_that_are_left_are_ended_and_the_interpreter_stays(detached: bool) -> None:
    async with functions(slots=1) as tools:
        before = await tools.value("whoami")
        for _ in range(2):
            assert not is_alive(await tools.value("leaves_process", detached=detached))
        assert (await tools.value("whoami"))["pid"] == before["pid"]


async def test_processes_leave_no_zombies() -> None:
    async with functions(slots=1) as tools:
        for _ in range(10):
            await tools.value("leaves_process")
            await tools.value("runs_process")
        pid = (await tools.value("whoami"))["pid"]
        assert children_of(pid) == []


async def test_a_thread_that_is_left_costs_the_interpreter() -> None:
    async with functions(slots=1) as tools:
        pid = await tools.value("leaves_thread", daemon=False)
        assert not is_alive(pid)
        assert (await tools.value("whoami"))["pid"] != pid


@pytest.mark.parametrize("how", ["close", "replace"])
async def test_an_interpreter_that_lost_its_output_is_replaced(how: str) -> None:
    async with functions(slots=1) as tools:
        assert not is_alive(await tools.value("loses_stdout", how=how))
        started = tools.begin("prints", {"text": "seen"})
        await started.task
        assert started.recorder.text("stdout").endswith("seen\n")


async def test_a_daemon_thread_costs_nothing() -> None:
    async with functions(slots=1) as tools:
        pid = await tools.value("leaves_thread", daemon=True)
        assert (await tools.value("whoami"))["pid"] == pid


async def test_tasks_and_idle_threads_of_the_loop_cost_nothing() -> None:
    async with functions(slots=1) as tools:
        pids = [await tools.value("leaves_task") for _ in range(3)]
        assert len(set(pids)) == 1
        assert (await tools.value("whoami"))["pid"] == pids[0]


async def test_an_interpreter_is_recycled_after_so_many_attempts() -> None:
    async with functions(slots=1, RINGBACK_CHILD_ATTEMPTS="3") as tools:
        seen = [await tools.value("whoami") for _ in range(7)]
        assert [each["call"] for each in seen] == [1, 2, 3, 1, 2, 3, 1]
        assert not is_alive(seen[0]["pid"])


async def test_an_interpreter_that_grew_is_recycled() -> None:
    async with functions(slots=1, RINGBACK_CHILD_GROWTH_BYTES="20000000") as tools:
        pids = [await tools.value("grows", size=1_000_000) for _ in range(200)]
        assert 1 < len(set(pids)) < 5


async def test_interpreters_that_come_too_late_leave_after_a_while() -> None:
    """The one they were started for was served by another one meanwhile."""
    async with functions(slots=3) as tools:
        tools.runtime._keep_warm_s = 0.0
        for _ in range(2):
            tools.runtime._begin_spawn()
        async with asyncio.timeout(60):
            while len(tools.runtime._idle) > 1 or tools.runtime._background:
                await asyncio.sleep(0.01)


async def test_idle_interpreters_beyond_one_leave_after_a_while() -> None:
    async with functions(slots=3) as tools:
        tools.runtime._keep_warm_s = 0.0
        started = [tools.begin("naps", {"seconds": 0.05}) for _ in range(3)]
        assert {(await each.task).kind for each in started} == {"succeeded"}
        async with asyncio.timeout(60):
            while len(tools.runtime._idle) > 1 or tools.runtime._background:
                await asyncio.sleep(0.01)
        assert (await tools.value("whoami"))["call"] == 1
