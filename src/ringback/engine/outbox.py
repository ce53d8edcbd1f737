"""Carries out what a commit owes to others: runs that wait for an end, children that follow a stop.

An entry is written in the transaction that owes it and deleted in the one that pays it, so it is carried out at least once
however often the process dies; the commands are such that twice is as good as once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from ringback.domain.ids import RunId
from ringback.domain.moments import SECOND, Micros
from ringback.domain.runs import Cancel, Command, UpstreamEnded
from ringback.domain.states import Status
from ringback.engine.apply import apply_on
from ringback.engine.bells import ring_within
from ringback.engine.probe import Probe
from ringback.ports.notify import Notify
from ringback.ports.store import Change, Desk, Row, Store

log = logging.getLogger(__name__)

BATCH = 200
IDLE_S = 30.0
FOLLOWS_CANCEL = ("tool_subrun", "delegation", "mcp_session")  # relations whose child is stopped with its parent


@dataclass(slots=True, kw_only=True)
class Outbox:
    """The loop that empties the outbox."""

    store: Store
    notify: Notify
    again_after: Micros = SECOND
    paid: Probe[int] = field(default_factory=Probe)
    _rung: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        """Carry out entries until cancelled."""
        stop = self.notify.listen(self._heard)
        try:
            while True:
                self._rung.clear()
                rest = IDLE_S
                try:
                    count = await self.pay()
                    self.paid.hit(count)
                    if count == BATCH:  # there may be more
                        continue
                except Exception:  # the loop's last line of defence; CancelledError passes
                    log.exception("the outbox failed")
                    rest = self.again_after / SECOND
                await ring_within(self._rung, rest)
        finally:
            stop()

    def _heard(self, changes: Sequence[Change]) -> None:
        if any(change.owes for change in changes):
            self._rung.set()

    async def pay(self) -> int:
        """One pass; how many entries were carried out."""
        entries = await self.store.reads.outbox(limit=BATCH)
        for entry in entries:
            await self._carry_out(entry)
        return len(entries)

    async def _carry_out(self, entry: Row) -> None:
        run_id = RunId(entry["run_id"])
        command, others = await self._who(entry["topic"], run_id)

        def work(desk: Desk) -> None:
            if command is None:
                values = {"run_id": run_id, "asked_by": entry["created_at"], "now": desk.now}
                desk.write("withdraw_interactions", values)
            else:
                for other in others:
                    apply_on(desk, other, command)
            desk.write("delete_outbox", {"position": entry["position"]})

        await self.store.commit(work, runs=others or [run_id])

    async def _who(self, topic: str, run_id: RunId) -> tuple[Command | None, list[RunId]]:
        """What is owed to which runs; no command where the debt is to the run's own open questions."""
        reads = self.store.reads
        match topic:
            case "interactions":
                return None, []
            case "children":
                links = await reads.links(run_id)
                children = [link.to_run_id for link in links if link.relation in FOLLOWS_CANCEL]
                return Cancel(by=f"run:{run_id}", reason="its parent was stopped"), children
            case _:
                run = await reads.run(run_id)
                has_succeeded = run is not None and run.status is Status.SUCCEEDED
                links = await reads.links(run_id, backwards=True, relation="depends_on")
                return UpstreamEnded(run_id, has_succeeded), [link.from_run_id for link in links]
