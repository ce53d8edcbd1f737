"""T6: memory: an idle installation as `ringback up` starts it, and what each parked run and each open event stream adds.

Memory is VmRSS. The slopes are straight lines through three sizes; parked runs are started with a moment long ahead.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import uvloop

from bench import machine
from bench.caller import Caller, Requests
from bench.figure import RUNS, Figure, Slope, emit, per_step, profile
from bench.installation import Installation
from bench.streaming import Listener

MB, KB = 1e6, 1e3
BATCH = 500
LONG_AHEAD = "2099-01-01T00:00:00Z"


def idle() -> dict[str, int]:
    """Bytes of each process of an installation that has nothing to do."""
    with tempfile.TemporaryDirectory(prefix="ringback-bench-") as folder:
        data = Path(folder) / "data"
        words = [sys.executable, "-m", "ringback", "up", "--data", str(data), "--port", "0", "--app", "bench.noop:app"]
        environment = {key: text for key, text in os.environ.items() if not key.startswith("RINGBACK_")}
        environment["PYTHONPATH"] = str(machine.ROOT)
        with (Path(folder) / "log").open("wb") as log:
            process = subprocess.Popen(words, cwd=folder, stdout=log, stderr=log, env=environment)
        try:
            give_up = time.monotonic() + 60
            while len(found := _family(process.pid)) < len(_MARKS) + 1 and time.monotonic() < give_up:
                time.sleep(0.1)
            time.sleep(2)  # until everything that starts has started: imports, first heartbeats
            return {name: machine.resident(pid) for name, pid in found.items()}
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def _family(parent: int) -> dict[str, int]:
    """The processes of an installation by what they are."""
    found = {"supervisor": parent}
    for pid in (child for each in [parent, *machine.children(parent)] for child in machine.children(each)):
        for grandchild in [pid, *machine.children(pid)]:
            words = machine.words_of(grandchild)
            found |= {name: grandchild for mark, name in _MARKS if mark in words}
    return found


_MARKS = (
    ("ringback.cli.serving", "server"),
    ("ringback.cli.attached", "worker"),
    ("guarding", "guardian"),
    ("ringback.worker.child", "warm child"),
)


async def parked(
    installation: Installation, caller: Caller, requests: Requests, sizes: tuple[int, ...]
) -> dict[int, int]:
    """The server's bytes at each number of parked runs."""
    body = {"runs": [{"tool": "nothing", "notBefore": LONG_AHEAD}] * BATCH}
    request, count, found = requests.post("/v1/runs/batch", body), 0, {}
    for size in sizes:
        while count < size:
            status, answer = await caller.call(request)
            if status != 202 or b'"problem"' in answer:
                raise RuntimeError(answer[:300])
            count += BATCH
        await asyncio.sleep(1)
        found[count] = machine.resident(installation.server)
    return found


async def streams(
    installation: Installation, caller: Caller, requests: Requests, sizes: tuple[int, ...]
) -> dict[int, int]:
    """The server's bytes at each number of open streams, each of a run of its own."""
    body = {"runs": [{"tool": "nothing", "notBefore": LONG_AHEAD}] * BATCH}
    runs: list[str] = []
    while len(runs) < max(sizes):
        _, answer = await caller.call(requests.post("/v1/runs/batch", body))
        runs += [item["runId"] for item in json.loads(answer)["items"]]
    listeners: list[Listener] = []
    found = {}
    try:
        for size in sizes:
            while len(listeners) < size:
                some = runs[len(listeners) : min(size, len(listeners) + 50)]
                opened = (Listener.open(installation.port, requests, run_id) for run_id in some)
                listeners += await asyncio.gather(*opened)
            await asyncio.sleep(1)
            found[size] = machine.resident(installation.server)
    finally:
        for listener in listeners:
            listener.close()
    return found


async def slopes() -> None:
    sizes = profile()
    most = min(max(sizes.streams), machine.open_files(max(sizes.streams) + 200) - 200)
    stream_sizes = tuple(size for size in sizes.streams if size <= most)
    with Installation() as installation:
        installation.start_server()
        installation.release("nothing", ["true"])
        caller, requests = await Caller.connect(installation.port), Requests(installation.port, installation.token)
        _emit_slope("parked run", await parked(installation, caller, requests, sizes.parked), 2, 1)
        _emit_slope("open event stream", await streams(installation, caller, requests, stream_sizes), 30, 15)


def _emit_slope(name: str, found: dict[int, int], least: float, aim: float) -> None:
    slope = per_step(list(found), list(found.values())) / KB
    shown = ", ".join(f"{count:,}: {size / MB:.1f} MB" for count, size in found.items())
    emit(
        Figure(
            target="T6",
            name=f"each {name}",
            unit="kB",
            values=[slope],
            better="less",
            least=least,
            aim=aim,
            durability="",
            limits=shown,
        )
    )
    first = min(found)
    costs = {count: (size - found[first]) / (count - first) / KB for count, size in found.items() if count > first}
    emit(Slope(target="T6", name=name, unit=f"kB each, above {first:,}", costs=costs))


def measure() -> None:
    seen = [idle() for _ in range(RUNS)]
    both = [(each["server"] + each["worker"]) / MB for each in seen]
    emit(
        Figure(
            target="T6",
            name="idle server + worker",
            unit="MB",
            values=both,
            better="less",
            least=140,
            aim=100,
            durability="",
        )
    )
    for name in ("server", "worker", "guardian", "warm child", "supervisor"):
        values = [each[name] / MB for each in seen if name in each]
        if values:
            emit(Figure(target="T6", name=f"idle: {name}", unit="MB", values=values, better="less", durability=""))
    uvloop.run(slopes())


if __name__ == "__main__":
    measure()
