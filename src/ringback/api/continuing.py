"""The door to sessions: put a request to a run that hosts an MCP server, and read its answer."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, TypeAlias

import msgspec

from ringback.api.call import Call, wait_of, whole_number
from ringback.api.reply import Reply, reply_json
from ringback.api.routes import Endpoint
from ringback.api.shapes import Continuation as Shape
from ringback.domain.errors import Flaw, InvalidInputError
from ringback.domain.json_values import text_flaw
from ringback.services.continuations import Continuation
from ringback.views.continuations import continuation

METHOD_MAX = 200
BODY_BYTES_MAX = 8 << 20
_SEQUENCE_MAX = 1 << 62


class McpRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """A request or a notification of MCP. With an `id`, the same request again is the same continuation."""

    method: str
    params: dict[str, Any] = {}
    id: str | int | msgspec.UnsetType = msgspec.UNSET


class ContinueSession(msgspec.Struct, tag="mcp_server", tag_field="mode", rename="camel", forbid_unknown_fields=True):
    """Go on with a hosted session."""

    request: McpRequest


ContinueRequest: TypeAlias = ContinueSession


async def go_on(call: Call) -> Reply:
    """Put a request to a session: 202 once it is durable, or 200 with the answer within `Prefer: wait=N`."""
    run = await call.core.runs.get(call.project.project_id, call.path["run_id"])
    await call.core.continuations.check(run)
    asked = (await call.read(ContinueSession, BODY_BYTES_MAX)).request
    if not 1 <= len(asked.method) <= METHOD_MAX or text_flaw(asked.method):
        raise InvalidInputError(Flaw("/request/method", f"must have 1 to {METHOD_MAX} characters"))
    found = await call.core.continuations.put(run, msgspec.to_builtins(asked), by=call.principal.owner)
    return await _told(call, found)


async def show(call: Call) -> Reply:
    """A request with its answer, or a wait for it with `Prefer: wait=N`."""
    run = await call.core.runs.get(call.project.project_id, call.path["run_id"])
    number = whole_number(call.path["number"], "number", least=1, most=_SEQUENCE_MAX, default=1)
    return await _told(call, await call.core.continuations.get(run, number), is_look=True)


async def _told(call: Call, found: Continuation, *, is_look: bool = False) -> Reply:
    headers = {"location": f"/v1/runs/{found.run.run_id}/continuations/{found.number}"}
    if (wait_s := wait_of(call.header("prefer"))) is not None:
        found = await call.core.continuations.wait(found, within_s=wait_s)
        headers["preference-applied"] = f"wait={wait_s}"
    is_open = found.status == "open"
    if is_open:
        headers["retry-after"] = "1"
    status = HTTPStatus.ACCEPTED if is_open and not is_look else HTTPStatus.OK
    return reply_json(continuation(found), status, headers)


_WAIT = {"Prefer": "`wait=N` waits up to N seconds (30 at most) for the answer."}
ENDPOINTS = [
    Endpoint(
        method="POST",
        path="/v1/runs/{run_id}/continue",
        scope="runs:write",
        handler=go_on,
        summary="Put a request to a session",
        takes=ContinueSession,
        gives={200: Shape, 202: Shape},
        headers=_WAIT,
    ),
    Endpoint(
        method="GET",
        path="/v1/runs/{run_id}/continuations/{number}",
        scope="runs:read",
        handler=show,
        summary="A request to a session, with its answer",
        gives={200: Shape},
        headers=_WAIT,
    ),
]
