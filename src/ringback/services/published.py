"""Published endpoints: paths of a project that start a tool or a script when something is sent to them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ringback.domain.errors import Flaw, InvalidInputError, NotFoundError
from ringback.domain.ids import ProjectId
from ringback.ports.store import Desk, Row, Store
from ringback.services.audit import Deed, record
from ringback.services.resources import Resources

PATH = re.compile(r"[A-Za-z0-9._~-]+(/[A-Za-z0-9._~-]+)*")
PATH_MAX = 200


@dataclass(slots=True, kw_only=True)
class Published:
    """Keeps which path starts what."""

    store: Store
    resources: Resources

    async def list(self, project_id: ProjectId) -> Sequence[Row]:
        """The endpoints of a project by path: path, tool, published_by, published_at."""
        return await self.store.reads.rows("endpoints", {"project_id": project_id})

    async def get(self, project_id: ProjectId, path: str) -> Row:
        """What a path starts.

        Raises:
            NotFoundError: nothing.
        """
        rows = await self.store.reads.rows("endpoint", {"project_id": project_id, "path": path.strip("/")})
        if not rows:
            raise NotFoundError("endpoint", path)
        return rows[0]

    async def publish(self, project_id: ProjectId, path: str, tool: str, *, by: str) -> Row:
        """Let a path start a tool, by its revision that is current when a request comes.

        Raises:
            InvalidInputError: no such path can be, or no such tool is there.
        """
        path = path.strip("/")
        if len(path) > PATH_MAX or not PATH.fullmatch(path) or {".", ".."} & set(path.split("/")):
            raise InvalidInputError(
                Flaw("/path", f"must be parts of A-Z a-z 0-9 . _ ~ -, {PATH_MAX} characters at most")
            )
        if tool not in await self.resources.released(project_id):
            raise InvalidInputError(Flaw("/target", "is no tool of the project"))

        def work(desk: Desk) -> None:
            values = {"project_id": project_id, "path": path, "tool": tool}
            desk.write("publish_endpoint", {**values, "published_by": by, "published_at": desk.now})
            _note(desk, project_id, path, "endpoint.published", by, tool)

        await self.store.commit(work)
        return await self.get(project_id, path)

    async def withdraw(self, project_id: ProjectId, path: str, *, by: str) -> None:
        """Let a path start nothing any more.

        Raises:
            NotFoundError: it starts nothing.
        """
        known = await self.get(project_id, path)

        def work(desk: Desk) -> None:
            desk.write("withdraw_endpoint", {"project_id": project_id, "path": known["path"]})
            _note(desk, project_id, known["path"], "endpoint.withdrawn", by, known["tool"])

        await self.store.commit(work)


def _note(desk: Desk, project_id: ProjectId, path: str, action: str, by: str, tool: str) -> None:
    deed = Deed(actor=by, action=action, subject=f"endpoint:{path}", project_id=project_id, facts={"tool": tool})
    record(desk, deed)
