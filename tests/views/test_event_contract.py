"""The event stream's documents: generated, checked in, whole, and as strict as they say."""

from __future__ import annotations

import ast
import json
from typing import Any

import jsonschema_rs
import pytest
from scripts.generate_event_contract import FOLDER, texts

from ringback.domain.events import EVENT_TYPES
from ringback.domain.runs import NewEvent
from ringback.views.event_shapes import SHAPES
from ringback.views.events import envelope
from tests.architecture.checkout import files, nodes
from tests.builders import stored

OF_THREADS = {  # known as filters; recorded by nobody yet
    "message.delta",
    "reasoning.delta",
    "reasoning.completed",
    "tool_call.delta",
}


def schema() -> Any:
    return json.loads((FOLDER / "events.schema.json").read_text())


def is_valid(body: object) -> bool:
    return jsonschema_rs.Draft202012Validator(schema()).is_valid(body)


def shown(kind: str, body: dict[str, Any], data: bytes | None = None) -> dict[str, Any]:
    (event,) = stored([NewEvent(kind, body, data)])
    return envelope(event, "thread-1")


def test_what_is_checked_in_is_what_the_code_says() -> None:
    for place, text in texts().items():
        assert place.read_text(encoding="utf-8") == text, "run scripts/generate_event_contract.py"


def test_it_is_a_schema() -> None:
    jsonschema_rs.Draft202012Validator(schema())
    assert jsonschema_rs.meta.is_valid(schema())


def test_every_type_that_is_recorded_has_a_shape_and_no_other() -> None:
    recorded = {
        argument.value
        for path in files(".py", "src")
        for node in nodes(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "NewEvent"
        for argument in node.args[:1]
        if isinstance(argument, ast.Constant)
    }
    named_by_variable = {
        "interaction.responded",
        "interaction.updated",
        "message.completed",
        "tool_call.completed",
        "mcp.opened",
        "mcp.response",
        "mcp.notification",
    }
    assert recorded | named_by_variable == set(SHAPES)
    assert set(SHAPES) | OF_THREADS == EVENT_TYPES


@pytest.mark.parametrize(
    ("kind", "body", "data"),
    [
        ("run.status.changed", {"to": "queued", "tool": "t"}, None),
        ("run.status.changed", {"from": "running", "to": "failed", "failureKind": "tool_error", "error": "e"}, None),
        ("output.chunk", {"stream": "stdout", "offset": 0, "length": 2}, b"\xff\x00"),
        ("tool_result", {}, None),
        ("tool_result", {"result": None, "signal": "SIGKILL", "error": {"kind": "lost", "message": "m"}}, None),
        ("cancel.delivered", {}, None),
        ("state.updated", {"progress": {"done": 0.5, "message": "m"}}, None),
        ("mcp.response", {"number": 3, "response": {"result": {}}}, None),
    ],
)
def test_an_event_fits_and_nothing_else_in_its_place(kind: str, body: dict[str, Any], data: bytes | None) -> None:
    event = shown(kind, body, data)
    assert is_valid(event), event
    assert not is_valid({**event, "more": 1})
    assert not is_valid({**event, "event": {**event["event"], "more": 1}})
    assert not is_valid({**event, "event": {**event["event"], "type": "run.status.unheard"}})
    assert not is_valid({**event, "sequence": 0})
    assert not is_valid({name: value for name, value in event.items() if name != "runId"})
    assert not is_valid({**event, "event": {name: each for name, each in event["event"].items() if name != "eventId"}})


def test_members_are_checked_by_type() -> None:
    assert not is_valid(shown("run.status.changed", {"to": "sleeping"}))
    assert not is_valid(shown("attempt.ended", {"attemptId": "a", "attemptNo": 0, "outcome": "succeeded"}))
    assert not is_valid(shown("output.dropped", {"stream": "stdin", "offset": 0, "bytes": 1}))


def test_the_streams_are_described_with_every_message_and_no_address() -> None:
    document = json.loads((FOLDER / "asyncapi.json").read_text())
    assert document["asyncapi"].startswith("3.")
    assert "servers" not in document
    addresses = {channel["address"] for channel in document["channels"].values()}
    assert addresses == {"/v1/runs/{runId}/events", "/v1/events"}
    messages = document["components"]["messages"]
    assert set(messages) == set(SHAPES)
    for channel in document["channels"].values():
        assert set(channel["messages"]) == set(SHAPES)
    for reference in _references(document):
        place, _, path = reference.partition("#")
        found = document if not place else json.loads((FOLDER / place).read_text())
        for part in path.strip("/").split("/") if path else ():
            found = found[part]
        assert found
    for kind, message in messages.items():
        shape = message["payload"]["allOf"][1]["properties"]["event"]["$ref"].rpartition("/")[2]
        assert schema()["$defs"][shape]["properties"]["type"] == {"const": kind}


def _references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if "$ref" in value else []
        return own + [each for item in value.values() for each in _references(item)]
    return [each for item in value for each in _references(item)] if isinstance(value, list) else []
