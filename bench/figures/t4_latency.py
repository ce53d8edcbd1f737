"""T4: what one caller waits for: the 202, the end, and the begin of the work in a worker that was idle."""

import asyncio
import random
import time

import uvloop

from bench import floor, machine
from bench.caller import Caller, Requests, value
from bench.figure import RUNS, Figure, emit, percentile, profile
from bench.installation import APP, Installation


class Watch:
    """One caller on one connection."""

    def __init__(self, caller: Caller, requests: Requests) -> None:
        self._caller, self._requests = caller, requests
        self._start = requests.post("/jobs", {"tool": "moment", "arguments": {}})

    async def start(self) -> tuple[str, float]:
        """The job's id, and milliseconds until the 202."""
        began = time.perf_counter()
        status, body = await self._caller.call(self._start)
        taken = (time.perf_counter() - began) * 1e3
        if status != 202:
            raise RuntimeError(f"{status}: {body!r}")
        return str(value(body, "job_id")), taken

    async def end(self, job_id: str) -> None:
        """Wait for the end as a caller does."""
        _, body = await self._caller.call(self._requests.get(f"/jobs/{job_id}", "Prefer: wait=10\r\n"))
        if value(body, "status") != "done":
            raise RuntimeError(repr(body))

    async def began_at(self, job_id: str) -> float:
        """When the function began, in seconds since 1970."""
        _, body = await self._caller.call(self._requests.get(f"/jobs/{job_id}/result"))
        found = value(body, "result")
        assert isinstance(found, float), body
        return found

    async def latencies(self, count: int) -> tuple[list[float], list[float]]:
        """Milliseconds until the 202, and until the end was seen."""
        accepted, ended = [], []
        for _ in range(count):
            began = time.perf_counter()
            job_id, taken = await self.start()
            await self.end(job_id)
            accepted.append(taken)
            ended.append((time.perf_counter() - began) * 1e3)
        return accepted, ended

    async def idle_starts(self, count: int) -> list[float]:
        """Milliseconds until an idle worker began."""
        found = []
        for _ in range(count):
            await asyncio.sleep(random.uniform(0.3, 0.7))
            began = time.time()
            job_id, _ = await self.start()
            await self.end(job_id)
            found.append((await self.began_at(job_id) - began) * 1e3)
        return found


async def measure() -> None:
    sizes = profile()
    accepted, ended, idle, tails = [], [], [], []
    woken = [floor.round_trips_ms(sizes.idles, idle_s=0.5) for _ in range(RUNS)]  # before there is a loop to fork from
    flushed = [floor.flush_ms() for _ in range(RUNS)]
    with Installation() as installation:
        installation.start_server()
        installation.start_worker(app=APP)
        watch = Watch(await Caller.connect(installation.port), Requests(installation.port, installation.token))
        await watch.latencies(50)
        for _ in range(RUNS):
            machine.wait_for_quiet()
            first, last = await watch.latencies(sizes.latencies)
            accepted.append(percentile(first, 0.5))
            ended.append(percentile(last, 0.5))
            tails.append(percentile(last, 0.99))
            idle.append(percentile(await watch.idle_starts(sizes.idles), 0.5))
    limits = f"one connection, one at a time, {sizes.latencies} a run"
    facts = (
        ("POST → 202, p50", accepted, 1.0, 0.6, limits),
        ("start → seen done by a waiting caller (Prefer: wait), p50", ended, 3.0, 1.6, limits),
        ("start → seen done by a waiting caller, p99", tails, None, None, limits),
        ("idle worker → function begun, p50", idle, 3.0, 1.5, f"after 0.3 to 0.7 s of idleness, {sizes.idles} a run"),
        (
            "floor: bare round trip to an idle process",
            woken,
            None,
            None,
            "two processes, one byte; ours makes six hops",
        ),
        (
            "floor: one flush of 56 kB",
            flushed,
            None,
            None,
            "what a small transaction writes; a lone run waits for three",
        ),
    )
    for name, values, least, aim, note in facts:
        emit(Figure(target="T4", name=name, unit="ms", values=values, better="less", least=least, aim=aim, limits=note))


if __name__ == "__main__":
    uvloop.run(measure())
