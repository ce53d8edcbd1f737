"""T7: start, claim, list and show with very many finished runs in the ledger, as ratios to a ledger that is all but empty.

The all but empty one holds as many finished runs as a few pages need. Calls go through the services, one at a time, and the
shown runs are chosen at random among the finished ones, so that no cache of recent runs helps either side.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import uvloop

from bench import machine
from bench.core import TOOL, Ledger
from bench.figure import RUNS, Figure, Remark, emit, percentile, profile, say
from bench.filling import copied_id, copy_runs, one_real_run
from ringback.domain.ids import ProjectId, RunId
from ringback.domain.runs import AttemptOutcome
from ringback.services.reports import SettleReport, StartReport
from ringback.services.start_request import StartRequest

FEW = 1_000
SAMPLES = 300
PROJECT = ProjectId("default")


async def fill(folder: Path, count: int) -> float:
    """Make a ledger with so many finished runs; seconds that the copying took."""
    async with Ledger(folder) as ledger:
        run_id = await one_real_run(ledger)
    began = time.perf_counter()
    copy_runs(folder / "ringback.db", run_id, count)
    return time.perf_counter() - began


async def timings(ledger: Ledger, finished: int) -> dict[str, float]:
    """Median milliseconds of each operation."""
    core, session = ledger.core, ledger.session
    request = StartRequest(tool=TOOL, arguments={"number": 1})

    async def start() -> object:
        return await core.starting.start(PROJECT, "bench", request, request_id="bench")

    async def claim() -> object:
        return await core.workers.handing_out.claim(session, slots=1, wait_s=1)

    async def listed() -> object:
        return await core.runs.page(PROJECT, limit=50)

    async def show() -> object:
        run = await core.runs.get(PROJECT, copied_id(random.randint(1, finished)))
        return await core.runs.describe(run)

    found: dict[str, list[float]] = {"start": [], "claim": [], "list": [], "show": []}
    for _ in range(SAMPLES):
        found["start"].append(await _timed(start))
        found["claim"].append(await _timed(claim))
        found["list"].append(await _timed(listed))
        found["show"].append(await _timed(show))
        await _settle_all(ledger)
    return {name: percentile(values, 0.5) for name, values in found.items()}


async def _timed(call: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await call()
    return (time.perf_counter() - began) * 1e3


async def _settle_all(ledger: Ledger) -> None:
    held = await ledger.core.store.reads.runs_held_by(ledger.session.session_id)
    for run in held:
        run_id = RunId(run.run_id)
        await ledger.core.workers.report(ledger.session, [StartReport(run_id=run_id, fence=run.fence)])
        settle = SettleReport(run_id=run_id, fence=run.fence, outcome=AttemptOutcome.SUCCEEDED, result={})
        await ledger.core.workers.report(ledger.session, [settle])


async def measure() -> None:
    many = profile().finished
    ratios: dict[str, list[float]] = {}
    shown: dict[str, str] = {}
    with (
        TemporaryDirectory(prefix="ringback-bench-") as few_folder,
        TemporaryDirectory(prefix="ringback-bench-") as many_folder,
    ):
        await fill(Path(few_folder), FEW)
        taken = await fill(Path(many_folder), many)
        size = (Path(many_folder) / "ringback.db").stat().st_size / 1e9
        say(f"T7 {many:,} runs in {taken:.0f} s, {size:.2f} GB")
        async with Ledger(Path(few_folder)) as few, Ledger(Path(many_folder)) as full:
            await timings(few, FEW)
            await timings(full, many)
            for _ in range(RUNS):
                machine.wait_for_quiet()
                before, after = await timings(few, FEW), await timings(full, many)
                for name, value in after.items():
                    ratios.setdefault(name, []).append(value / before[name])
                    shown[name] = f"{before[name]:.3f} → {value:.3f} ms"
    for name, values in ratios.items():
        limits = f"last run: {shown[name]}"
        title = f"{name} with {many:,} finished runs / all but empty"
        emit(Figure(target="T7", name=title, unit="×", values=values, better="less", least=1.3, aim=1.1, limits=limits))
    text = f"filled by copying one real run in SQL (run, facts, attempt, 7 events): {many:,} in {taken:.0f} s, {size:.2f} GB"
    emit(Remark(target="T7", text=text))


if __name__ == "__main__":
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    asyncio.run(measure())
