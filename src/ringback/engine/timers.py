"""Lets time have its say: start times, back-offs, limits. It sleeps until the next timer and then asks each run to look.

A run's `timer_at` stands in its row, so a restart forgets none, and a timer that fires twice or too early decides nothing.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field

from ringback.domain.errors import RingbackError
from ringback.domain.ids import RunId
from ringback.domain.moments import SECOND, Moment
from ringback.domain.runs import Tick
from ringback.engine.apply import apply_on
from ringback.engine.bells import ring_within
from ringback.engine.probe import Probe
from ringback.ports.clock import Clock
from ringback.ports.store import Desk, Store

log = logging.getLogger(__name__)

BATCH = 500
LONGEST_SLEEP_S = 30.0


@dataclass(slots=True, kw_only=True)
class Timers:
    """The loop that fires due timers."""

    store: Store
    clock: Clock
    fired: Probe[int] = field(default_factory=Probe)
    _next: Moment | None = None
    _earlier: asyncio.Event = field(default_factory=asyncio.Event)

    def expect(self, moment: Moment) -> None:
        """A timer was set; wake up earlier if it is the first one."""
        if self._next is None or moment < self._next:
            self._next = moment
            self._earlier.set()

    async def run(self) -> None:
        """Fire timers until cancelled."""
        while True:
            try:
                self.fired.hit(await self.fire())
                self._next = await self.store.reads.next_timer()
            except Exception:  # the loop's last line of defence; CancelledError passes
                log.exception("timers failed")
                self._next = self.clock.now() + SECOND
            wait_s = LONGEST_SLEEP_S if self._next is None else (self._next - self.clock.now()) / SECOND
            self._earlier.clear()
            await ring_within(self._earlier, min(max(wait_s, 0.001), LONGEST_SLEEP_S))

    async def fire(self) -> int:
        """One pass; how many runs were looked at."""
        due = await self.store.reads.due_timers(self.clock.now(), limit=BATCH)
        if due:
            await self.store.commit(lambda desk: _tick(desk, due), runs=due)
        return len(due)


def _tick(desk: Desk, due: list[RunId]) -> None:
    for run_id in due:
        try:
            apply_on(desk, run_id, Tick())
        except RingbackError:  # one bad run does not hold up the others
            log.exception("timer of run %s", run_id)
