"""The tools of a project as a model sees them: `start_NAME` for what runs as a job, `NAME` for what a caller may wait for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mcp_types as types

from ringback.mcp.builtin import HANDLE, RESULT, builtin_tools
from ringback.mcp.caller import Caller

BELIEVED_S = 2.0
_OFFERS = "offers"
_OPTIONS: Mapping[str, Any] = {
    "idempotency_key": {
        "type": "string",
        "minLength": 1,
        "maxLength": 255,
        "description": "Repeating a call with the same key and arguments returns the same job instead of starting another one.",
    },
    "depends_on": {
        "type": "array",
        "items": {"type": "string"},
        "maxItems": 100,
        "description": "Ids of jobs that must succeed before this one starts.",
    },
}


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool of the project.

    Attributes:
        waits: whether a call may be answered with its result; else with the handle alone.
        is_foreign: whether it is a tool of an MCP server, whose answer is handed on as that server gave it.
        is_inline: whether even a client that takes tasks gets the result at once, if it comes soon.
        options: our arguments beside the tool's own.
    """

    tool: types.Tool
    name: str
    waits: bool
    is_inline: bool
    is_foreign: bool
    options: frozenset[str]

    def split(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The tool's own arguments, and ours. An option that is null is omitted."""
        own = {name: value for name, value in arguments.items() if name not in self.options}
        options = {name: arguments[name] for name in self.options if arguments.get(name) is not None}
        return own, options


async def offer_named(caller: Caller, name: str) -> Offer | None:
    """One of them. It may be a moment old: its arguments are checked again, by the tool's current revision, when it starts."""
    known: dict[str, Offer] = caller.recall(_OFFERS) or {}
    return known.get(name) or (await offers(caller)).get(name)


async def offers(caller: Caller) -> dict[str, Offer]:
    """What the project offers, by the name under which it is called. A name that Ringback itself uses is not taken twice."""
    found: dict[str, Offer] = {}
    cursor: str | None = None
    while True:
        page = await caller.get("/v1/tools", cursor=cursor)
        for item in page["items"]:
            shown = item["name"] if caller.scope is None else caller.scope.name_of(item)
            if shown is None:
                continue
            offer = _offer(item, shown)
            if offer.tool.name not in own_tools(caller):
                found[offer.tool.name] = offer
        cursor = page.get("nextCursor")
        if cursor is None:
            return caller.remember(_OFFERS, found, for_s=BELIEVED_S)


async def offer_of(caller: Caller, tool: str) -> Offer | None:
    """The offer of a tool of the project, by the name that it has there."""
    known: dict[str, Offer] = caller.recall(_OFFERS) or await offers(caller)
    return next((offer for offer in known.values() if offer.name == tool), None)


def own_tools(caller: Caller) -> dict[str, types.Tool]:
    """Ringback's own tools, as far as this door shows them."""
    scope = caller.scope
    return {name: tool for name, tool in builtin_tools().items() if scope is None or scope.shows_own(name)}


def _offer(item: Mapping[str, Any], shown: str) -> Offer:
    waits, is_foreign = item["mode"] in ("task", "inline"), item["runtime"] == "mcp"
    schema, options = _schema(item)
    description = str(item.get("description") or f"Run {item['name']}.").strip()
    if waits:
        description += " Answers with the result, or with the job's handle when it takes longer."
    else:
        description += " Starts it and returns a job_id at once: do not wait, the result is reported when it is there."
    hints = types.ToolAnnotations(
        read_only_hint=False, idempotent_hint=bool((item.get("policy") or {}).get("idempotent")), open_world_hint=True
    )
    tool = types.Tool(
        name=shown if waits else f"start_{shown}",
        description=description,
        input_schema=schema,
        output_schema=None if waits and is_foreign else RESULT if waits else HANDLE,
        annotations=hints,
    )
    return Offer(tool, item["name"], waits, item["mode"] == "inline", is_foreign, options)


def _schema(item: Mapping[str, Any]) -> tuple[dict[str, Any], frozenset[str]]:
    """The tool's input schema with our options beside its own properties; one that it has itself stays its own."""
    own: Mapping[str, Any] = item.get("inputSchema") or {}
    properties: Mapping[str, Any] = own.get("properties") or {}
    options = {name: schema for name, schema in _OPTIONS.items() if name not in properties}
    schema = {**own, "type": "object", "properties": {**properties, **options}}
    if item.get("requiresIdempotencyKey") and "idempotency_key" in options:
        schema["required"] = [*own.get("required", ()), "idempotency_key"]
    return schema, frozenset(options)


async def all_tools(caller: Caller) -> list[types.Tool]:
    """Everything that can be called, by name."""
    tools = own_tools(caller) | {name: offer.tool for name, offer in (await offers(caller)).items()}
    return [tools[name] for name in sorted(tools)]
