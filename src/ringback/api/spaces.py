"""Run spaces: the ones that attempts have for themselves, and the ones that the attempts of a runtime share."""

from __future__ import annotations

from typing import Any

from ringback.api.call import Call, whole_number
from ringback.api.catalogue_shapes import RunSpace, RunSpaceList
from ringback.api.reply import Reply, reply_json
from ringback.api.routes import Endpoint
from ringback.domain.errors import Flaw, InvalidInputError
from ringback.domain.ids import run_id_of
from ringback.domain.spaces import STATUSES
from ringback.views.spaces import run_space, shared_space


async def listed(call: Call) -> Reply:
    """Newest first; before them, on the first page, the shared ones of the runtimes that are attached."""
    query, project = call.query(), call.project
    status, run = query.get("status"), query.get("runId")
    if status is not None and status not in STATUSES:
        raise InvalidInputError(Flaw("/status", f"must be one of {', '.join(STATUSES)}"))
    page = await call.core.spaces.page(
        project.project_id,
        run_id=None if run is None else run_id_of(run) or run,
        status=status,
        cursor=query.get("cursor"),
        limit=whole_number(query.get("limit"), "limit", least=1, most=200, default=50),
    )
    items = [run_space(row, project) for row in page.items]
    if "cursor" not in query and run is None:
        shared = [shared_space(each, project) for each in await call.core.connections.list()]
        items = [*(each for each in shared if status in (None, each["status"])), *items]
    body: dict[str, Any] = {"items": items}
    if page.next_cursor is not None:
        body["nextCursor"] = page.next_cursor
    return reply_json(body)


async def show(call: Call) -> Reply:
    """One space, with the steps of its life."""
    row, steps = await call.core.spaces.get(call.project.project_id, call.path["run_space_id"])
    return reply_json(run_space(row, call.project, steps))


ENDPOINTS = [
    Endpoint(
        method="GET",
        path="/v1/run-spaces",
        scope="runs:read",
        handler=listed,
        summary="List run spaces",
        gives={200: RunSpaceList},
        query={
            "cursor": "Where a page begins, as the page before said.",
            "limit": "1 to 200; 50 if not given.",
            "runId": "Those of a run.",
            "status": "Those in a status.",
        },
    ),
    Endpoint(
        method="GET",
        path="/v1/run-spaces/{run_space_id}",
        scope="runs:read",
        handler=show,
        summary="Look at a run space",
        gives={200: RunSpace},
    ),
]
