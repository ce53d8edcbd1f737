"""The audit log: of a project for who administers it, of the installation for who administers that."""

from __future__ import annotations

from ringback.api.access_shapes import AuditPage
from ringback.api.call import Call, whole_number
from ringback.api.reply import Reply, reply_json
from ringback.api.routes import Endpoint
from ringback.domain.ids import ProjectId
from ringback.views.access import deed

PAGE_MAX = 200
_QUERY = {"cursor": "Where a page begins, as the page before said.", "limit": "1 to 200; 50 if not given."}


async def of_project(call: Call) -> Reply:
    """What was changed in the project, newest first."""
    return await _page(call, call.project.project_id)


async def of_installation(call: Call) -> Reply:
    """What was changed about the installation, newest first: orgs, projects, users, tokens of no project."""
    return await _page(call, None)


async def _page(call: Call, project_id: ProjectId | None) -> Reply:
    query = call.query()
    limit = whole_number(query.get("limit"), "limit", least=1, most=PAGE_MAX, default=50)
    page = await call.core.audit.page(project_id, cursor=query.get("cursor"), limit=limit)
    body: dict[str, object] = {"items": [deed(row) for row in page.items]}
    if page.next_cursor is not None:
        body["nextCursor"] = page.next_cursor
    return reply_json(body)


ENDPOINTS = [
    Endpoint(
        method="GET",
        path="/v1/audit",
        scope="access:admin",
        handler=of_project,
        summary="A project's audit log",
        gives={200: AuditPage},
        query=_QUERY,
    ),
    Endpoint(
        method="GET",
        path="/v1/installation/audit",
        scope="access:admin",
        has_project=False,
        is_platform=True,
        handler=of_installation,
        summary="The installation's audit log",
        gives={200: AuditPage},
        query=_QUERY,
    ),
]
