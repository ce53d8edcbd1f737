"""The catalogue door: resources of every kind, their revisions, and the channels that release them."""

from __future__ import annotations

from typing import Any

import msgspec

from ringback.api.call import Call
from ringback.api.catalogue_shapes import ToolChanges
from ringback.api.reply import Reply, reply_json
from ringback.api.resource_shapes import (
    Channel,
    ChannelList,
    ResourceInFull,
    ResourceList,
    Revision,
    RevisionList,
    SwitchList,
)
from ringback.api.routes import Endpoint
from ringback.api.tools import DEFINITIONS_BYTES_MAX
from ringback.domain.definitions import RUNTIMES
from ringback.domain.errors import Flaw, InvalidInputError, NotFoundError
from ringback.services.channels import Reference
from ringback.services.resources import STABLE
from ringback.views import resources as views
from ringback.views.tools import change


class ResourceDefinitions(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Definitions to release on a channel; with `dryRun` only what they would change is said."""

    definitions: list[dict[str, Any]]
    release_channel: str = STABLE
    dry_run: bool = False


class ChannelSwitch(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Where a channel is to point; null is nowhere. `expectedRevisionId` is where it must point before."""

    revision_id: str | None
    expected_revision_id: str | None = None


async def listed(call: Call) -> Reply:
    """Every resource by kind and name, whether or not anything of it is released."""
    kind = call.query().get("type")
    if kind is not None and kind not in RUNTIMES:
        raise InvalidInputError(Flaw("/type", f"must be one of {', '.join(RUNTIMES)}"))
    rows = await call.core.catalogue.channels.resources_of(call.project.project_id)
    pointing = await call.core.catalogue.resources.pointing(call.project.project_id)
    wanted = [row for row in rows if kind in (None, row["resource_type"])]
    return reply_json({"items": [views.resource(row, pointing.get(row["resource_id"], {})) for row in wanted]})


async def apply(call: Call) -> Reply:
    """Release each definition on the channel, or none if one is wrong. Applying the same again changes nothing."""
    asked = await call.read(ResourceDefinitions, DEFINITIONS_BYTES_MAX)
    changes = await call.core.catalogue.channels.apply(
        call.project.project_id,
        asked.definitions,
        channel=asked.release_channel,
        actor=call.principal.owner,
        is_dry_run=asked.dry_run,
    )
    return reply_json({"changes": [change(each) for each in changes], "dryRun": asked.dry_run})


async def show(call: Call) -> Reply:
    """One resource with its channels, and the definition that the stable one points to."""
    of = _reference(call)
    channels = await call.core.catalogue.channels.channels(of)
    body: dict[str, Any] = {"resourceId": of.resource_id, "resourceType": of.kind, "name": of.name}
    body |= {"channels": [views.channel(row) for row in channels]}
    released = await call.core.catalogue.resources.released(of.project_id, kind=of.kind)
    if of.name in released:
        body["definition"] = views.revision(released[of.name])["definition"]
    return reply_json(body)


async def withdraw(call: Call) -> Reply:
    """Nothing new is started of it by its name; its revisions stay, and its runs go on."""
    of = _reference(call)
    row = await call.core.catalogue.channels.switch(of, STABLE, None, actor=call.principal.owner)
    return reply_json(views.channel(row))


async def revisions(call: Call) -> Reply:
    """Newest first, with the channels that point to each."""
    of = _reference(call)
    pointing = {row["name"]: row["revision_id"] for row in await call.core.catalogue.channels.channels(of)}
    rows = await call.core.catalogue.channels.revisions(of)
    return reply_json({"items": [views.revision_in_list(row, pointing) for row in rows]})


async def revision(call: Call) -> Reply:
    """One revision with its definition, by its id or the part behind the `@`."""
    return reply_json(
        views.revision(await call.core.catalogue.channels.revision(_reference(call), call.path["revision_id"]))
    )


async def channels(call: Call) -> Reply:
    """Where each channel points."""
    return reply_json(
        {"items": [views.channel(row) for row in await call.core.catalogue.channels.channels(_reference(call))]}
    )


async def switch(call: Call) -> Reply:
    """Point a channel at a revision. Runs that exist keep theirs."""
    asked = await call.read(ChannelSwitch)
    row = await call.core.catalogue.channels.switch(
        _reference(call),
        call.path["channel"],
        asked.revision_id,
        actor=call.principal.owner,
        expected=asked.expected_revision_id,
    )
    return reply_json(views.channel(row))


async def rollback(call: Call) -> Reply:
    """Take back the channel's last switch."""
    row = await call.core.catalogue.channels.rollback(
        _reference(call), call.path["channel"], actor=call.principal.owner
    )
    return reply_json(views.channel(row))


async def switches(call: Call) -> Reply:
    """How the channel came to point where it points, newest first."""
    rows = await call.core.catalogue.channels.switches(_reference(call), call.path["channel"])
    return reply_json({"items": [views.switch(row) for row in rows]})


def _reference(call: Call) -> Reference:
    kind = call.path["type"]
    if kind not in RUNTIMES:
        raise NotFoundError("type of resource", kind)
    return Reference(project_id=call.project.project_id, kind=kind, name=call.path["name"])


_AT = "/v1/resources/{type}/{name}"
ENDPOINTS = [
    Endpoint(
        method="GET",
        path="/v1/resources",
        scope="runs:read",
        handler=listed,
        summary="List resources",
        gives={200: ResourceList},
        query={"type": f"Only of this kind: {', '.join(RUNTIMES)}."},
    ),
    Endpoint(
        method="PUT",
        path="/v1/resources",
        scope="resources:write",
        handler=apply,
        summary="Release definitions on a channel",
        takes=ResourceDefinitions,
        gives={200: ToolChanges},
    ),
    Endpoint(
        method="GET",
        path=_AT,
        scope="runs:read",
        handler=show,
        summary="Look at a resource",
        gives={200: ResourceInFull},
    ),
    Endpoint(
        method="DELETE",
        path=_AT,
        scope="resources:write",
        handler=withdraw,
        summary="Take a resource back from the stable channel",
        gives={200: Channel},
    ),
    Endpoint(
        method="GET",
        path=f"{_AT}/revisions",
        scope="runs:read",
        handler=revisions,
        summary="List a resource's revisions",
        gives={200: RevisionList},
    ),
    Endpoint(
        method="GET",
        path=f"{_AT}/revisions/{{revision_id}}",
        scope="runs:read",
        handler=revision,
        summary="Look at a revision",
        gives={200: Revision},
    ),
    Endpoint(
        method="GET",
        path=f"{_AT}/channels",
        scope="runs:read",
        handler=channels,
        summary="List a resource's release channels",
        gives={200: ChannelList},
    ),
    Endpoint(
        method="PUT",
        path=f"{_AT}/channels/{{channel}}",
        scope="resources:write",
        handler=switch,
        summary="Switch a release channel",
        takes=ChannelSwitch,
        gives={200: Channel},
    ),
    Endpoint(
        method="POST",
        path=f"{_AT}/channels/{{channel}}/rollback",
        scope="resources:write",
        handler=rollback,
        summary="Take back a channel's last switch",
        gives={200: Channel},
    ),
    Endpoint(
        method="GET",
        path=f"{_AT}/channels/{{channel}}/switches",
        scope="runs:read",
        handler=switches,
        summary="List a channel's switches",
        gives={200: SwitchList},
    ),
]
