"""The catalogue door: which tools there are, and making definitions the current ones."""

from __future__ import annotations

from typing import Any

import msgspec

from ringback.api.call import Call
from ringback.api.catalogue_shapes import Tool, ToolChanges, ToolList
from ringback.api.reply import Reply, reply_json
from ringback.api.routes import Endpoint
from ringback.views.tools import change, tool

DEFINITIONS_BYTES_MAX = 16 << 20


class Definitions(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Definitions to apply; with `dryRun` only what they would change is said."""

    definitions: list[dict[str, Any]]
    dry_run: bool = False


async def listed(call: Call) -> Reply:
    """Tools of the project by name."""
    released = await call.core.catalogue.resources.released(call.project.project_id)
    return reply_json({"items": [tool(released[name]) for name in sorted(released)]})


async def show(call: Call) -> Reply:
    """One tool."""
    return reply_json(tool(await call.core.catalogue.resources.resolve(call.project.project_id, call.path["name"])))


async def apply(call: Call) -> Reply:
    """Release each definition on the stable channel, or none if one is wrong. Applying the same again changes nothing."""
    asked = await call.read(Definitions, DEFINITIONS_BYTES_MAX)
    changes = await call.core.catalogue.resources.apply(
        call.project.project_id, asked.definitions, actor=call.principal.owner, is_dry_run=asked.dry_run
    )
    return reply_json({"changes": [change(each) for each in changes], "dryRun": asked.dry_run})


ENDPOINTS = [
    Endpoint(
        method="GET",
        path="/v1/tools",
        scope="runs:read",
        handler=listed,
        summary="List tools",
        gives={200: ToolList},
    ),
    Endpoint(
        method="PUT",
        path="/v1/tools",
        scope="resources:write",
        handler=apply,
        summary="Make definitions the current ones",
        takes=Definitions,
        gives={200: ToolChanges},
    ),
    Endpoint(
        method="GET",
        path="/v1/tools/{name}",
        scope="runs:read",
        handler=show,
        summary="Look at a tool",
        gives={200: Tool},
    ),
]
