"""The door to what can be called by another name: aliases, and grants across organizations."""

from __future__ import annotations

from http import HTTPStatus
from typing import Literal

import msgspec

from ringback.api.call import Call
from ringback.api.reply import Reply, reply_json
from ringback.api.resource_shapes import Alias, AliasList, Grant, GrantList
from ringback.api.routes import Endpoint
from ringback.domain.errors import Flaw, InvalidInputError
from ringback.services import callables
from ringback.services.grants import GrantRequest
from ringback.services.resources import STABLE
from ringback.views import resources as views


class AliasRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """What the name is to stand for: a resource of the project by its name, or a grant."""

    resource_type: Literal["tool", "agent", "mcp_server"] = "tool"
    name: str | None = None
    release_channel: str | None = None
    grant_id: str | None = None


class NewGrant(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """What another project may call, and what it may see of the runs beside their status."""

    name: str
    grantee_project_id: str
    resource_type: Literal["tool", "agent", "mcp_server"] = "tool"
    release_channel: str = STABLE
    visibility_scopes: list[str] = []
    expires_at: str | None = None


async def aliases(call: Call) -> Reply:
    """By name."""
    known = await call.core.catalogue.callables.aliases(call.project.project_id)
    return reply_json({"items": [views.alias(known[name]) for name in sorted(known)]})


async def put_alias(call: Call) -> Reply:
    """Make a name stand for something, or for something else than before. Runs that exist keep what they have."""
    asked = await call.read(AliasRequest)
    if (asked.name is None) == (asked.grant_id is None):
        raise InvalidInputError(Flaw("/name", "name the resource in `name`, or a grant in `grantId`"))
    wanted = callables.Alias(
        alias=call.path["alias"],
        kind=asked.resource_type,
        target=asked.name or "",
        channel=asked.release_channel,
        grant_id=asked.grant_id,
        created_by=call.principal.owner,
    )
    made = await call.core.catalogue.callables.put(call.project.project_id, wanted, actor=call.principal.owner)
    return reply_json(views.alias(made))


async def remove_alias(call: Call) -> Reply:
    """Take a name back."""
    await call.core.catalogue.callables.remove(call.project.project_id, call.path["alias"], actor=call.principal.owner)
    return Reply(HTTPStatus.NO_CONTENT)


async def grants(call: Call) -> Reply:
    """What the project lets others call, and what others let it call; both oldest first."""
    project_id = call.project.project_id
    given, received = (
        await call.core.catalogue.grants.given(project_id),
        await call.core.catalogue.grants.received(project_id),
    )
    return reply_json(
        {"given": [views.grant(each) for each in given], "received": [views.grant(each) for each in received]}
    )


async def give(call: Call) -> Reply:
    """Let another project call a resource of this one. The runs will be this project's."""
    asked = await call.read(NewGrant)
    wanted = GrantRequest(
        kind=asked.resource_type,
        name=asked.name,
        grantee_id=asked.grantee_project_id,
        aspects=asked.visibility_scopes,
        channel=asked.release_channel,
        expires_at=asked.expires_at,
    )
    project_id, owner = call.project.project_id, call.principal.owner
    made = await call.core.catalogue.grants.give(project_id, wanted, actor=owner, known=call.core.access.project_ids())
    return reply_json(views.grant(made), HTTPStatus.CREATED)


async def revoke(call: Call) -> Reply:
    """End a grant at once: nothing new is started by it, and runs that were are unknown to the other side."""
    ended = await call.core.catalogue.grants.revoke(
        call.project.project_id, call.path["grant_id"], actor=call.principal.owner
    )
    return reply_json(views.grant(ended))


ENDPOINTS = [
    Endpoint(
        method="GET",
        path="/v1/aliases",
        scope="runs:read",
        handler=aliases,
        summary="List aliases",
        gives={200: AliasList},
    ),
    Endpoint(
        method="PUT",
        path="/v1/aliases/{alias}",
        scope="resources:write",
        handler=put_alias,
        summary="Make a name stand for a resource",
        takes=AliasRequest,
        gives={200: Alias},
    ),
    Endpoint(
        method="DELETE",
        path="/v1/aliases/{alias}",
        scope="resources:write",
        handler=remove_alias,
        summary="Take an alias back",
        gives={204: None},
    ),
    Endpoint(
        method="GET",
        path="/v1/grants",
        scope="runs:read",
        handler=grants,
        summary="List grants, given and received",
        gives={200: GrantList},
    ),
    Endpoint(
        method="POST",
        path="/v1/grants",
        scope="access:admin",
        handler=give,
        summary="Let another project call a resource",
        takes=NewGrant,
        gives={201: Grant},
    ),
    Endpoint(
        method="DELETE",
        path="/v1/grants/{grant_id}",
        scope="access:admin",
        handler=revoke,
        summary="End a grant",
        gives={200: Grant},
    ),
]
