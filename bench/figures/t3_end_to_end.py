"""T3: end to end on two cores: an HTTP client, the server, a worker process, a function that does nothing.

One client starts `flood` runs over 64 connections and then looks every 20 ms until none is open, exactly as with each peer.
Nothing is pinned: three processes and their children share the cores as they will.
"""

import asyncio
import time

import uvloop

from bench import machine
from bench.caller import Caller, Requests, flooded, value
from bench.figure import RUNS, Figure, Slope, emit, profile, say
from bench.installation import APP, Installation

CONNECTIONS = 64
SLOTS = 48
LOOK_EVERY_S = 0.02
BEHIND_S = 120.0


async def flood(callers: list[Caller], requests: Requests, count: int) -> tuple[float, float]:
    """Runs accepted a second, runs ended a second."""
    began = time.perf_counter()
    await flooded(callers, requests.post("/jobs", {"tool": "noop", "arguments": {"number": 1}}), count)
    accepted = time.perf_counter()
    look = requests.get("/jobs?status=active&limit=1")
    while value((await callers[0].call(look))[1], "jobs"):
        if time.perf_counter() - accepted > BEHIND_S:
            raise TimeoutError("the worker does not keep up")
        await asyncio.sleep(LOOK_EVERY_S)
    return count / (accepted - began), count / (time.perf_counter() - began)


async def measure() -> None:
    sizes = profile()
    with Installation() as installation:
        installation.start_server()
        installation.start_worker(slots=SLOTS, app=APP)
        requests = Requests(installation.port, installation.token)
        callers = [await Caller.connect(installation.port) for _ in range(CONNECTIONS)]
        await flood(callers, requests, sizes.flood // 4)
        rates = []
        for _ in range(RUNS):
            machine.wait_for_quiet()
            accepted, ended = await flood(callers, requests, sizes.flood)
            say(f"T3 accepted {accepted:.0f}/s, ended {ended:.0f}/s")
            rates.append(ended)
        costs = {}
        for size in (sizes.flood // 4, sizes.flood // 2, sizes.flood):
            costs[size] = 1e6 / (await flood(callers, requests, size))[1]
        failed = await callers[0].call(requests.get("/jobs?status=failed&limit=1"))
        if value(failed[1], "jobs"):
            raise RuntimeError(f"a run failed: {failed[1][:500]!r}")
    limits = f"{CONNECTIONS} connections, one worker process with {SLOTS} slots, claims and reports batched"
    emit(
        Figure(
            target="T3",
            name="end to end, no-op function",
            unit="runs/s",
            values=rates,
            least=2_700,
            aim=5_000,
            limits=limits,
        )
    )
    emit(Slope(target="T3", name="end to end", unit="µs a run", costs=costs))


if __name__ == "__main__":
    uvloop.run(measure())
