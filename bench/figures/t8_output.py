"""T8: output capture: very many lines from one command; how fast they are taken, and what the worker's memory does.

By default a run keeps 16 MiB of its output: the first part and the newest, with a mark between. A second figure raises the cap
so that everything is kept in the ledger.
"""

import time

from bench import machine
from bench.figure import RUNS, Figure, Slope, emit, profile, say
from bench.installation import Installation

LINE = "2026-11-29T12:00:00Z INFO worker: the quick brown fox jumps over the lazy dog, again and again"
MB = 1e6
KEPT_SHARE = 10


def _lines(size: int) -> list[str]:
    return ["sh", "-c", f"yes '{LINE}' | head -c {size}"]


def _run(installation: Installation, tool: str) -> float:
    """Seconds from the start to the end."""
    began = time.perf_counter()
    job = installation.ask("POST", "/jobs", json={"tool": tool, "arguments": {}})["job_id"]
    body = {"status": ""}
    while body["status"] not in {"done", "failed", "cancelled"}:
        body = installation.ask("GET", f"/jobs/{job}", headers={"prefer": "wait=60"})
    if body["status"] != "done":
        raise RuntimeError(str(body))
    return time.perf_counter() - began


def measure() -> None:
    size = profile().output_bytes
    kept = size // KEPT_SHARE
    speeds, memories, kept_speeds, costs = [], [], [], {}
    with Installation() as installation:
        installation.start_server()
        worker = installation.start_worker()
        installation.release("many", _lines(size))
        installation.release("kept", _lines(kept), limits={"outputBytes": 2 * kept})
        installation.release("few", _lines(size // 20))
        _run(installation, "few")
        time.sleep(1)
        idle = machine.resident(worker)
        for _ in range(RUNS):
            machine.wait_for_quiet()
            machine.forget_peak(worker)
            taken = _run(installation, "many")
            speeds.append(size / MB / taken)
            memories.append((machine.peak(worker) - idle) / MB)
            kept_speeds.append(kept / MB / _run(installation, "kept"))
            say(f"T8 {speeds[-1]:.0f} MB/s, {memories[-1]:.1f} MB above idle, kept {kept_speeds[-1]:.0f} MB/s")
        for part in (10, 5, 2):
            installation.release("part", _lines(size // part))
            costs[size // part // 1_000_000 or 1] = _run(installation, "part") / (size / part / MB) * 1e3
    name = f"{size / 1e9:g} GB of lines"
    emit(
        Figure(
            target="T8",
            name=f"{name}: captured",
            unit="MB/s",
            values=speeds,
            least=60,
            aim=150,
            limits="cap of 16 MiB (default)",
        )
    )
    emit(
        Figure(
            target="T8",
            name=f"{name}: worker above idle, peak",
            unit="MB",
            values=memories,
            better="less",
            least=48,
            durability="",
        )
    )
    emit(Figure(target="T8", name=f"{kept / 1e6:g} MB of lines, all kept", unit="MB/s", values=kept_speeds))
    emit(Slope(target="T8", name="captured", unit="ms a MB, by MB", costs=costs))


if __name__ == "__main__":
    measure()
