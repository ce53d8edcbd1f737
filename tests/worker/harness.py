"""A worker in the test's own event loop: link, outbox, slots and supervisor, with a runtime that does as it is told."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator

from ringback.worker.assignment import Assignment, Outcome, Reporter, Stop
from ringback.worker.batching import Outbox
from ringback.worker.connection import Address
from ringback.worker.link import Link
from ringback.worker.slots import Slots
from ringback.worker.supervisor import Supervisor
from tests.worker.scripted import ScriptedServer


class ScriptedRuntime:
    """Does what `arguments["do"]` says, and keeps account of what ran."""

    name = "scripted"

    def __init__(self) -> None:
        """Nothing has run."""
        self.started: list[str] = []
        self.running: set[str] = set()
        self.most_running = 0
        self.stops: dict[str, Stop] = {}
        self.ran = Counter[str]()
        self.release = asyncio.Event()
        self.at_rest = asyncio.Event()
        self.flooded = 0

    async def run(self, assignment: Assignment, reporter: Reporter, stop: Stop) -> Outcome:
        """Carry out one scripted attempt."""
        run_id = assignment.run_id
        self.started.append(run_id)
        self.running.add(run_id)
        self.at_rest.clear()
        self.most_running = max(self.most_running, len(self.running))
        self.stops[run_id] = stop
        self.ran[run_id] += 1
        try:
            return await self._do(assignment, reporter, stop)
        finally:
            self.running.discard(run_id)
            if not self.running:
                self.at_rest.set()

    async def aclose(self) -> None:
        """Nothing is held."""

    async def _do(self, assignment: Assignment, reporter: Reporter, stop: Stop) -> Outcome:
        match assignment.arguments.get("do"):
            case "wait":
                await stop.requested.wait()
                return Outcome(kind="stopped", forced=False)
            case "raise":
                raise RuntimeError("the runtime broke")
            case "ignore the stop":
                await self.release.wait()
            case "release":
                await self._until_released(stop)
            case "flood":
                await self._flood(reporter, stop)
            case "return no JSON":
                return Outcome(kind="succeeded", result={"x": object()})
            case "count":
                for number in range(int(assignment.arguments["to"])):
                    await reporter.output("stdout", b"%d\n" % number)
                    await reporter.progress(number, assignment.arguments["to"])
            case "child":
                return Outcome(kind="succeeded", result=await reporter.child("other", {"a": 1}))
            case _:
                pass
        return Outcome(kind="succeeded", result=assignment.arguments)

    async def _until_released(self, stop: Stop) -> None:
        waits = [asyncio.ensure_future(self.release.wait()), asyncio.ensure_future(stop.requested.wait())]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()

    async def _flood(self, reporter: Reporter, stop: Stop) -> None:
        while not stop.requested.is_set():
            await reporter.output("stdout", b"x" * 65536)
            self.flooded += 65536
            await asyncio.sleep(0)


class Worker:
    """The parts, and the tasks that run them."""

    def __init__(self, server: ScriptedServer, *, slots: int = 4) -> None:
        """Not attached yet."""
        self.server = server
        self.outbox = Outbox()
        self.slots = Slots(slots)
        self.runtime = ScriptedRuntime()
        identity = {
            "name": "w",
            "incarnation": "i",
            "protocolVersion": 1,
            "slots": slots,
            "offers": ["default/command"],
        }
        self.link = Link(
            address=Address.parse(server.url), token="secret", identity=identity, outbox=self.outbox, slots=self.slots
        )
        self.supervisor = Supervisor(
            runtimes={"scripted": self.runtime},
            outbox=self.outbox,
            slots=self.slots,
        )


@contextlib.asynccontextmanager
async def worker(server: ScriptedServer, *, slots: int = 4) -> AsyncIterator[Worker]:
    """A worker that is attached and serves until the end of the block."""
    built = Worker(server, slots=slots)
    await built.link.attach()
    serving = asyncio.create_task(built.link.serve(built.supervisor))
    try:
        yield built
    finally:
        built.runtime.release.set()
        await built.supervisor.kill()
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        await built.link.detach()
