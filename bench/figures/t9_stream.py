"""T9: from the commit of a run's terminal event to the subscriber of its stream.

The event carries the moment of its transaction's begin, on the machine's one clock, so the flush to the disk is included. The
run is parked and then stopped, so that nothing but server and stream takes part.
"""

import json

import uvloop

from bench import machine
from bench.caller import Caller, Requests, value
from bench.figure import RUNS, Figure, Remark, emit, percentile, profile
from bench.installation import Installation
from bench.streaming import Listener, created_at
from ringback.domain.moments import SECOND, parse_moment

END = b'"status":"canceled"'


async def once(installation: Installation, caller: Caller, requests: Requests) -> float:
    """Milliseconds from the event's transaction to its arrival."""
    body = {"tool": "nothing", "arguments": {}, "not_before": "2099-01-01T00:00:00Z"}
    _, answer = await caller.call(requests.post("/jobs", body))
    job_id = str(value(answer, "job_id"))
    listener = await Listener.open(installation.port, requests, job_id)
    try:
        status, answer = await caller.call(requests.delete(f"/jobs/{job_id}"))
        if status != 200:
            raise RuntimeError(json.loads(answer))
        came, seen = await listener.sees(END)
    finally:
        listener.close()
    return (came - parse_moment(created_at(seen, END)) / SECOND) * 1e3


async def measure() -> None:
    count = profile().latencies
    medians, tails = [], []
    with Installation() as installation:
        installation.start_server()
        installation.release("nothing", ["true"])
        caller, requests = await Caller.connect(installation.port), Requests(installation.port, installation.token)
        for _ in range(20):
            await once(installation, caller, requests)
        for _ in range(RUNS):
            machine.wait_for_quiet()
            found = [await once(installation, caller, requests) for _ in range(count)]
            medians.append(percentile(found, 0.5))
            tails.append(percentile(found, 0.99))
    name = "terminal event → SSE subscriber"
    limits = f"from the begin of the transaction, flush included; {count} a run"
    emit(
        Figure(
            target="T9", name=f"{name}, p50", unit="ms", values=medians, better="less", least=5, aim=2, limits=limits
        )
    )
    emit(Figure(target="T9", name=f"{name}, p99", unit="ms", values=tails, better="less", limits=limits))
    emit(Remark(target="T9", text="→ inbox of a thread: there are no inboxes yet"))


if __name__ == "__main__":
    uvloop.run(measure())
