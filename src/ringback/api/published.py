"""The door of published endpoints: what a path starts, and the requests that are sent to it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import msgspec

from ringback.api.call import Call, decode, wait_of
from ringback.api.capabilities import PRIVATE
from ringback.api.problems import RequestError
from ringback.api.reply import Reply, reply_json
from ringback.api.routes import Endpoint
from ringback.api.script_shapes import AcceptedRequest, EndpointRequest, PublishedEndpoint, PublishedEndpointList
from ringback.domain.errors import Flaw, InvalidInputError
from ringback.domain.idempotency import unquote
from ringback.domain.moments import rfc3339
from ringback.domain.runs import Run
from ringback.ports.store import Row
from ringback.services.start_request import StartRequest
from ringback.services.starting import Started
from ringback.views.async_runs import ENDPOINT, http_status, output_of

WAIT_S = 30
METHODS = ("DELETE", "GET", "PATCH", "POST", "PUT")


async def listed(call: Call) -> Reply:
    """Endpoints of the project by path."""
    rows = await call.core.published.list(call.project.project_id)
    return reply_json({"items": [_shown(call, row) for row in rows]})


async def publish(call: Call) -> Reply:
    """Let the path start this tool or script from now on."""
    asked = await call.read(EndpointRequest)
    path, by = call.path["path"], call.principal.owner
    return reply_json(
        _shown(call, await call.core.published.publish(call.project.project_id, path, asked.target, by=by))
    )


async def withdraw(call: Call) -> Reply:
    """Let the path start nothing any more. Its runs stay and go on."""
    await call.core.published.withdraw(call.project.project_id, call.path["path"], by=call.principal.owner)
    return Reply(HTTPStatus.NO_CONTENT)


def _shown(call: Call, row: Row) -> dict[str, Any]:
    return {
        "path": row["path"],
        "target": row["tool"],
        "url": f"/x/{call.project.slug}/{row['path']}",
        "published_by": row["published_by"],
        "published_at": rfc3339(row["published_at"]),
    }


async def request(call: Call) -> Reply:
    """Start what the path stands for and answer with its output; with `Prefer: respond-async`, 202 and a capability token.

    A request whose run takes longer than 30 seconds is answered like one that prefers not to wait.
    """
    started = await _start(call, await call.core.published.get(call.project.project_id, call.path["path"]))
    prefer = call.header("prefer")
    is_async, wait_s = _prefers_async(prefer), wait_of(prefer)
    within_s = wait_s if wait_s is not None else 0 if is_async else WAIT_S
    run = await call.core.runs.get(call.project.project_id, started.run.run_id)
    run = await call.core.runs.wait(run, within_s=within_s)
    waited = [] if wait_s is None else [f"wait={wait_s}"]
    if run.is_terminal and (not is_async or wait_s is not None):
        return await _answer(call, run, _applied(waited))
    applied = ["respond-async", *waited] if is_async else waited
    return await _accepted(call, started, _applied(applied))


async def _start(call: Call, endpoint: Row) -> Started:
    header = call.header("idempotency-key")
    asked = StartRequest(
        tool=endpoint["tool"],
        arguments=await _arguments(call),
        arguments_pointer="",
        idempotency_key=None if header is None else unquote(header),
        caller_context={"request": {"method": call.scope["method"], "path": f"/{endpoint['path']}"}},
        traceparent=call.header("traceparent"),
        source=ENDPOINT,
    )
    return await call.core.starting.start(
        call.project.project_id, call.principal.owner, asked, request_id=call.request_id
    )


async def _arguments(call: Call) -> dict[str, Any]:
    """The members of the body; without a body, the parameters of the query as strings."""
    body = await call.body()
    if not body:
        return dict(call.query())
    value = decode(body)
    if not isinstance(value, dict):
        raise InvalidInputError(Flaw("", "the body must be a JSON object"))
    return value


def _prefers_async(prefer: str | None) -> bool:
    return any(part.strip().lower() == "respond-async" for part in (prefer or "").split(","))


def _applied(preferences: list[str]) -> dict[str, str]:
    return {"preference-applied": ", ".join(preferences)} if preferences else {}


async def _answer(call: Call, run: Run, headers: dict[str, str]) -> Reply:
    status = http_status(run)
    headers = {**headers, "ringback-run": run.run_id}
    if status is not HTTPStatus.OK:
        code = run.failure_kind.value if run.failure_kind else "cancelled"
        raise RequestError(status, code, run.error or "the run did not succeed", headers)
    output = output_of(run, await call.core.results.value(run))
    return Reply(status, msgspec.json.encode(output), media_type="application/json", headers=headers)


async def _accepted(call: Call, started: Started, headers: dict[str, str]) -> Reply:
    run = started.run
    issued = await call.core.capabilities.issue(run, by=call.principal.owner)
    facts = started.facts or (await call.core.store.reads.facts([run.run_id]))[run.run_id]
    body = {
        "run_id": run.run_id,
        "request_id": facts.request_id,
        "status": "queued",
        "token": issued.token,
        "expires_at": rfc3339(issued.expires_at),
    }
    about = {"location": f"/async-runs/{run.run_id}", "retry-after": "1", "ringback-run": run.run_id}
    if started.is_replay:
        about["idempotency-replayed"] = "true"
    return reply_json(body, HTTPStatus.ACCEPTED, {**PRIVATE, **headers, **about})


_ALL = "/api/projects/{slug}/endpoints"
_ONE = f"{_ALL}/{{path}}"
ENDPOINTS = [
    Endpoint(
        method="GET",
        path=_ALL,
        scope="runs:read",
        project_in_path="slug",
        handler=listed,
        summary="List published endpoints",
        gives={200: PublishedEndpointList},
    ),
    Endpoint(
        method="PUT",
        path=_ONE,
        scope="resources:write",
        project_in_path="slug",
        handler=publish,
        summary="Publish an endpoint",
        takes=EndpointRequest,
        gives={200: PublishedEndpoint},
    ),
    Endpoint(
        method="DELETE",
        path=_ONE,
        scope="resources:write",
        project_in_path="slug",
        handler=withdraw,
        summary="Withdraw an endpoint",
        gives={204: None},
    ),
    *(
        Endpoint(
            method=method,
            path="/x/{slug}/{path}",
            scope="runs:write",
            project_in_path="slug",
            handler=request,
            summary="Send a request to a published endpoint",
            gives={200: Any, 202: AcceptedRequest},
            headers={
                "Idempotency-Key": "1 to 255 visible characters: the same key and request give the same run again.",
                "Prefer": "`respond-async` answers at once, `respond-async, wait=N` after N seconds (30 at most).",
            },
        )
        for method in METHODS
    ),
]
