"""T1: services in process on SQLite FULL: start → claim → start report → settle, with every event, 256 in flight.

Each run passes through the calls that the doors make: `Starting.start`, `Workers.claim`, `Workers.report` with the start, and
`Workers.report` with the settle; it counts when its settle was acknowledged. Nothing is left out but HTTP and the function.
"""

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import uvloop

from bench import machine
from bench.core import TOOL, Ledger
from bench.figure import RUNS, Figure, Slope, emit, profile
from ringback.domain.ids import ProjectId, RunId
from ringback.domain.runs import AttemptOutcome
from ringback.services.reports import SettleReport, StartReport
from ringback.services.start_request import StartRequest

IN_FLIGHT = 256
EVENTS = 7


class Race:
    """`count` runs from start to settle, `IN_FLIGHT` at a time."""

    def __init__(self, ledger: Ledger, count: int) -> None:
        self._core, self._session = ledger.core, ledger.session
        self._left = iter(range(count))
        self._ends: dict[str, asyncio.Future[None]] = {}
        self._spare = IN_FLIGHT
        self._has_spare = asyncio.Event()
        self._has_spare.set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> float:
        """Seconds that it took."""
        began = time.perf_counter()
        claiming = asyncio.create_task(self._claim())
        await asyncio.gather(*(self._lane() for _ in range(IN_FLIGHT)))
        taken = time.perf_counter() - began
        claiming.cancel()
        await asyncio.gather(claiming, return_exceptions=True)
        return taken

    async def _lane(self) -> None:
        for number in self._left:
            request = StartRequest(tool=TOOL, arguments={"number": number})
            started = await self._core.starting.start(ProjectId("default"), "bench", request, request_id="bench")
            run_id = started.run.run_id
            await self._ends.setdefault(run_id, asyncio.get_running_loop().create_future())
            del self._ends[run_id]

    async def _claim(self) -> None:
        while True:
            await self._has_spare.wait()
            self._has_spare.clear()
            slots, self._spare = self._spare, 0
            work = await self._core.workers.handing_out.claim(self._session, slots=slots, wait_s=1)
            self._free(slots - len(work.claims))
            if work.claims:
                task = asyncio.create_task(self._carry_out(work.claims))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    def _free(self, slots: int) -> None:
        self._spare += slots
        if self._spare:
            self._has_spare.set()

    async def _carry_out(self, claims: list[dict[str, Any]]) -> None:
        await self._report([StartReport(run_id=RunId(each["runId"]), fence=each["fence"]) for each in claims])
        await self._report([_settle(each) for each in claims])
        self._free(len(claims))
        for each in claims:
            end = self._ends.setdefault(each["runId"], asyncio.get_running_loop().create_future())
            end.set_result(None)

    async def _report(self, reports: list[StartReport] | list[SettleReport]) -> None:
        answers = await self._core.workers.report(self._session, reports)
        if not all(answer["ok"] for answer in answers):
            raise RuntimeError(f"refused: {answers}")


def _settle(claim: Mapping[str, Any]) -> SettleReport:
    return SettleReport(
        run_id=RunId(claim["runId"]), fence=claim["fence"], outcome=AttemptOutcome.SUCCEEDED, result={"result": 1}
    )


async def measure() -> None:
    sizes = profile()
    rates: list[float] = []
    with TemporaryDirectory(prefix="ringback-bench-") as folder:
        async with Ledger(Path(folder)) as ledger:
            await Race(ledger, sizes.service_runs // 4).run()
            for _ in range(RUNS):
                machine.wait_for_quiet()
                rates.append(sizes.service_runs / await Race(ledger, sizes.service_runs).run())
            count = sizes.service_runs * RUNS + sizes.service_runs // 4
            events = (await ledger.core.store.reads.rows("last_position", {}))[0]["position"]
            if events != count * EVENTS:
                raise RuntimeError(f"{events} events for {count} runs")
    costs: dict[int, float] = {}
    for size in (sizes.service_runs // 4, sizes.service_runs, sizes.service_runs * 2):
        with TemporaryDirectory(prefix="ringback-bench-") as folder:
            async with Ledger(Path(folder)) as ledger:
                costs[size] = await Race(ledger, size).run() / size * 1e6
    emit(
        Figure(
            target="T1",
            name=f"services in process, {IN_FLIGHT} in flight",
            unit="runs/s",
            values=rates,
            least=8_000,
            aim=15_000,
            limits=f"{EVENTS} events a run; one process on one core",
        )
    )
    emit(Slope(target="T1", name="start → settle, from an empty ledger", unit="µs a run", costs=costs))


if __name__ == "__main__":
    machine.stay_on(machine.SERVER_CORE)
    uvloop.run(measure())
