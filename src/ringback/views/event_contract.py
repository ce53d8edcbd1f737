"""The event stream as documents: a JSON Schema of the envelope, and an AsyncAPI description of the two streams.

Both are generated from `event_shapes` and checked in under `contracts/`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ringback.views.event_shapes import SHAPES

SCHEMA = "events.schema.json"
_REF = "#/$defs/{name}"
_RUN_ID = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
_COMMON: dict[str, Any] = {
    "eventId": {"type": "string", "description": "`RUN:SEQUENCE`, by which a reader knows a duplicate."},
    "createdAt": {"type": "string", "format": "date-time"},
}
ABOUT = """Events of runs over server-sent events. A message's `id` is the position behind which its stream can be resumed
with `Last-Event-ID`; comments and messages without data are signs of life. The same envelopes come in pages without
`Accept: text/event-stream`."""
_STREAMS = {
    "run": ("/v1/runs/{runId}/events", "The events of one run, from the first or behind a position, to its end."),
    "project": ("/v1/events", "The events of all runs of a project in the order of their commit, without an end."),
}


def event_schema(*, version: str) -> dict[str, Any]:
    """The envelope with one schema for each type of event; a member or a type that is not listed is refused."""
    shapes, components = msgspec.json.schema_components(SHAPES.values(), ref_template=_REF)
    for name, schema in components.items():
        if schema.get("type") == "object":
            schema["additionalProperties"] = False
        if name in _names():
            _complete(schema, _names()[name])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Event",
        "description": f"One event of a run as every surface shows it; contract {version}.",
        "type": "object",
        "properties": {
            "runId": {"type": "string", "pattern": _RUN_ID},
            "threadId": {"type": "string"},
            "sequence": {"type": "integer", "minimum": 1, "description": "Without gaps within the run."},
            "event": {"oneOf": shapes},
        },
        "required": ["runId", "sequence", "event"],
        "additionalProperties": False,
        "$defs": dict(sorted(components.items())),
    }


def async_api(*, version: str) -> dict[str, Any]:
    """The two streams as an AsyncAPI 3.0 document. It names no server: an installation has its own address."""
    return {
        "asyncapi": "3.0.0",
        "info": {"title": "Ringback events", "version": version, "description": ABOUT},
        "defaultContentType": "application/json",
        "channels": {name: _channel(name) for name in _STREAMS},
        "operations": {
            f"send_{name}_events": {
                "action": "send",
                "channel": {"$ref": f"#/channels/{name}"},
                "summary": about,
                "bindings": {"http": {"method": "GET", "bindingVersion": "0.3.0"}},
            }
            for name, (_, about) in _STREAMS.items()
        },
        "components": {
            "messages": {kind: _message(kind) for kind in SHAPES},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def text_of_document(document: dict[str, Any]) -> str:
    """The same text for the same document."""
    return msgspec.json.format(msgspec.json.encode(document, order="sorted"), indent=2).decode() + "\n"


def _names() -> dict[str, str]:
    return {shape.__name__: kind for kind, shape in SHAPES.items()}


def _complete(schema: dict[str, Any], kind: str) -> None:
    """The members that every event has."""
    schema["properties"] = {"type": {"const": kind}, **_COMMON, **schema.get("properties", {})}
    schema["required"] = ["type", *_COMMON, *schema.get("required", ())]


def _channel(name: str) -> dict[str, Any]:
    address, about = _STREAMS[name]
    channel: dict[str, Any] = {
        "address": address,
        "description": about,
        "messages": {kind: {"$ref": f"#/components/messages/{kind}"} for kind in SHAPES},
    }
    if "{runId}" in address:
        channel["parameters"] = {"runId": {"description": "The run's id, in either spelling."}}
    return channel


def _message(kind: str) -> dict[str, Any]:
    shape = f"{SCHEMA}#/$defs/{SHAPES[kind].__name__}"
    payload = {"allOf": [{"$ref": SCHEMA}, {"properties": {"event": {"$ref": shape}}}]}
    return {"name": kind, "title": kind, "contentType": "application/json", "payload": payload}
