"""A real worker process with real commands against the scripted server: pauses, signals, kills, orphans."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.worker.scripted import ScriptedServer, scripted_server

pytestmark = pytest.mark.timeout(60)
SOURCE = Path(__file__).parents[2] / "src"


class Process:
    """One worker process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        """Started by `worker_process`."""
        self.process = process
        self.pid = process.pid

    def signal(self, number: int) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    async def code(self) -> int:
        """Wait for the exit code."""
        return await asyncio.wait_for(self.process.wait(), 20)

    def mapped(self) -> str:
        """The files that are mapped into it."""
        return Path(f"/proc/{self.pid}/maps").read_text()

    def rss_mb(self) -> float:
        """Resident memory."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


@contextlib.asynccontextmanager
async def worker_process(
    server: ScriptedServer, folder: Path, *arguments: str, token: str = "secret"
) -> AsyncIterator[Process]:
    """A worker that is killed at the end of the block, if it still lives."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "RINGBACK_TOKEN": token, "RINGBACK_DATA": str(folder)}
    command = [sys.executable, "-m", "ringback.worker", "--server", server.url, "--log-format", "json", *arguments]
    with (folder / "worker.log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(*command, env=environment, stderr=log, cwd=folder)
    try:
        yield Process(process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def shell(text: str) -> dict[str, Any]:
    """The members of a run that runs a line of shell."""
    return {"runtime": "command", "profile": {"command": ["sh", "-c", text], "envAllow": ["PATH"]}, "summary": "none"}


def is_alive(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def pid_of(server: ScriptedServer, run_id: str) -> int:
    """The pid that a run printed."""
    await server.until(lambda: run_id in server.runs and server.runs[run_id].output.endswith(b"\n"))
    return int(server.runs[run_id].output)


async def test_a_command_runs_and_its_output_arrives(tmp_path: Path) -> None:
    async with scripted_server() as server, worker_process(server, tmp_path):
        await server.add("a", **shell("echo hello; echo bad >&2; exit 3"))
        settle = await server.settled("a")
        assert (settle["outcome"], settle["exitCode"]) == ("failed", 3)
        assert sorted(server.runs["a"].output.split()) == [b"bad", b"hello"]
        assert next(iter(server.sessions.values()))["offers"] == [
            f"default/{need}" for need in ("agent", "command", "http", "mcp", "script")
        ]


async def test_a_wrong_token_ends_the_process_with_a_clear_line(tmp_path: Path) -> None:
    async with scripted_server() as server, worker_process(server, tmp_path, token="wrong") as held:
        assert await held.code() == 6
    assert "does not allow this worker to attach" in (tmp_path / "worker.log").read_text()


async def test_sigterm_drains_and_exits_with_zero(tmp_path: Path) -> None:
    async with scripted_server() as server, worker_process(server, tmp_path, "--drain-grace", "0") as held:
        await server.add("a", **shell("echo $$; exec sleep 600"))
        pid = await pid_of(server, "a")
        held.signal(signal.SIGTERM)
        assert await held.code() == 0
        assert (await server.settled("a"))["outcome"] == "released"
        assert (server.detached, is_alive(pid)) == (["s0"], False)


async def test_sigterm_before_the_server_is_up_ends_the_worker(tmp_path: Path) -> None:
    async with scripted_server() as server:
        await server.stop()
        async with worker_process(server, tmp_path) as held:
            await server.until(lambda: "no good answer" in (tmp_path / "worker.log").read_text())
            held.signal(signal.SIGTERM)
            assert await held.code() == 0


async def test_a_second_signal_kills_at_once(tmp_path: Path) -> None:
    async with scripted_server() as server, worker_process(server, tmp_path, "--drain-grace", "600") as held:
        await server.add("a", **shell("trap '' TERM; echo $$; while :; do sleep 1; done"))
        pid = await pid_of(server, "a")
        held.signal(signal.SIGTERM)
        await server.until(lambda: "draining" in (tmp_path / "worker.log").read_text())
        held.signal(signal.SIGINT)
        assert await held.code() == 128 + signal.SIGINT
        assert not is_alive(pid)


async def test_a_worker_that_was_paused_beyond_its_lease_kills_its_work_before_the_server_answers(
    tmp_path: Path,
) -> None:
    async with scripted_server(lease_ms=1500, heartbeat_ms=300) as server, worker_process(server, tmp_path) as held:
        await server.add("a", **shell("echo $$; exec sleep 600"))
        pid = await pid_of(server, "a")
        beats = len(server.bodies("heartbeat"))
        held.signal(signal.SIGSTOP)
        loop = asyncio.get_running_loop()
        paused = loop.time() + 1.6
        await server.until(lambda: loop.time() > paused)
        await server.expire()
        for verb in ("heartbeat", "claim", "report"):
            server.faults[verb].extend(["hang"] * 100)
        held.signal(signal.SIGCONT)
        await server.until(lambda: not is_alive(pid))
        assert server.runs["a"].settle is None
        for verb in ("heartbeat", "claim", "report"):
            server.faults[verb].clear()
        server.hanging.set()
        await server.until(lambda: len(server.sessions) == 2)
        await server.add("b", **shell("true"))
        assert (await server.settled("b"))["outcome"] == "succeeded"
        assert len(server.bodies("heartbeat")) > beats


async def test_a_killed_worker_leaves_no_process_behind(tmp_path: Path) -> None:
    async with scripted_server() as server:
        async with worker_process(server, tmp_path) as held:
            await server.add("a", **shell("setsid sh -c 'echo $$; exec sleep 600' & wait"))
            pid = await pid_of(server, "a")
            held.signal(signal.SIGKILL)
            await held.code()
        await server.until(lambda: not is_alive(pid))


async def test_a_result_that_was_reached_while_the_server_was_away_is_delivered(tmp_path: Path) -> None:
    async with scripted_server() as server, worker_process(server, tmp_path):
        gate = tmp_path / "gate"
        await server.add(
            "a", **shell(f"echo $$; while ! test -e {gate}; do sleep 0.01; done; echo x >> {tmp_path}/ran")
        )
        await pid_of(server, "a")
        await server.stop()
        gate.touch()
        await server.until((tmp_path / "ran").exists)
        await server.start()
        assert (await server.settled("a"))["outcome"] == "succeeded"
        assert (tmp_path / "ran").read_text() == "x\n"


@contextlib.asynccontextmanager
async def parent() -> AsyncIterator[asyncio.subprocess.Process]:
    """A process to be the parent."""
    process = await asyncio.create_subprocess_exec("sleep", "600")
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def test_an_orphan_finishes_what_it_holds_and_claims_nothing_more(tmp_path: Path) -> None:
    async with scripted_server() as server, parent() as up:
        async with worker_process(server, tmp_path, "--parent-pid", str(up.pid)) as held:
            gate = tmp_path / "gate"
            await server.add("a", **shell(f"echo $$; while ! test -e {gate}; do sleep 0.01; done"))
            await pid_of(server, "a")
            up.kill()
            await up.wait()
            await server.until(lambda: server.last("claim").get("slots") == 0)
            await server.add("b", **shell("true"))
            gate.touch()
            assert await held.code() == 0
        assert (await server.settled("a"))["outcome"] == "succeeded"
        assert ("b" in server.runs, server.detached) == (False, ["s0"])


async def test_an_orphan_without_a_server_leaves_when_its_patience_is_over(tmp_path: Path) -> None:
    async with scripted_server() as server, parent() as up:
        flags = ("--parent-pid", str(up.pid), "--patience", "0.3", "--drain-grace", "0")
        async with worker_process(server, tmp_path, *flags) as held:
            await server.add("a", **shell("echo $$; exec sleep 600"))
            pid = await pid_of(server, "a")
            await server.stop()
            up.kill()
            await up.wait()
            assert await held.code() == 0
            assert not is_alive(pid)


async def test_the_log_is_json_and_holds_no_token(tmp_path: Path) -> None:
    async with scripted_server() as server, worker_process(server, tmp_path, "--log-level", "debug") as held:
        await server.add("a", **shell("echo secret"))
        await server.settled("a")
        held.signal(signal.SIGTERM)
        await held.code()
        command_line = (tmp_path / "worker.log").read_text().splitlines()
        events = [json.loads(line)["event"] for line in command_line]
        assert "attached" in events
        assert "secret" not in (tmp_path / "worker.log").read_text()
        assert b"secret" not in server.runs["a"].output


async def test_an_idle_worker_is_small(tmp_path: Path) -> None:
    async with scripted_server() as server, worker_process(server, tmp_path) as held:
        await server.add("a", **shell("true"))
        await server.settled("a")
        assert held.rss_mb() < 40
        assert "pydantic" not in held.mapped()
