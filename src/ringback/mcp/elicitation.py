"""Questions of a run as MCP elicitations, and their answers back: forms of plain fields, which is all that clients render."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_PLAIN = frozenset(("string", "number", "integer", "boolean"))
ANSWER = "answer"


def request_of(interaction: Mapping[str, Any]) -> dict[str, Any]:
    """An `elicitation/create` for an open interaction of the API."""
    prompt = interaction.get("prompt") or {}
    message = "\n\n".join(str(prompt[part]) for part in ("title", "description") if prompt.get(part))
    params = {"mode": "form", "message": message, "requestedSchema": _form(interaction)}
    return {"method": "elicitation/create", "params": params}


def _form(interaction: Mapping[str, Any]) -> dict[str, Any]:
    if options := interaction.get("options"):
        choice = {
            "type": "string",
            "title": "Choice",
            "oneOf": [{"const": each["id"], "title": str(each.get("label") or each["id"])} for each in options],
        }
        return {"type": "object", "properties": {ANSWER: choice}, "required": [ANSWER]}
    if interaction.get("kind") in ("approval", "confirmation"):
        return {"type": "object", "properties": {}}  # to accept is to approve, to decline is to reject
    schema = interaction.get("responseSchema") or {}
    if _is_form(schema):
        return {"type": "object", **{key: schema[key] for key in ("properties", "required") if key in schema}}
    field = schema if schema.get("type") in _PLAIN else {"type": "string"}
    return {"type": "object", "properties": {ANSWER: {"title": "Answer", **field}}, "required": [ANSWER]}


def _is_form(schema: Mapping[str, Any]) -> bool:
    properties = schema.get("properties")
    return (
        schema.get("type") == "object"
        and isinstance(properties, Mapping)
        and bool(properties)
        and all(isinstance(each, Mapping) and _is_field(each) for each in properties.values())
    )


def _is_field(schema: Mapping[str, Any]) -> bool:
    """What a form may have: plain values, and lists of given choices."""
    items = schema.get("items")
    is_choice = schema.get("type") == "array" and isinstance(items, Mapping) and bool({"enum", "anyOf"} & items.keys())
    return is_choice or schema.get("type") in _PLAIN


def response_of(interaction: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any] | None:
    """The body of a response to the API; None when the user only looked away (`cancel`), which leaves the question open."""
    action = answer.get("action")
    if action == "decline":
        return {"decision": "reject"}
    if action != "accept":
        return None
    content = answer.get("content")
    given = dict(content) if isinstance(content, Mapping) else {}
    if interaction.get("options"):
        return {"selectedOptionId": given.get(ANSWER)}
    if interaction.get("kind") in ("approval", "confirmation"):
        return {"decision": "approve", **({"payload": given} if given else {})}
    is_form = _is_form(interaction.get("responseSchema") or {})
    return {"payload": given if is_form else given.get(ANSWER)}
