"""Ends worker sessions that fell silent, and the attempts of every session that is over.

Safe to run anywhere and at any time: a lease renewed meanwhile is left alone because the row is decided again, and of two
sweeps the second finds nothing. It needs no slot and holds no lock, so a full or a stopped worker can't keep it from working.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from functools import partial

from ringback.domain.errors import RingbackError
from ringback.domain.ids import RunId, SessionId
from ringback.domain.moments import SECOND, Micros
from ringback.domain.runs import Lose
from ringback.domain.sessions import end
from ringback.engine.apply import apply
from ringback.engine.bells import Bells
from ringback.engine.probe import Probe
from ringback.ports.clock import Chance, Clock
from ringback.ports.store import Desk, Store

log = logging.getLogger(__name__)

BATCH = 500


@dataclass(slots=True, kw_only=True)
class Sweeper:
    """The loop that looks for lost workers."""

    store: Store
    clock: Clock
    chance: Chance
    bells: Bells
    every: Micros = SECOND
    swept: Probe[int] = field(default_factory=Probe)

    async def run(self) -> None:
        """Sweep until cancelled. A failed sweep is logged and tried again at the next turn."""
        while True:
            try:
                self.swept.hit(await self.sweep())
            except Exception:  # the loop's last line of defence; CancelledError passes
                log.exception("a sweep failed")
            await asyncio.sleep(self.every / SECOND)

    async def sweep(self) -> int:
        """One pass; how many attempts were ended."""
        values = {"now": self.clock.now(), "limit": BATCH}
        for row in await self.store.reads.rows("expired_sessions", values):
            session_id = SessionId(row["session_id"])
            if await self.store.commit(partial(_expire, session_id), sessions=(session_id,)):
                log.warning("worker session %s fell silent", session_id)
                self.bells.forget(session_id)
        return await self.end_orphans()

    async def end_orphans(self) -> int:
        """End the attempts of sessions that are over; how many."""
        count = 0
        for row in await self.store.reads.rows("orphaned_runs", {"limit": BATCH}):
            why = f"its worker is gone ({row['end_reason']})"
            try:
                await apply(self.store, RunId(row["run_id"]), Lose(row["fence"], why, self.chance.draw()))
                count += 1
            except RingbackError as error:  # settled meanwhile, or nothing can be stored now: the next sweep sees
                log.info("attempt of run %s not ended: %s", row["run_id"], error)
        return count


def _expire(session_id: SessionId, desk: Desk) -> bool:
    session = desk.session(session_id)
    if session.ended_at is not None or session.lease_until > desk.now:
        return False
    desk.save_session(end(session, now=desk.now, reason="lease_expired"))
    return True
