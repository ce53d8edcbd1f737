"""Whoever is killed, worker or guardian or both: nothing that they started stays behind."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ringback.worker.assignment import Outcome, Stop
from ringback.worker.processes import leftovers, procfs
from ringback.worker.processes.child import GuardianLostError
from ringback.worker.runtimes.command import CommandRuntime
from tests.worker.attempts import Recorder, dead, guarded, is_alive, pids_in, shell

ENV = {"PATH": os.environ["PATH"]}
ROOT = Path(__file__).parents[2]

TREE = """
trap '' TERM
setsid sh -c "trap '' TERM; echo pid=\\$\\$; sleep 900" &
(sleep 901 & echo pid=$!)
env -i setsid sleep 902 & echo pid=$!
echo pid=$$
sleep 900
"""

WORKER = """
import asyncio, sys
from ringback.worker.processes.guardian import Guardian

async def main():
    guardian = Guardian(worker_mark=sys.argv[1])
    await guardian.start()
    child = await guardian.spawn(["sh", "-c", sys.argv[2]], env={"PATH": sys.argv[3]})
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    text = b""
    while text.count(b"\\n") < 4:
        loop.add_reader(child.stdout, ready.set)
        await ready.wait()
        ready.clear()
        text += __import__("os").read(child.stdout, 4096)
    print(text.decode() + f"guardian={guardian.pid}", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


class Victim:
    """A worker in a process of its own, with a tree of processes under its guardian."""

    def __init__(self, process: "asyncio.subprocess.Process", guardian: int, tree: list[int]) -> None:
        self.process = process
        self.guardian = guardian
        self.tree = tree


@contextlib.asynccontextmanager
async def victim(mark: str) -> AsyncIterator[Victim]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", WORKER, mark, TREE, ENV["PATH"]),
        env={**ENV, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        text = await process.stdout.readuntil(b"guardian=")
        guardian = int(await process.stdout.readline())
        tree = pids_in(text)
        assert len(tree) == 4
        assert all(map(is_alive, tree))
        yield Victim(process, guardian, tree)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_nothing_outlives_a_killed_worker() -> None:
    async with victim("killed-worker") as worker:
        worker.process.kill()
        await dead(*worker.tree, worker.guardian)


def test_a_worker_that_dies_before_its_guardian_is_ready_is_no_news() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.close()
    code = "from ringback.worker.processes.guarding import main; main()"
    with theirs:
        done = subprocess.run(
            [sys.executable, "-c", code, str(theirs.fileno()), "4096"],
            env={**ENV, "PYTHONPATH": str(ROOT / "src")},
            pass_fds=[theirs.fileno()],
            capture_output=True,
            check=False,
            timeout=30,
        )
    assert (done.returncode, done.stderr) == (0, b"")


async def test_the_guardian_shrugs_at_the_terminals_signals() -> None:
    async with guarded() as guardian:
        assert guardian.pid is not None
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            os.kill(guardian.pid, number)
        child = await guardian.spawn(["true"], env=ENV)
        assert await child.wait() == 0
        await child.aclose()
        assert os.getsid(guardian.pid) == guardian.pid


async def test_the_next_worker_sweeps_what_died_with_its_guardian() -> None:
    async with victim("swept") as worker:
        os.kill(worker.guardian, signal.SIGSTOP)
        worker.process.kill()
        await worker.process.wait()
        os.kill(worker.guardian, signal.SIGKILL)
        await dead(worker.guardian)
        survivors = [pid for pid in worker.tree if is_alive(pid)]
        assert survivors
        async with guarded("other-mark"):
            assert [pid for pid in worker.tree if is_alive(pid)] == survivors
        async with guarded("swept"):
            # One of them emptied its environment, and both who guarded it are dead: that one cannot be told apart.
            hidden = [pid for pid in survivors if not procfs.environment(pid).get(b"RINGBACK_WORKER")]
            assert [pid for pid in survivors if is_alive(pid) and pid not in hidden] == []
        for pid in filter(is_alive, hidden):
            os.kill(pid, signal.SIGKILL)


async def test_a_living_worker_is_not_swept() -> None:
    async with victim("shared") as worker, guarded("shared"):
        assert all(map(is_alive, worker.tree))
        assert await asyncio.to_thread(leftovers.sweep, "shared") == 0


async def test_a_killed_guardian_costs_its_attempts_and_no_more() -> None:
    async with guarded() as guardian:
        runtime = CommandRuntime(guardian)
        recorder = Recorder()
        running = asyncio.create_task(runtime.run(shell(TREE), recorder, Stop()))
        tree = await recorder.until_pids(4)
        first = guardian.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        outcome = await running
        assert not any(map(is_alive, tree))
        assert (outcome.kind, outcome.error_kind) == ("failed", "internal")
        assert "guardian" in (outcome.error_message or "")
        after = await runtime.run(shell("echo fine"), Recorder(), Stop())
        assert after.kind == "succeeded"
        assert guardian.pid != first


async def test_a_guardian_that_dies_again_and_again_is_replaced_each_time() -> None:
    before = dead_children()
    async with guarded() as guardian:
        for _ in range(3):
            child = await guardian.spawn(["sleep", "900"], env=ENV)
            assert guardian.pid is not None
            os.kill(guardian.pid, signal.SIGKILL)
            with pytest.raises(GuardianLostError):
                await child.wait()
            assert not is_alive(child.pid)
            await child.aclose()
        assert dead_children() == before


def dead_children() -> set[int]:
    """The zombies of this process; workers that other tests killed have left it some."""
    return {entry.pid for entry in procfs.scan().values() if entry.ppid == os.getpid() and entry.is_dead}


async def test_a_stop_while_the_guardian_dies_is_a_stop() -> None:
    async with guarded() as guardian:
        recorder, stop = Recorder(), Stop()
        running = asyncio.create_task(CommandRuntime(guardian).run(shell(TREE, grace_ms=60_000), recorder, stop))
        tree = await recorder.until_pids(4)
        stop.request("cancel")
        await recorder.is_delivered.wait()
        assert guardian.pid is not None
        os.kill(guardian.pid, signal.SIGKILL)
        assert await running == Outcome(kind="stopped", forced=True)
        assert not any(map(is_alive, tree))


async def test_after_closing_nothing_starts() -> None:
    async with guarded() as guardian:
        pass
    with pytest.raises(GuardianLostError):
        await guardian.spawn(["true"], env=ENV)
