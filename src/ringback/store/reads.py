"""Questions about committed rows, on connections of their own, so that a reader never waits for the writer or holds it up.

Small questions are answered on the event loop's thread: a lookup by key takes less time than handing it to another one. Between
two transactions the writer's own connection answers them: it knows its pages, while any other connection forgets all of its own
with each commit. Questions that may walk many rows (lists, output) go to a thread. No statement is left open between two calls,
so no reader keeps an old snapshot and the write-ahead log stays bounded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ringback.domain.admission import Head
from ringback.domain.events import StoredEvent
from ringback.domain.ids import ProjectId, RunId, SessionId
from ringback.domain.moments import Moment
from ringback.domain.runs import EndedAttempt, Run, RunFacts
from ringback.domain.sessions import Session
from ringback.ports.store import Link, Row
from ringback.store.connection import Connection
from ringback.store.recent import Recent
from ringback.store.rows import (
    attempt_of,
    event_of,
    facts_of,
    notice_of,
    policy_from,
    run_of,
    session_of,
    text_of,
    value_of,
)

_BEHIND_ALL_IDS = "g"  # sorts behind every UUID


class SqlReads:
    """Implements `ports.store.Reads`."""

    def __init__(
        self, path: Path, sql: Mapping[str, str], recent: Recent, idle_writer: Callable[[], Connection | None]
    ) -> None:
        self._sql, self._recent, self._idle_writer = sql, recent, idle_writer
        self._near = Connection(path, is_reader=True)
        self._far = Connection(path, is_reader=True)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ledger-read")

    async def aclose(self) -> None:
        self._thread.shutdown()
        self._near.close()
        self._far.close()

    def _fetch(self, statement: str, values: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        return (self._idle_writer() or self._near).fetch(self._sql[statement], values)

    async def _fetch_far(self, statement: str, values: Mapping[str, Any]) -> list[dict[str, Any]]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._far.fetch, self._sql[statement], values)

    async def run(self, run_id: RunId) -> Run | None:
        if (run := self._recent.run(run_id)) is not None:
            return run
        rows = self._fetch("load_runs", {"ids": text_of([run_id])})
        return run_of(rows[0]) if rows else None

    async def facts(self, run_ids: Sequence[RunId]) -> dict[RunId, RunFacts]:
        found = {run_id: facts for run_id in run_ids if (facts := self._recent.facts(run_id)) is not None}
        if strange := [run_id for run_id in run_ids if run_id not in found]:
            for row in self._fetch("load_facts", {"ids": text_of(strange)}):
                facts = facts_of(row)
                found[facts.run_id] = facts
        return found

    async def attempts(self, run_id: RunId) -> list[EndedAttempt]:
        return [attempt_of(row) for row in self._fetch("load_attempts", {"run_id": run_id})]

    async def events(self, run_id: RunId, *, after: int, limit: int, types: Sequence[str] = ()) -> list[StoredEvent]:
        values: dict[str, Any] = {"run_id": run_id, "after": after, "limit": limit}
        if types:
            return [event_of(row) for row in self._fetch("events_of_types", {**values, "types": text_of(list(types))})]
        return [event_of(row) for row in self._fetch("events_after", values)]

    async def project_events(self, project_id: ProjectId, *, after: int, limit: int) -> list[StoredEvent]:
        values = {"project_id": project_id, "after": after, "limit": limit}
        return [event_of(row) for row in await self._fetch_far("project_events_after", values)]

    async def runs(
        self, project_id: ProjectId, *, statuses: Sequence[str], tool: str | None, before: RunId | None, limit: int
    ) -> list[Run]:
        values = {"project_id": project_id, "tool": tool, "before": before or _BEHIND_ALL_IDS, "limit": limit}
        if not statuses:
            return [run_of(row) for row in await self._fetch_far("list_runs", values)]
        pages = [await self._fetch_far(_list_of(each), {**values, "status": each}) for each in statuses]
        rows = sorted((row for page in pages for row in page), key=lambda row: str(row["run_id"]), reverse=True)
        return [run_of(row) for row in rows[:limit]]

    async def links(self, run_id: RunId, *, backwards: bool = False, relation: str | None = None) -> list[Link]:
        statement = "links_to" if backwards else "links_from"
        return [Link(**row) for row in self._fetch(statement, {"run_id": run_id, "relation": relation})]

    async def checkpoint(self, run_id: RunId) -> Any:
        rows = self._fetch("load_checkpoint", {"run_id": run_id})
        return value_of(rows[0]["value"]) if rows else None

    async def lanes(self) -> list[tuple[ProjectId, str]]:
        return [(row["project_id"], row["lane"]) for row in self._fetch("ready_lanes")]

    async def heads(self, project_id: ProjectId, lane: str, *, limit: int) -> list[Head]:
        rows = self._fetch("lane_heads", {"project_id": project_id, "lane": lane, "limit": limit})
        return [
            Head(
                run_id=row["run_id"],
                project_id=row["project_id"],
                lane=row["lane"],
                priority=row["priority"],
                ready_at=row["ready_at"],
                concurrency_limit=policy_from(row["policy"]).concurrency_limit,
            )
            for row in rows
        ]

    async def held(self) -> dict[tuple[ProjectId, str], int]:
        return {(row["project_id"], row["lane"]): row["held"] for row in self._fetch("held_lanes")}

    async def position_in_queue(self, run: Run) -> int | None:
        if run.ready_at is None:
            return None
        values = {"project_id": run.project_id, "lane": run.lane, "priority": run.policy.priority}
        rows = self._fetch("count_ahead", {**values, "ready_at": run.ready_at, "run_id": run.run_id})
        return 1 + int(rows[0]["ahead"])

    async def due_timers(self, now: Moment, *, limit: int) -> list[RunId]:
        return [row["run_id"] for row in self._fetch("due_timers", {"now": now, "limit": limit})]

    async def next_timer(self) -> Moment | None:
        rows = self._fetch("next_timer")
        return rows[0]["timer_at"] if rows else None

    async def sessions(self, *, live_only: bool = True, connection_id: str | None = None) -> list[Session]:
        if connection_id is not None:
            values = {"connection_id": connection_id, "live_only": int(live_only)}
            return [session_of(row) for row in self._fetch("sessions_of_connection", values)]
        return [session_of(row) for row in self._fetch("sessions", {"live_only": int(live_only)})]

    async def runs_held_by(self, session_id: SessionId) -> list[Run]:
        return [run_of(row) for row in self._fetch("runs_held_by", {"session_id": session_id})]

    async def outbox(self, *, limit: int) -> list[Row]:
        return list(self._fetch("outbox", {"limit": limit}))

    async def notices(
        self, project_id: ProjectId, owner: str, *, thread_id: str | None, after: int, limit: int
    ) -> list[tuple[Row, Run]]:
        values = {"project_id": project_id, "owner": owner, "thread_id": thread_id, "after": after, "limit": limit}
        return [notice_of(row) for row in self._fetch("pending_notices", values)]

    async def rows(self, statement: str, values: Mapping[str, Any]) -> list[Row]:
        return list(self._fetch(statement, values))


def _list_of(status: str) -> str:
    """The statement that lists runs of `status` without walking all the others."""
    match status:
        case "succeeded":
            return "list_succeeded_runs"
        case "failed" | "canceled":
            return "list_unsuccessful_runs"
        case _:
            return "list_open_runs"
