"""A question as a form of plain fields, and what was filled in as an answer: for people without a program of their own.

Fields are made of a flat schema: an object whose members are texts, numbers, yes or no, or a choice; or one such value. Every
other schema becomes one field that takes JSON. What doesn't read as the field wants it is passed on as text, and the schema says
what is wrong with it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ringback.domain.errors import Flaw, InvalidInputError
from ringback.domain.json_values import escape
from ringback.services.questions import DECIDED, Answer, Interaction

ACTION, OPTION, MEMBER = "action", "option", "member."
WHOLE = ""


class FieldKind(StrEnum):
    """How a field is filled in."""

    TEXT = "text"
    HIDDEN = "hidden"
    NUMBER = "number"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    CHOICE = "choice"
    JSON = "json"


_PLAIN = frozenset(("string", "number", "integer", "boolean"))


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """One field.

    Attributes:
        name: the member of the answer that it fills; empty: it is the whole answer.
        choices: JSON text and label of each value that can be chosen.
        schema: what the member must be.
    """

    name: str
    kind: FieldKind
    title: str
    description: str
    is_required: bool
    choices: tuple[tuple[str, str], ...]
    schema: Mapping[str, Any]

    @property
    def input_name(self) -> str:
        """What it is called in the form."""
        return MEMBER + self.name

    @property
    def pointer(self) -> str:
        """Where a flaw of it is."""
        return f"/payload/{escape(self.name)}" if self.name else "/payload"


def fields_of(asked: Interaction) -> tuple[FormField, ...]:
    """The fields of a question beside its decision and its options."""
    schema = asked.question.get("responseSchema")
    if schema is None:
        if asked.kind in DECIDED or asked.question.get("options"):
            return ()
        return (_field(WHOLE, {"type": "string"}, asked.kind, is_required=True),)
    if not isinstance(schema, Mapping):
        return (_field(WHOLE, {}, asked.kind, is_required=True),)
    is_needed = asked.kind not in DECIDED and not asked.question.get("options")
    if not _is_flat(schema):
        return (_field(WHOLE, schema, asked.kind, is_required=is_needed),)
    required = set(schema.get("required") or ())
    return tuple(
        _field(name, member, asked.kind, is_required=name in required and is_needed)
        for name, member in schema["properties"].items()
    )


def _is_flat(schema: Mapping[str, Any]) -> bool:
    members = schema.get("properties")
    return (
        schema.get("type") == "object"
        and isinstance(members, Mapping)
        and bool(members)
        and all(isinstance(each, Mapping) and _kind(each, "") is not FieldKind.JSON for each in members.values())
    )


def _kind(schema: Mapping[str, Any], asked_for: str) -> FieldKind:
    if _choices(schema):
        return FieldKind.CHOICE
    match schema.get("type"):
        case "string":
            is_secret = asked_for == "auth" or schema.get("format") == "password"
            return FieldKind.HIDDEN if is_secret else FieldKind.TEXT
        case "number" | "integer" | "boolean" as plain:
            return FieldKind(plain)
        case _:
            return FieldKind.JSON


def _choices(schema: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    values = schema.get("enum")
    if isinstance(values, list) and values and not any(isinstance(each, dict | list) for each in values):
        return tuple((json.dumps(each), each if isinstance(each, str) else json.dumps(each)) for each in values)
    named = schema.get("oneOf")
    if isinstance(named, list) and named and all(isinstance(each, Mapping) and "const" in each for each in named):
        return tuple((json.dumps(each["const"]), str(each.get("title") or each["const"])) for each in named)
    return ()


def _field(name: str, schema: Mapping[str, Any], asked_for: str, *, is_required: bool) -> FormField:
    title, description = schema.get("title"), schema.get("description")
    return FormField(
        name=name,
        kind=_kind(schema, asked_for),
        title=title if isinstance(title, str) and title else name or "Answer",
        description=description if isinstance(description, str) else "",
        is_required=is_required,
        choices=_choices(schema),
        schema=schema,
    )


def answer_of(asked: Interaction, form: Mapping[str, str]) -> Answer:
    """What was filled in.

    Raises:
        InvalidInputError: no button of the form was pressed, or the JSON is none.
    """
    action, fields = form.get(ACTION), fields_of(asked)
    if action == "reject":
        return Answer(decision="reject")
    if action not in ("approve", "answer"):
        raise InvalidInputError(Flaw("/decision", "press one of the buttons"))
    filled = {each.name: value for each in fields if (value := _value(each, form)) is not _NOTHING}
    is_needed = asked.kind not in DECIDED and not asked.question.get("options")
    has_payload = bool(fields) and (is_needed or any(form.get(each.input_name, "").strip() for each in fields))
    payload = filled.get(WHOLE) if fields and fields[0].name == WHOLE else filled
    return Answer(
        decision="approve" if action == "approve" else None,
        selected_option_id=form.get(OPTION) if asked.question.get("options") else None,
        payload=payload if has_payload else None,
        has_payload=has_payload and not (fields[0].name == WHOLE and WHOLE not in filled),
    )


_NOTHING: Any = object()


def _value(field: FormField, form: Mapping[str, str]) -> Any:
    text = form.get(field.input_name, "")
    match field.kind:
        case FieldKind.BOOLEAN:
            return text != ""
        case FieldKind.TEXT | FieldKind.HIDDEN:
            return text.replace("\r\n", "\n") if text else _NOTHING
        case _ if not text.strip():
            return _NOTHING
        case FieldKind.NUMBER | FieldKind.INTEGER:
            return _number(text.strip())
        case _:
            return _json(field, text)


def _number(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if is_number else text


def _json(field: FormField, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        if field.schema.get("type") in (None, "string"):
            return text
        raise InvalidInputError(Flaw(field.pointer, "is not JSON")) from None
