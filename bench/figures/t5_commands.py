"""T5: the command runtime: `true` end to end for one caller, and how many commands a second a worker with default slots runs."""

import asyncio
import os
import time

import uvloop

from bench import machine
from bench.caller import Caller, Requests, flooded, value
from bench.figure import RUNS, Figure, Slope, emit, percentile, profile
from bench.installation import Installation

CONNECTIONS = 16
SLOTS = max(4, os.cpu_count() or 1)


async def _one(caller: Caller, requests: Requests, start: bytes) -> float:
    began = time.perf_counter()
    _, body = await caller.call(start)
    _, body = await caller.call(requests.get(f"/jobs/{value(body, 'job_id')}", "Prefer: wait=10\r\n"))
    if value(body, "status") != "done":
        raise RuntimeError(repr(body))
    return (time.perf_counter() - began) * 1e3


async def _many(callers: list[Caller], requests: Requests, start: bytes, count: int) -> float:
    began = time.perf_counter()
    await flooded(callers, start, count)
    while value((await callers[0].call(requests.get("/jobs?status=active&limit=1")))[1], "jobs"):
        await asyncio.sleep(0.01)
    return count / (time.perf_counter() - began)


async def measure() -> None:
    sizes = profile()
    latencies, rates, costs = [], [], {}
    with Installation() as installation:
        installation.start_server()
        installation.start_worker(slots=SLOTS)
        installation.release("nothing", ["true"])
        requests = Requests(installation.port, installation.token)
        callers = [await Caller.connect(installation.port) for _ in range(CONNECTIONS)]
        start = requests.post("/jobs", {"tool": "nothing", "arguments": {}})
        await _many(callers, requests, start, 20)
        for _ in range(RUNS):
            machine.wait_for_quiet()
            found = [await _one(callers[0], requests, start) for _ in range(max(20, sizes.commands // 8))]
            latencies.append(percentile(found, 0.5))
            rates.append(await _many(callers, requests, start, sizes.commands))
        for size in (sizes.commands // 4, sizes.commands // 2, sizes.commands):
            costs[size] = 1e3 / await _many(callers, requests, start, size)
    name = "command `true`"
    emit(
        Figure(
            target="T5",
            name=f"{name}: start → seen done, p50",
            unit="ms",
            values=latencies,
            better="less",
            least=12,
            aim=8,
        )
    )
    emit(
        Figure(
            target="T5",
            name=f"{name}, many",
            unit="commands/s",
            values=rates,
            least=200,
            aim=350,
            limits=f"{SLOTS} slots (default)",
        )
    )
    emit(Slope(target="T5", name=name, unit="ms a command", costs=costs))


if __name__ == "__main__":
    uvloop.run(measure())
