"""From the `input` table of a tool to a JSON Schema (2020-12): the short spellings, and what is refused.

`path = "string"` is a required string, `path = "string?"` an optional one, `paths = "string[]"` a list. A table is a JSON
Schema of its own, with two additions: `optional = true`, and `allow_options = true` (in the schema: `x-allow-options`).
An input is required unless it has a default or is optional.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import jsonschema_rs

from ringback.toolfile.tables import Table

TYPES: Final = ("string", "integer", "number", "boolean", "object", "array", "null")
# These words of a flat job request speak to Ringback and never reach a tool.
RESERVED: Final = frozenset(
    [
        "arguments",
        "depends_on",
        "idempotency_key",
        "not_before",
        "priority",
        "tags",
        "thread_id",
        "timeout_seconds",
        "tool",
        "type",
    ]
)
ALLOW_OPTIONS: Final = "x-allow-options"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_SHORT: Final = re.compile(r"(string|integer|number|boolean|object)(\[\])?(\?)?")
# fmt: off
_KEYWORDS: Final = frozenset([
    "$comment", "$defs", "$ref", "additionalProperties", "allOf", "anyOf", "const", "contains", "contentEncoding",
    "contentMediaType", "default", "dependentRequired", "dependentSchemas", "deprecated", "description", "else",
    "enum", "examples", "exclusiveMaximum", "exclusiveMinimum", "format", "if", "items", "maxContains", "maxItems",
    "maxLength", "maxProperties", "maximum", "minContains", "minItems", "minLength", "minProperties", "minimum",
    "multipleOf", "not", "oneOf", "pattern", "patternProperties", "prefixItems", "properties", "propertyNames",
    "readOnly", "required", "then", "title", "type", "unevaluatedItems", "unevaluatedProperties", "uniqueItems",
    "writeOnly",
])
# fmt: on
_OURS: Final = frozenset(["optional", "allow_options"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What the `input` table says.

    Attributes:
        schema: JSON Schema of the arguments, closed to unknown members.
        defaults: values for absent arguments.
        allow_options: names whose values may be options of the command.
    """

    schema: dict[str, Any]
    defaults: dict[str, Any]
    allow_options: list[str]


def read_inputs(table: Table) -> Inputs:
    """Read the table; problems are noted with the input's name as key."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, value in table.data.items():
        rule = _name_rule(name)
        if rule:
            table.note(name, rule)
            continue
        prop, is_optional = _property(name, value, table)
        if prop is not None and _is_sound(name, prop, table):
            properties[name] = prop
            if not is_optional and "default" not in prop:
                required.append(name)
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = required
    return Inputs(
        schema=schema,
        defaults={name: prop["default"] for name, prop in properties.items() if "default" in prop},
        allow_options=[name for name, prop in properties.items() if prop.get(ALLOW_OPTIONS) is True],
    )


def _name_rule(name: str) -> str | None:
    if not _NAME.fullmatch(name):
        return "an input's name is letters, digits and _, at most 64, and begins with no digit"
    if name in RESERVED:
        return "this name is taken: a job request uses it for Ringback itself"
    return None


def _property(name: str, value: object, table: Table) -> tuple[dict[str, Any] | None, bool]:
    """The JSON Schema of one input, and whether it is optional."""
    if isinstance(value, str):
        short = _SHORT.fullmatch(value)
        if short is None:
            table.note(name, 'a type such as "string", "integer?", "string[]", or a table with a JSON Schema')
            return None, False
        kind = {"type": short[1]}
        return ({"type": "array", "items": kind} if short[2] else kind), bool(short[3])
    if not isinstance(value, dict):
        table.note(name, 'a type such as "string", or a table with a JSON Schema')
        return None, False
    return _full_property(table.inner(name))


def _full_property(table: Table) -> tuple[dict[str, Any] | None, bool]:
    found = len(table.findings.problems)
    extensions = [key for key in table.data if key.startswith("x-")]
    table.refuse_unknown([*_KEYWORDS, *_OURS, *extensions])
    is_optional, is_allowed = table.flag("optional"), table.flag("allow_options")
    prop: dict[str, Any] = {key: value for key, value in table.data.items() if key not in _OURS}
    enum = prop.get("enum")
    if "type" not in prop and isinstance(enum, list) and enum and all(isinstance(item, str) for item in enum):
        prop = {"type": "string", **prop}
    if is_allowed:
        prop[ALLOW_OPTIONS] = True
    return (prop if len(table.findings.problems) == found else None), is_optional


def _is_sound(name: str, prop: dict[str, Any], table: Table) -> bool:
    rule = _schema_rule(prop)
    if rule:
        table.note(name, rule)
    return rule is None


def _schema_rule(prop: dict[str, Any]) -> str | None:
    """The first rule of JSON Schema that the property breaks; later checks rely on earlier ones."""
    if not _is_json(prop):
        return "dates, times, inf and nan have no place in JSON: write them as text"
    reference = next(_references(prop), None)
    if reference is not None:
        return f"$ref {reference!r} leads out of this input, which is never followed"
    kinds = prop.get("type", [])
    unknown = [kind for kind in (kinds if isinstance(kinds, list) else [kinds]) if kind not in TYPES]
    if unknown:
        return f"unknown type {unknown[0]!r}; a type is one of {', '.join(TYPES)}"
    try:
        validator = jsonschema_rs.Draft202012Validator(prop)
    except ValueError as error:  # the library's ValidationError and ReferencingError are both ValueErrors
        return f"not a JSON Schema: {str(error).splitlines()[0]}"
    flaw = next(validator.iter_errors(prop["default"]), None) if "default" in prop else None
    return f"the default breaks its own schema: {flaw.message}" if flaw else None


def _references(value: object) -> Iterator[str]:
    """Every `$ref` below the value: a property is checked alone, and nothing is ever fetched."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key in ("$ref", "$dynamicRef", "$id", "$schema") and isinstance(item, str):
                yield item
            yield from _references(item)
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)


def _is_json(value: object) -> bool:
    match value:
        case dict():
            return all(_is_json(item) for item in value.values())
        case list():
            return all(_is_json(item) for item in value)
        case float():
            return value - value == 0
        case _:
            return isinstance(value, str | int)
