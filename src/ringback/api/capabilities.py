"""The door of capability tokens: made and revoked by members, and used by whoever holds one, without an account."""

from __future__ import annotations

from http import HTTPStatus

from ringback.api.async_runs import seen
from ringback.api.call import Call
from ringback.api.reply import Reply, reply_json
from ringback.api.routes import Endpoint
from ringback.api.script_shapes import CapabilityRequest, CapabilityToken, CapabilityTokenList
from ringback.api.shapes import AsyncRun
from ringback.domain.errors import UnauthenticatedError
from ringback.domain.moments import SECOND, rfc3339
from ringback.views.moments import shown

PRIVATE = {"cache-control": "no-store", "referrer-policy": "no-referrer"}


async def issue(call: Call) -> Reply:
    """A token that opens this run alone, shown once."""
    asked = await call.read(CapabilityRequest)
    run = await call.core.runs.get(call.project.project_id, call.path["run_id"])
    issued = await call.core.capabilities.issue(run, by=call.principal.owner, lasts=asked.expires_in_s * SECOND)
    body = {
        "tokenId": issued.token_id,
        "token": issued.token,
        "url": f"/async-runs/{run.run_id}",
        "expiresAt": rfc3339(issued.expires_at),
    }
    return reply_json(body, HTTPStatus.CREATED, PRIVATE)


async def listed(call: Call) -> Reply:
    """The run's tokens, newest first, without what would open it."""
    run = await call.core.runs.get(call.project.project_id, call.path["run_id"])
    items = []
    for row in await call.core.capabilities.of(run):
        body = {"tokenId": row["token_id"], "issuedBy": row["issued_by"], "createdAt": rfc3339(row["created_at"])}
        more = {"expiresAt": rfc3339(row["expires_at"]), "revokedAt": shown(row["revoked_at"])}
        items.append({name: value for name, value in {**body, **more}.items() if value is not None})
    return reply_json({"items": items})


async def revoke(call: Call) -> Reply:
    """The token opens nothing any more, from now on."""
    run = await call.core.runs.get(call.project.project_id, call.path["run_id"])
    await call.core.capabilities.revoke(run, call.path["token_id"], by=call.principal.owner)
    return Reply(HTTPStatus.NO_CONTENT)


async def show(call: Call) -> Reply:
    """The run that the token opens, by `?token=` or as bearer. Whatever is wrong with the token, the answer is the same."""
    token = call.query().get("token") or _bearer(call)
    if not token:
        raise UnauthenticatedError
    run = await call.core.capabilities.opened(call.path["run_id"], token)
    return reply_json(await seen(call.core, run), headers=PRIVATE)


def _bearer(call: Call) -> str | None:
    scheme, _, token = (call.header("authorization") or "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


_TOKENS = "/v1/runs/{run_id}/capability-tokens"
ENDPOINTS = [
    Endpoint(
        method="POST",
        path=_TOKENS,
        scope="runs:write",
        handler=issue,
        summary="Open a run to whoever holds a token",
        takes=CapabilityRequest,
        gives={201: CapabilityToken},
    ),
    Endpoint(
        method="GET",
        path=_TOKENS,
        scope="runs:read",
        handler=listed,
        summary="List a run's capability tokens",
        gives={200: CapabilityTokenList},
    ),
    Endpoint(
        method="DELETE",
        path=f"{_TOKENS}/{{token_id}}",
        scope="runs:write",
        handler=revoke,
        summary="Revoke a capability token",
        gives={204: None},
    ),
    Endpoint(
        method="GET",
        path="/async-runs/{run_id}",
        scope=None,
        handler=show,
        summary="Look at a run with its capability token",
        gives={200: AsyncRun},
        query={"token": "The capability token, unless it is sent as bearer."},
    ),
]
