"""Who changed what. An entry is written by the unit of work that makes the change: there is neither without the other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ringback.domain.errors import InvalidCursorError
from ringback.domain.ids import ProjectId
from ringback.ports.store import Desk, Row, Store
from ringback.services.pages import Page, read_cursor, write_cursor

_LAST = (1 << 63) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """One change. `subject` names what was changed; `facts` never hold a secret."""

    actor: str
    action: str
    subject: str
    project_id: ProjectId | None
    facts: Mapping[str, Any]


def record(desk: Desk, deed: Deed) -> None:
    """Put the entry down with the change that it is about."""
    values = {"actor": deed.actor, "action": deed.action, "subject": deed.subject, "project_id": deed.project_id}
    desk.write("insert_audit", {**values, "at": desk.now, "facts": json.dumps(deed.facts)})


@dataclass(slots=True, kw_only=True)
class Audit:
    """Reads the log."""

    store: Store

    async def page(self, project_id: ProjectId | None, *, cursor: str | None, limit: int) -> Page[Row]:
        """Entries of a project, or without one those about the installation, newest first.

        Raises:
            InvalidCursorError: the cursor is not one of this list.
        """
        query = {"audit": project_id}
        before = _LAST if cursor is None else read_cursor(cursor, query)
        if not isinstance(before, int):
            raise InvalidCursorError("cursor", "not a cursor that this list gave out")
        values = {"project_id": project_id, "before": before, "limit": limit + 1}
        rows = await self.store.reads.rows("audit_of_project", values)
        page = rows[:limit]
        return Page(page, write_cursor(page[-1]["position"], query) if len(rows) > limit else None)
