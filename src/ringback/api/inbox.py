"""The inbox door: what a caller was not told yet, and its word that it has it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Literal, Required, TypedDict

import msgspec

from ringback.api.call import Call, whole_number
from ringback.api.reply import Reply, reply_json
from ringback.api.routes import Endpoint
from ringback.api.shapes import JobStatus
from ringback.domain.errors import Flaw, InvalidInputError
from ringback.services.inbox import LIST_MAX
from ringback.views.notices import notice


class InboxItem(TypedDict, total=False):
    """A notice; `text` is for models, `summary` is text from the work or about it."""

    itemId: Required[str]
    type: Required[Literal["job_completed", "job_timed_out", "job_input_required"]]
    runId: Required[str]
    jobId: Required[str]
    tool: Required[str]
    status: Required[JobStatus]
    eventId: Required[str]
    sequence: Required[int]
    createdAt: Required[str]
    text: Required[str]
    threadId: str
    interactionId: str
    failureKind: str
    summary: str


class InboxList(TypedDict, total=False):
    items: Required[list[InboxItem]]
    nextCursor: str


class AckRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Notices that have arrived, by `itemId`, and runs whose end is known anyhow, by any of their ids."""

    items: list[str] = []
    runs: list[str] = []


async def pending(call: Call) -> Reply:
    """Oldest first; reading takes nothing away."""
    query = call.query()
    page = await call.core.inbox.pending(
        call.project.project_id,
        call.principal.owner,
        thread_id=query.get("threadId"),
        cursor=query.get("cursor"),
        limit=whole_number(query.get("limit"), "limit", least=1, most=LIST_MAX, default=50),
    )
    body: dict[str, Any] = {"items": [notice(each) for each in page.items]}
    if page.next_cursor is not None:
        body["nextCursor"] = page.next_cursor
    return reply_json(body)


async def ack(call: Call) -> Reply:
    """Saying it again changes nothing."""
    said = await call.read(AckRequest)
    for name, ids in (("items", said.items), ("runs", said.runs)):
        if len(ids) > LIST_MAX:
            raise InvalidInputError(Flaw(f"/{name}", f"at most {LIST_MAX} at once"))
    await call.core.inbox.take(call.project.project_id, call.principal.owner, items=said.items, runs=said.runs)
    return Reply(HTTPStatus.NO_CONTENT)


ENDPOINTS = [
    Endpoint(
        method="GET",
        path="/v1/inbox",
        scope="runs:read",
        handler=pending,
        summary="List what the caller was not told yet",
        gives={200: InboxList},
        query={
            "cursor": "Where a page begins, as the page before said.",
            "limit": f"1 to {LIST_MAX}; 50 if not given.",
            "threadId": "Only of this thread.",
        },
    ),
    Endpoint(
        method="POST",
        path="/v1/inbox/ack",
        scope="runs:read",
        handler=ack,
        summary="Say that notices have arrived",
        takes=AckRequest,
        gives={204: None},
    ),
]
