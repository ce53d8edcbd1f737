"""T13: bulk: 500 runs a request, claims and settles in batches, a function that does nothing, a worker process of its own."""

import asyncio
import time

import uvloop

from bench import machine
from bench.caller import Caller, Requests, value
from bench.figure import RUNS, Figure, Remark, Slope, emit, profile, say
from bench.figures.t3_end_to_end import LOOK_EVERY_S, SLOTS
from bench.installation import APP, Installation

BATCH = 500
PATH = "/v1/runs/batch"


async def bulk(caller: Caller, requests: Requests, count: int) -> tuple[float, float]:
    """Runs accepted a second, runs ended a second."""
    body = {"runs": [{"tool": "noop", "input": {"mode": "tool", "arguments": {"number": 1}}}] * BATCH}
    request = requests.post(PATH, body)
    began = time.perf_counter()
    for _ in range(count // BATCH):
        status, answer = await caller.call(request)
        if status != 202 or b'"problem"' in answer:
            raise RuntimeError(answer[:300])
    accepted = time.perf_counter() - began
    look = requests.get("/jobs?status=active&limit=1")
    while value((await caller.call(look))[1], "jobs"):
        await asyncio.sleep(LOOK_EVERY_S)
    return count / accepted, count / (time.perf_counter() - began)


async def measure() -> None:
    count = max(BATCH * 4, profile().flood // BATCH * BATCH * 2)
    rates, accepts, costs = [], [], {}
    with Installation() as installation:
        installation.start_server()
        caller, requests = await Caller.connect(installation.port), Requests(installation.port, installation.token)
        if PATH not in installation.ask("GET", "/openapi.json")["paths"]:
            emit(Remark(target="T13", text="there is no route for many runs in one request yet"))
            return
        installation.start_worker(slots=SLOTS, app=APP)
        await bulk(caller, requests, BATCH * 2)
        for _ in range(RUNS):
            machine.wait_for_quiet()
            accepted, ended = await bulk(caller, requests, count)
            say(f"T13 accepted {accepted:.0f}/s, ended {ended:.0f}/s")
            accepts.append(accepted)
            rates.append(ended)
        for size in (BATCH, BATCH * 4, BATCH * 8):
            costs[size] = 1e6 / (await bulk(caller, requests, size))[1]
    limits = f"one request at a time, one worker process with {SLOTS} slots"
    emit(
        Figure(
            target="T13", name=f"{BATCH} a request, end to end", unit="runs/s", values=rates, least=6_000, limits=limits
        )
    )
    emit(Figure(target="T13", name=f"{BATCH} a request, accepted", unit="runs/s", values=accepts, limits=limits))
    emit(Slope(target="T13", name="bulk, end to end", unit="µs a run", costs=costs))


if __name__ == "__main__":
    uvloop.run(measure())
