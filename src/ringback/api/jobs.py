"""The job door: start, look, list, stop, fetch. Every start gets the same short answer, and it comes before any work begins."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from ringback.api.call import Call, flaw_of, is_true, text_member, whole_number
from ringback.api.looking import looked_at, unchanged
from ringback.api.problems import RequestError
from ringback.api.reply import Reply, reply_json
from ringback.api.routes import Endpoint
from ringback.api.run_output import end_of_long, result_page
from ringback.api.shapes import Job, JobAccepted, JobList, JobResult
from ringback.domain.errors import Flaw, IdempotencyKeyError, InvalidInputError, NotFoundError
from ringback.domain.idempotency import one_key, unquote
from ringback.domain.states import ACTIVE, Status, job_word
from ringback.services.runs import Details
from ringback.services.start_request import StartRequest
from ringback.views.jobs import accepted, job, job_in_full, job_result
from ringback.views.sharing import shared_job

REASON_MAX = 500
FRONTS = frozenset(("mcp", "cli"))
RESERVED = frozenset(
    (
        "tool",
        "type",
        "idempotency_key",
        "depends_on",
        "timeout_seconds",
        "total_timeout_seconds",
        "not_before",
        "priority",
        "thread_id",
        "tags",
        "run_on",
    )
)


class JobRequest(msgspec.Struct, kw_only=True):
    """The reserved members of a start; what else stands beside them is the tool's."""

    tool: str | None = None
    type: str | None = None
    idempotency_key: str | None = None
    depends_on: list[str] | None = None
    timeout_seconds: float | None = None
    total_timeout_seconds: float | None = None
    not_before: str | None = None
    priority: int | None = None
    thread_id: str | None = None
    tags: list[str] | None = None
    run_on: str | None = None
    arguments: dict[str, Any] | None = None


async def start(call: Call) -> Reply:
    """Always 202 and always the same shape; the job is durable by then."""
    body = await call.json_object()
    request = _request(call, body)
    if request.idempotency_key is None and is_true(call.query().get("require_key")):
        raise IdempotencyKeyError("require_key was asked for, and there is no Idempotency-Key")
    project_id = call.project.project_id
    started = await call.core.starting.start(project_id, call.principal.owner, request, request_id=call.request_id)
    answer = accepted(started.run)
    headers = {"location": f"/jobs/{answer['job_id']}", "retry-after": "1"}
    if started.is_replay:
        headers["idempotency-replayed"] = "true"
    return reply_json(answer, HTTPStatus.ACCEPTED, headers)


def _request(call: Call, body: Mapping[str, Any]) -> StartRequest:
    flat = {name: value for name, value in body.items() if name not in RESERVED and name != "arguments"}
    if "arguments" in body and flat:
        names = ", ".join(flat)[:200]
        detail = f"arguments stand either under `arguments` or flat beside the reserved names, not both: {names}"
        raise RequestError(HTTPStatus.BAD_REQUEST, "ambiguous_arguments", detail)
    try:
        given = {name: value for name, value in body.items() if name not in flat}
        options = msgspec.convert(given, JobRequest)
    except msgspec.ValidationError as error:
        raise InvalidInputError(flaw_of(str(error))) from None
    name = options.tool or options.type
    if name is None or (options.tool and options.type and options.tool != options.type):
        raise InvalidInputError(Flaw("/tool", "name the tool, once"))
    header = call.header("idempotency-key")
    return StartRequest(
        tool=name,
        arguments=options.arguments if options.arguments is not None else flat,
        arguments_pointer="/arguments" if options.arguments is not None else "",
        idempotency_key=one_key(None if header is None else unquote(header), options.idempotency_key),
        depends_on=tuple(options.depends_on or ()),
        run_on=options.run_on or "success",
        timeout_s=options.timeout_seconds,
        total_timeout_s=options.total_timeout_seconds,
        not_before=options.not_before,
        priority=options.priority,
        thread_id=options.thread_id,
        tags=tuple(options.tags or ()),
        traceparent=call.header("traceparent"),
        source=_source(call),
    )


def _source(call: Call) -> str:
    """Through which door the caller came, as a front of ours says it."""
    named = call.header("ringback-source")
    return named if named in FRONTS else "jobs"


async def show(call: Call) -> Reply:
    """One look at a job, or a wait for its end with `Prefer: wait=N`."""
    run, headers = await looked_at(call, call.path["job_id"])
    if unchanged(call, headers):
        return Reply(HTTPStatus.NOT_MODIFIED, headers=headers)
    details = await call.core.runs.describe(run)
    if is_true(call.query().get("mine")) and details.facts.created_by != call.principal.owner:
        raise NotFoundError("run", call.path["job_id"])
    return reply_json(await _in_full(call, details), headers=headers)


async def _in_full(call: Call, details: Details) -> dict[str, Any]:
    """The job as the caller's project may see it."""
    return shared_job(job_in_full(details), await call.core.runs.aspects(call.project.project_id, details.run))


async def listed(call: Call) -> Reply:
    """Jobs, newest first."""
    query = call.query()
    page = await call.core.runs.page(
        call.project.project_id,
        statuses=_statuses(call.listed("status")),
        tool=query.get("tool"),
        cursor=query.get("cursor"),
        limit=whole_number(query.get("limit"), "limit", least=1, most=200, default=50),
    )
    body: dict[str, Any] = {"jobs": [job(run) for run in page.items]}
    if page.next_cursor is not None:
        body["next_cursor"] = page.next_cursor
    return reply_json(body)


def _statuses(asked: list[str]) -> list[Status]:
    """The canonical statuses behind job words; `active` is all that are not final."""
    words: dict[str, list[Status]] = {"active": sorted(ACTIVE)}
    for status in Status:
        words.setdefault(job_word(status, 1), []).append(status)
    found: list[Status] = []
    for word in asked:
        if word not in words:
            raise InvalidInputError(Flaw("/status", f"must be one of {', '.join(words)}"))
        found.extend(words[word])
    return list(dict.fromkeys(found))


async def stop(call: Call) -> Reply:
    """Ask for the end: 202 while the job is active, 200 with the unchanged job when it has ended."""
    runs = call.core.runs
    reason = text_member(call.query().get("reason"), "/reason", REASON_MAX)
    run = await runs.cancel(call.project.project_id, call.path["job_id"], by=call.principal.owner, reason=reason)
    status = HTTPStatus.OK if run.is_terminal else HTTPStatus.ACCEPTED
    headers = {} if run.is_terminal else {"retry-after": "1"}
    return reply_json(await _in_full(call, await runs.describe(run)), status, headers)


async def result(call: Call) -> Reply:
    """A part of the result; on the first of several, also how it ended."""
    run = await call.core.runs.get(call.project.project_id, call.path["job_id"], "output")
    page = await result_page(call, run, "max_bytes")
    body = job_result(page)
    if (end := await end_of_long(call, page)) is not None:
        body["ending"] = end
    return reply_json(body)


_KEY = {"Idempotency-Key": "1 to 255 visible characters: the same key and body give the same job again."}
_WAIT = {"Prefer": "`wait=N` waits up to N seconds (30 at most) for the end."}
_PAGE = {"cursor": "Where a page begins, as the page before said.", "limit": "1 to 200; 50 if not given."}
ENDPOINTS = [
    Endpoint(
        method="POST",
        path="/jobs",
        scope="runs:write",
        handler=start,
        summary="Start a job",
        takes=JobRequest,
        gives={202: JobAccepted},
        query={"require_key": "`1` refuses a start without a key."},
        headers=_KEY,
    ),
    Endpoint(
        method="GET",
        path="/jobs",
        scope="runs:read",
        handler=listed,
        summary="List jobs, newest first",
        gives={200: JobList},
        query={
            **_PAGE,
            "status": "Job words, separated by commas; `active` for all that can change.",
            "tool": "A tool.",
        },
    ),
    Endpoint(
        method="GET",
        path="/jobs/{job_id}",
        scope="runs:read",
        handler=show,
        summary="Look at a job",
        gives={200: Job, 304: None},
        query={"mine": "`true`: a job that somebody else started is as unknown as none."},
        headers={**_WAIT, "If-None-Match": "The ETag of a version that the caller has."},
    ),
    Endpoint(
        method="DELETE",
        path="/jobs/{job_id}",
        scope="runs:write",
        handler=stop,
        summary="Stop a job",
        gives={200: Job, 202: Job},
        query={"reason": "Why, at most 500 characters."},
    ),
    Endpoint(
        method="GET",
        path="/jobs/{job_id}/result",
        scope="runs:read",
        handler=result,
        summary="Fetch a job's result",
        gives={200: JobResult},
        query={
            "cursor": "Where a page begins, as the page before said.",
            "max_bytes": "Bytes of output on a page; 65536 if not given.",
            "partial": "`true` reads what there is of a job that has not ended, or was cancelled.",
        },
    ),
]
