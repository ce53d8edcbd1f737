"""The inbox of a caller: what it has not been told yet about runs that it started and did not wait for.

A notice is written in the transaction that ends its run, and is offered until the caller says that it has it. Who fetched the
result first needs no notice any more. Only the caller's own notices can be seen or taken; another's id is as unknown as one that
never was.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from ringback.domain.errors import StoreUnavailableError
from ringback.domain.events import event_id_of
from ringback.domain.ids import ProjectId, run_id_of
from ringback.domain.moments import Moment
from ringback.domain.notices import NoticeKind
from ringback.domain.runs import Run
from ringback.ports.clock import Clock
from ringback.ports.store import Desk, Store
from ringback.services.pages import Page, read_cursor, write_cursor

LIST_MAX = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One thing to tell, with the run as it is now.

    Attributes:
        sequence: of the event that it tells of; run and sequence make its id.
    """

    kind: NoticeKind
    run: Run
    sequence: int
    created_at: Moment

    @property
    def item_id(self) -> str:
        return event_id_of(self.run.run_id, self.sequence)


@dataclass(slots=True, kw_only=True)
class Inbox:
    """Reads and settles notices."""

    store: Store
    clock: Clock

    async def pending(
        self,
        project_id: ProjectId,
        owner: str,
        *,
        thread_id: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> Page[Notice]:
        """What `owner` has not been told yet, oldest first; nothing is taken."""
        query = {"list": "inbox", "project": project_id, "owner": owner, "thread": thread_id}
        after = 0 if cursor is None else read_cursor(cursor, query)
        limit = max(1, min(limit, LIST_MAX))
        found = await self.store.reads.notices(
            project_id, owner, thread_id=thread_id, after=int(after), limit=limit + 1
        )
        page = found[:limit]
        notices = [
            Notice(kind=NoticeKind(row["kind"]), run=run, sequence=row["sequence"], created_at=row["noticed_at"])
            for row, run in page
        ]
        following = write_cursor(page[-1][0]["position"], query) if len(found) > limit else None
        return Page(notices, following)

    async def take(
        self, project_id: ProjectId, owner: str, *, items: Sequence[str] = (), runs: Sequence[str] = ()
    ) -> None:
        """The caller has these notices, or knows of these runs. Unknown ones and repetitions change nothing."""
        run_ids = [run_id for run_id in map(run_id_of, runs) if run_id is not None]
        now = self.clock.now()

        def work(desk: Desk) -> None:
            for item_id in items:
                values = {"item_id": item_id, "project_id": project_id, "owner": owner, "now": now}
                desk.write("deliver_notice", values)
            for run_id in run_ids:
                desk.write("suppress_notices", {"run_id": run_id, "owner": owner, "now": now})

        if items or run_ids:
            await self.store.commit(work)

    async def seen(self, run: Run, owner: str) -> None:
        """`owner` reads the result of `run`: it needs no notice of its end."""
        if not run.is_terminal or run.notify != owner:
            return
        if await self.store.reads.rows("notices_of_run", {"run_id": run.run_id, "owner": owner}):
            with suppress(StoreUnavailableError):  # who can read while the disk is full may do so
                await self.take(run.project_id, owner, runs=[run.run_id])
