"""What a caller can ask about runs and do with them. Every door calls this, and nothing below it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ringback.domain.admission import key_of, offer_of, pool_of
from ringback.domain.errors import InvalidCursorError, NotFoundError
from ringback.domain.events import StoredEvent
from ringback.domain.idempotency import KEPT_AFTER_END
from ringback.domain.ids import ProjectId, RunId, run_id_of
from ringback.domain.moments import Micros, Moment, rfc3339
from ringback.domain.runs import Attempt, Cancel, EndedAttempt, Run, RunFacts
from ringback.domain.states import Status
from ringback.engine.apply import apply
from ringback.engine.bells import Bells, ring_within
from ringback.ports.store import Change, Link, Store
from ringback.services.grants import STATUS, Grants
from ringback.services.pages import Page, read_cursor, write_cursor
from ringback.services.queues import Queues

EVENTS_PAGE = 500
LIST_MAX = 200
SIGN_OF_LIFE_S = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """A run with all that a full view shows."""

    run: Run
    facts: RunFacts
    waiting_for: dict[str, Any] | None
    queue_position: int | None
    expires_at: Moment | None = None


@dataclass(slots=True, kw_only=True)
class Runs:
    """Reads and stops runs of one project at a time; another project's run is as unknown as a missing one."""

    store: Store
    bells: Bells
    queues: Queues
    grants: Grants
    keep: Micros | None = None
    _closing: asyncio.Event = field(default_factory=asyncio.Event)
    _waits: set[asyncio.Event] = field(default_factory=set)

    def close(self) -> None:
        """End every wait and every stream: the process is going down, and readers resume elsewhere or later."""
        self._closing.set()
        for event in self._waits:
            event.set()

    async def get(self, project_id: ProjectId, name: str, aspect: str | None = None) -> Run:
        """The run that `name` spells: of this project or, with `aspect`, one that it started elsewhere by a grant that shows it.

        Raises:
            NotFoundError: none that this project may see so.
        """
        run_id = run_id_of(name)
        run = None if run_id is None else await self.store.reads.run(run_id)
        if run is None:
            raise NotFoundError("run", name)
        if run.project_id != project_id and not await self._lets_see(project_id, run, aspect):
            raise NotFoundError("run", name)
        return run

    async def _lets_see(self, project_id: ProjectId, run: Run, aspect: str | None) -> bool:
        return aspect is not None and aspect in await self.grants.lets_see(project_id, run.run_id)

    async def aspects(self, project_id: ProjectId, run: Run) -> frozenset[str] | None:
        """What the project may see of a run; None is everything, as it is of its own."""
        return None if run.project_id == project_id else await self.grants.lets_see(project_id, run.run_id)

    async def details(self, project_id: ProjectId, name: str) -> Details:
        return await self.describe(await self.get(project_id, name, STATUS))

    async def describe(self, run: Run) -> Details:
        facts = (await self.store.reads.facts([run.run_id]))[run.run_id]
        waiting_for = await self._waiting_for(run)
        position = await self.store.reads.position_in_queue(run)
        expires_at = (
            None if self.keep is None or run.ended_at is None else run.ended_at + max(self.keep, KEPT_AFTER_END)
        )
        return Details(run=run, facts=facts, waiting_for=waiting_for, queue_position=position, expires_at=expires_at)

    async def _waiting_for(self, run: Run) -> dict[str, Any] | None:
        """Why it is not running, or None when it is or has ended."""
        if run.blocking is not None:
            return {"kind": "interaction", "interactionId": run.blocking.interaction_id, "reason": run.blocking.reason}
        if run.is_terminal or run.is_held:
            return None
        if run.waiting_on:
            return {"kind": "dependency", "runIds": list(run.waiting_on)}
        if run.ready_at is None:
            if run.backoff_until is not None:
                return {"kind": "backoff", "until": rfc3339(run.backoff_until)}
            return {"kind": "not_before", "until": rfc3339(run.not_before or run.created_at)}
        if self.queues.is_paused(run.project_id, pool_of(run.lane)):
            return {"kind": "paused", "pool": pool_of(run.lane)}
        if key := key_of(run.lane):
            held = await self.store.reads.held()
            count = sum(n for (project, lane), n in held.items() if project == run.project_id and key_of(lane) == key)
            if count >= run.policy.concurrency_limit:
                return {"kind": "concurrency_key", "key": key, "limit": run.policy.concurrency_limit, "held": count}
        sessions = await self.store.reads.sessions()
        if not any(session.can_serve(run.lane) for session in sessions):
            return {"kind": "no_worker", "offer": offer_of(run.lane)}
        return {"kind": "slot"}

    async def page(
        self,
        project_id: ProjectId,
        *,
        statuses: Sequence[Status] = (),
        tool: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> Page[Run]:
        """Newest first. A run that exists when the first page is read is on exactly one page, whatever happens meanwhile."""
        query = {"list": "runs", "project": project_id, "statuses": sorted(statuses), "tool": tool}
        before = None if cursor is None else RunId(str(read_cursor(cursor, query)))
        limit = max(1, min(limit, LIST_MAX))
        found = await self.store.reads.runs(
            project_id, statuses=[each.value for each in statuses], tool=tool, before=before, limit=limit + 1
        )
        page = found[:limit]
        following = write_cursor(page[-1].run_id, query) if len(found) > limit else None
        return Page(page, following)

    async def cancel(self, project_id: ProjectId, name: str, *, by: str, reason: str | None = None) -> Run:
        """Stop a run: at once before it starts, else as soon as its work is gone. On a finished run nothing happens."""
        run = await self.get(project_id, name, STATUS)
        return await apply(self.store, run.run_id, Cancel(by=by, reason=reason))

    async def wait(self, run: Run, *, within_s: float) -> Run:
        """The run as it stands when it has ended, or after `within_s` seconds."""
        if run.is_terminal or within_s <= 0:
            return run
        ended = asyncio.Event()
        stop = self.bells.watch(run.run_id, lambda change: ended.set() if change.is_terminal else None)
        self._waits.add(ended)
        try:
            latest = await self.store.reads.run(run.run_id) or run
            if not latest.is_terminal and not self._closing.is_set():
                await ring_within(ended, within_s)
                latest = await self.store.reads.run(run.run_id) or latest
        finally:
            self._waits.discard(ended)
            stop()
        return latest

    async def attempts(self, run: Run) -> tuple[list[EndedAttempt], Attempt | None]:
        """Ended attempts, oldest first, and the one under way."""
        return await self.store.reads.attempts(run.run_id), run.attempt

    async def links(self, run: Run) -> list[Link]:
        reads = self.store.reads
        return [*await reads.links(run.run_id), *await reads.links(run.run_id, backwards=True)]

    async def events(
        self, run: Run, *, after: int, limit: int = EVENTS_PAGE, types: Sequence[str] = ()
    ) -> list[StoredEvent]:
        """Events with a sequence above `after`.

        Raises:
            InvalidCursorError: the run has no such position.
        """
        if not 0 <= after <= run.event_sequence:
            raise InvalidCursorError("after", f"this run has the positions 0 to {run.event_sequence}")
        return await self.store.reads.events(run.run_id, after=after, limit=limit, types=types)

    async def follow(self, run: Run, *, after: int, types: Sequence[str] = ()) -> AsyncGenerator[list[StoredEvent]]:
        """Events as they are committed, in batches, until the terminal one; an empty batch is a sign of life.

        What was announced saves a look at the run; the row is looked at again with each sign of life, because an announcement
        may be lost.
        """
        changed = asyncio.Event()
        has_ended = False

        def heard(change: Change) -> None:
            nonlocal has_ended
            has_ended = has_ended or change.is_terminal
            changed.set()

        stop = self.bells.watch(run.run_id, heard)
        self._waits.add(changed)
        try:
            position, has_ended = after, await self._has_ended(run.run_id)
            while not self._closing.is_set():
                changed.clear()
                is_last = has_ended  # known before the page is read, so nothing can follow it
                page = await self.store.reads.events(run.run_id, after=position, limit=EVENTS_PAGE, types=types)
                if page:
                    position = page[-1].sequence
                    yield page
                if len(page) == EVENTS_PAGE:
                    continue
                if is_last:
                    return
                if not await ring_within(changed, SIGN_OF_LIFE_S):
                    has_ended = has_ended or await self._has_ended(run.run_id)
                    yield []
        finally:
            self._waits.discard(changed)
            stop()

    async def _has_ended(self, run_id: RunId) -> bool:
        run = await self.store.reads.run(run_id)
        return run is None or run.is_terminal
