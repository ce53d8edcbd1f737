"""What tests of commands and processes share: a recording reporter, assignments, and waiting for real processes."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from ringback.worker.assignment import Assignment, OutputStream
from ringback.worker.processes import procfs
from ringback.worker.processes.guardian import Guardian
from ringback.worker.runtimes.command import CommandRuntime

WITHIN_S = 5.0
PYTHON = sys.executable


class Recorder:
    """A reporter that keeps everything, and can hold output back like a server that is away."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.is_delivered = asyncio.Event()
        self._streams: dict[OutputStream, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
        self._news = asyncio.Condition()

    @property
    def stdout(self) -> bytes:
        return bytes(self._streams["stdout"])

    @property
    def stderr(self) -> bytes:
        return bytes(self._streams["stderr"])

    def names(self) -> list[str]:
        return [name for name, _ in self.calls]

    def dropped_bytes(self) -> int:
        return sum(detail[1] for name, detail in self.calls if name == "dropped")

    async def until(self, expected: bytes) -> bytes:
        """Wait until stdout holds these bytes; returns stdout."""
        async with asyncio.timeout(WITHIN_S), self._news:
            await self._news.wait_for(lambda: expected in self.stdout)
        return self.stdout

    async def until_pids(self, count: int) -> list[int]:
        """Wait until so many lines like `pid=123` came; returns the numbers."""
        async with asyncio.timeout(WITHIN_S), self._news:
            await self._news.wait_for(lambda: len(pids_in(self.stdout)) == count)
        return pids_in(self.stdout)

    async def output(self, stream: OutputStream, data: bytes) -> None:
        if not self.gate.is_set():
            await self.gate.wait()
        self.calls.append(("output", (stream, len(data))))
        self._streams[stream] += data
        async with self._news:
            self._news.notify_all()

    async def dropped(self, stream: OutputStream, byte_count: int) -> None:
        await self.gate.wait()
        self.calls.append(("dropped", (stream, byte_count)))

    async def progress(self, done: float | None = None, total: float | None = None, message: str | None = None) -> None:
        raise AssertionError("a command reports no progress")

    async def page(self, items: list[Any]) -> None:
        raise AssertionError("a command has no pages")

    async def checkpoint(self, value: Any) -> None:
        raise AssertionError("a command saves no checkpoint")

    async def child(self, tool: str, arguments: Mapping[str, Any]) -> str:
        raise AssertionError("a command starts no children")

    async def ask(self, question: Mapping[str, Any], *, parks: bool = False) -> tuple[str, Mapping[str, Any] | None]:
        raise AssertionError("a command asks nothing")

    async def withdraw(self, key: str) -> str | None:
        raise AssertionError("a command takes back nothing")

    async def callback(self, start_no: int, secret: str | None) -> tuple[str, Mapping[str, Any] | None]:
        raise AssertionError("there is no server to call back")

    async def news(self) -> None:
        raise AssertionError("there is no server with news")

    async def requests(self, after: int) -> Sequence[Mapping[str, Any]]:
        raise AssertionError("a command is no session")

    async def tell(self, kind: str, value: Mapping[str, Any]) -> None:
        raise AssertionError("a command is no session")

    async def use(self, capability: str, members: Mapping[str, Any]) -> Mapping[str, Any]:
        raise AssertionError("a command uses nothing of the server")

    async def cancel_delivered(self) -> None:
        self.calls.append(("cancel_delivered", None))
        self.is_delivered.set()

    async def cancel_acknowledged(self) -> None:
        self.calls.append(("cancel_acknowledged", None))


def assignment(
    *command: str, attempt: str = "att-1", profile: Mapping[str, Any] | None = None, **members: Any
) -> Assignment:
    """An assignment of the command runtime; `profile` adds to the command."""
    return Assignment(
        run_id="run-1",
        job_id="job_1",
        attempt_id=attempt,
        tool="test",
        runtime="command",
        profile={"command": list(command), "cwd": "/", **(profile or {})},
        **members,
    )


def shell(script: str, **members: Any) -> Assignment:
    """An assignment that runs a shell script."""
    return assignment("sh", "-c", script, **members)


def python(program: str, **members: Any) -> Assignment:
    """An assignment that runs a Python program."""
    return assignment(PYTHON, "-I", "-S", "-u", "-c", program, **members)


@contextlib.asynccontextmanager
async def guarded(mark: str = "tests") -> AsyncIterator[Guardian]:
    """A guardian of its own for one test."""
    guardian = Guardian(worker_mark=mark)
    await guardian.start()
    try:
        yield guardian
    finally:
        await guardian.aclose()


@contextlib.asynccontextmanager
async def commands(environment: Mapping[str, str] | None = None, **options: Any) -> AsyncIterator[CommandRuntime]:
    """A command runtime with a guardian of its own."""
    async with guarded() as guardian:
        yield CommandRuntime(guardian, environment=environment, **options)


def is_alive(pid: int) -> bool:
    """Whether a process of this pid runs; zombies do not."""
    found = procfs.process(pid)
    return found is not None and not found.is_dead


async def dead(*pids: int) -> None:
    """Wait until none of these processes runs."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            descriptor = os.pidfd_open(pid)
            ended = asyncio.Event()
            asyncio.get_running_loop().add_reader(descriptor, ended.set)
            try:
                async with asyncio.timeout(WITHIN_S):
                    await ended.wait()
            finally:
                asyncio.get_running_loop().remove_reader(descriptor)
                os.close(descriptor)


def pids_in(output: bytes) -> list[int]:
    """The numbers that stand alone on lines like `pid=123`."""
    return [
        int(line.removeprefix(b"pid="))
        for line in output.splitlines(keepends=True)
        if line.startswith(b"pid=") and line.endswith(b"\n")
    ]
