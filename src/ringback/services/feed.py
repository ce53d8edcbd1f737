"""All events of a project as one sequence that can be resumed: in the order of their commit, so that none comes in late.

Positions are given out by the ledger's one writer, so a reader that is behind position n has seen everything up to n. A cursor
belongs to its project. Events of runs that retention removed are gone from the sequence, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from ringback.domain.errors import InvalidCursorError
from ringback.domain.events import StoredEvent
from ringback.domain.ids import ProjectId, RunId
from ringback.engine.bells import ring_within
from ringback.ports.notify import Notify
from ringback.ports.store import Change, Store
from ringback.services.pages import read_cursor, write_cursor

PAGE = 500
THREADS_KEPT = 1_000
SIGN_OF_LIFE_S = 15.0
LATEST = "latest"


@dataclass(frozen=True, slots=True)
class Batch:
    """Some events, the threads of their runs, and the position behind everything that was looked at."""

    events: list[StoredEvent]
    position: int
    is_full: bool


@dataclass(slots=True, kw_only=True)
class Feed:
    """Reads a project's events."""

    store: Store
    notify: Notify
    _closing: asyncio.Event = field(default_factory=asyncio.Event)
    _waits: set[asyncio.Event] = field(default_factory=set)
    _threads: dict[RunId, str | None] = field(default_factory=dict)

    def close(self) -> None:
        """End every stream: the process is going down."""
        self._closing.set()
        for event in self._waits:
            event.set()

    async def position_of(self, project_id: ProjectId, cursor: str | None) -> int:
        """The position in a cursor; None is the beginning, `latest` the present end.

        Raises:
            InvalidCursorError: not a cursor of this project, or one that lies beyond the ledger's end.
        """
        if cursor is None:
            return 0
        last = int((await self.store.reads.rows("last_position", {}))[0]["position"])
        if cursor == LATEST:
            return last
        position = read_cursor(cursor, {"events": project_id})
        if not isinstance(position, int) or not 0 <= position <= last:
            raise InvalidCursorError("after", "not a position of this project's events")
        return position

    def cursor(self, project_id: ProjectId, position: int) -> str:
        return write_cursor(position, {"events": project_id})

    async def page(self, project_id: ProjectId, *, after: int, limit: int = PAGE, types: Sequence[str] = ()) -> Batch:
        """Events behind `after` that have one of `types`, out of the next `limit`."""
        found = await self.store.reads.project_events(project_id, after=after, limit=limit)
        position = found[-1].position if found else after
        events = [event for event in found if event.type in types] if types else found
        return Batch(events, position, len(found) == limit)

    async def follow(self, project_id: ProjectId, *, after: int, types: Sequence[str] = ()) -> AsyncGenerator[Batch]:
        """Batches as they are committed, until the process goes down; an empty one is a sign of life."""
        changed = asyncio.Event()

        def heard(changes: Sequence[Change]) -> None:
            if not changed.is_set() and any(change.project_id == project_id for change in changes):
                changed.set()

        stop = self.notify.listen(heard)
        self._waits.add(changed)
        try:
            position = after
            while not self._closing.is_set():
                changed.clear()
                batch = await self.page(project_id, after=position, types=types)
                if batch.position != position:
                    position = batch.position
                    yield batch
                if not batch.is_full and not await ring_within(changed, SIGN_OF_LIFE_S):
                    yield Batch([], position, False)
        finally:
            self._waits.discard(changed)
            stop()

    async def thread_of(self, run_id: RunId) -> str | None:
        """The thread that a run belongs to; it never changes."""
        if run_id not in self._threads:
            if len(self._threads) >= THREADS_KEPT:
                self._threads.clear()
            run = await self.store.reads.run(run_id)
            self._threads[run_id] = None if run is None else run.thread_id
        return self._threads[run_id]
