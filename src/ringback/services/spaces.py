"""The record of run spaces: runtimes tell how those that they make for attempts live; the ones that they share are their own.

A space is put down by the session that holds its attempt, and later steps are that session's alone. When the attempt is lost,
the ledger itself takes the space back (`reclaiming`): whoever then finds it on the machine, as a rule the next worker of the same
data folder, says that it is gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ringback.domain.decide import decide
from ringback.domain.errors import IllegalTransitionError, InvalidCursorError, NotFoundError, StaleFenceError
from ringback.domain.ids import ProjectId
from ringback.domain.runs import Occupy, Run
from ringback.domain.sessions import Session
from ringback.domain.spaces import FIRST, can_follow
from ringback.ports.store import Desk, Row, Store
from ringback.services.pages import Page, read_cursor, write_cursor
from ringback.services.reports import SpaceReport

_LAST = (1 << 63) - 1


@dataclass(slots=True, kw_only=True)
class Spaces:
    """Puts down what runtimes tell of spaces, and shows it."""

    store: Store

    async def report(self, session: Session, report: SpaceReport) -> dict[str, Any]:
        """Put a space down, or its next step; there is nothing to tell. A step that was told before changes nothing.

        Raises:
            StaleFenceError: neither the attempt nor the space is this session's.
            IllegalTransitionError: no such step.
        """
        known = await self._row(report.run_space_id)
        if known is None:
            await self.store.commit(lambda desk: _put_down(desk, session, report), runs=(report.run_id,))
        elif known["run_id"] != report.run_id or not _is_its_own(session, known):
            raise StaleFenceError(report.run_id, report.fence, known["fence"])
        elif not can_follow(known["status"], report.status):
            raise IllegalTransitionError(report.run_id, f"in a {known['status']} space", f"make it {report.status}")
        else:
            await self.store.commit(lambda desk: desk.write("save_run_space", _step(desk, report, known["status"])))
        return {}

    async def page(
        self, project_id: ProjectId, *, run_id: str | None, status: str | None, cursor: str | None, limit: int
    ) -> Page[Row]:
        """Spaces that attempts of the project had for themselves, the newest first.

        Raises:
            InvalidCursorError: the cursor is not one of this list.
        """
        query = {"list": "run_spaces", "project": project_id, "run": run_id, "status": status}
        before = _LAST if cursor is None else read_cursor(cursor, query)
        if not isinstance(before, int):
            raise InvalidCursorError("cursor", "not a cursor that this list gave out")
        asked = {"project_id": project_id, "run_id": run_id, "status": status, "before": before, "limit": limit + 1}
        rows = await self.store.reads.rows("run_spaces", asked)
        page = rows[:limit]
        return Page(page, write_cursor(page[-1]["position"], query) if len(rows) > limit else None)

    async def get(self, project_id: ProjectId, run_space_id: str) -> tuple[Row, list[Row]]:
        """A space and its steps, oldest first.

        Raises:
            NotFoundError: none in this project.
        """
        row = await self._row(run_space_id)
        if row is None or row["project_id"] != project_id:
            raise NotFoundError("run space", run_space_id)
        return row, await self.store.reads.rows("run_space_steps", {"run_space_id": run_space_id})

    async def _row(self, run_space_id: str) -> Row | None:
        return next(iter(await self.store.reads.rows("run_space", {"run_space_id": run_space_id})), None)


def _put_down(desk: Desk, session: Session, report: SpaceReport) -> None:
    run: Run = desk.run(report.run_id)
    attempt = run.attempt
    if attempt is None or attempt.session_id != session.session_id:
        raise StaleFenceError(run.run_id, report.fence, run.fence)
    if report.status != FIRST:
        raise IllegalTransitionError(run.run_id, "without that space", f"make it {report.status}")
    desk.save(decide(run, Occupy(report.fence, report.run_space_id), now=desk.now))
    values = _step(desk, report, None) | {
        "project_id": run.project_id,
        "session_id": session.session_id,
        "run_id": run.run_id,
        "attempt_id": attempt.attempt_id,
        "fence": report.fence,
        "provider_type": report.provider_type,
        "kind": report.kind,
        "created_at": desk.now,
    }
    desk.write("insert_run_space", values)


def _step(desk: Desk, report: SpaceReport, before: str | None) -> dict[str, Any]:
    return {
        "run_space_id": report.run_space_id,
        "before": before,
        "status": report.status,
        "locator": report.locator,
        "reason": report.reason,
        "kept": int(report.is_kept),
        "now": desk.now,
    }


def _is_its_own(session: Session, row: Mapping[str, Any]) -> bool:
    """A space that the ledger has taken back is everybody's to clear away."""
    return bool(row["session_id"] == session.session_id or row["status"] == "reclaiming")
