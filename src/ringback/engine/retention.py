"""Removes what is past its time: finished runs go whole, with their events, attempts, links and keys.

Idempotency keys outlive the end of their run by at least a day, because a run is never removed sooner.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from functools import partial

from ringback.domain.idempotency import KEPT_AFTER_END
from ringback.domain.ids import RunId
from ringback.domain.moments import HOUR, SECOND, Micros
from ringback.engine.probe import Probe
from ringback.ports.clock import Clock
from ringback.ports.store import Desk, Store

log = logging.getLogger(__name__)

BATCH = 100


@dataclass(slots=True, kw_only=True)
class Retention:
    """The loop that removes old runs. `keep` counts from a run's end; None keeps everything."""

    store: Store
    clock: Clock
    keep: Micros | None
    every: Micros = HOUR
    removed: Probe[int] = field(default_factory=Probe)

    async def run(self) -> None:
        """Remove what is due, then rest, until cancelled."""
        while True:
            try:
                self.removed.hit(await self.remove())
            except Exception:  # the loop's last line of defence; CancelledError passes
                log.exception("retention failed")
            await asyncio.sleep(self.every / SECOND)

    async def remove(self) -> int:
        """Remove every run that is past its time; how many. Small transactions, so that nobody waits long for the writer."""
        if self.keep is None:
            return 0
        ended_before = self.clock.now() - max(self.keep, KEPT_AFTER_END)
        count = 0
        while rows := await self.store.reads.rows("expired_runs", {"ended_before": ended_before, "limit": BATCH}):
            run_ids = [RunId(row["run_id"]) for row in rows]
            await self.store.commit(partial(_purge, run_ids))
            count += len(run_ids)
        return count


def _purge(run_ids: list[RunId], desk: Desk) -> None:
    for run_id in run_ids:
        desk.purge(run_id)
