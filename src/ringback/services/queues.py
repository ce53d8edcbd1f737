"""Queues can be paused: what waits stays, what runs goes on, nothing new is claimed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ringback.domain.admission import pool_of
from ringback.domain.errors import Flaw, InvalidInputError
from ringback.domain.ids import ProjectId
from ringback.domain.profiles import POOL
from ringback.engine.bells import Bells
from ringback.engine.claims import Claims
from ringback.ports.clock import Clock
from ringback.ports.store import Desk, Row, Store
from ringback.services.audit import Deed, record


@dataclass(slots=True, kw_only=True)
class Queues:
    """Pauses a pool of a project, and lets it go on."""

    store: Store
    clock: Clock
    claims: Claims
    bells: Bells

    async def load(self) -> None:
        rows = await self.store.reads.rows("pauses", {})
        self.claims.paused = {(row["project_id"], row["pool"]) for row in rows}

    def is_paused(self, project_id: ProjectId, pool: str) -> bool:
        return (project_id, pool) in self.claims.paused

    async def pause(self, project_id: ProjectId, pool: str, *, by: str) -> None:
        """Claim nothing more from the pool; pausing it again changes nothing."""
        if not POOL.fullmatch(pool):
            raise InvalidInputError(Flaw("/pool", "not a pool's name"))
        values = {"project_id": project_id, "pool": pool, "since": self.clock.now(), "paused_by": by}
        deed = Deed(actor=by, action="queue.paused", subject=pool, project_id=project_id, facts={})
        await self.store.commit(lambda desk: _write(desk, "insert_pause", values, deed))
        self.claims.paused.add((project_id, pool))

    async def resume(self, project_id: ProjectId, pool: str, *, by: str) -> None:
        values = {"project_id": project_id, "pool": pool}
        deed = Deed(actor=by, action="queue.resumed", subject=pool, project_id=project_id, facts={})
        await self.store.commit(lambda desk: _write(desk, "delete_pause", values, deed))
        self.claims.paused.discard((project_id, pool))
        self.bells.hands.ring_all()

    async def counts(self, project_id: ProjectId) -> dict[str, tuple[int, int]]:
        """How many runs wait for a slot and how many attempts are under way, by pool."""
        waiting: Counter[str] = Counter()
        held: Counter[str] = Counter()
        for row in await self.store.reads.rows("count_ready", {"project_id": project_id}):
            waiting[pool_of(row["lane"])] += row["runs"]
        for (owner, lane), count in (await self.store.reads.held()).items():
            if owner == project_id:
                held[pool_of(lane)] += count
        return {pool: (waiting[pool], held[pool]) for pool in waiting | held}

    async def list(self, project_id: ProjectId) -> list[Row]:
        """Paused pools `{project_id, pool, since, paused_by}`."""
        return [row for row in await self.store.reads.rows("pauses", {}) if row["project_id"] == project_id]


def _write(desk: Desk, statement: str, values: Mapping[str, Any], deed: Deed) -> None:
    desk.write(statement, values)
    record(desk, deed)
