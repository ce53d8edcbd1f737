"""Whether definitions may enter the catalogue: their shape, their schema, their command template and their summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jsonschema_rs

from ringback.domain.commands import check_template
from ringback.domain.definitions import definition_flaws, type_of
from ringback.domain.errors import Flaw, InvalidInputError
from ringback.domain.http_profile import http_flaws
from ringback.domain.json_values import escape
from ringback.summaries import parse_spec

DEFINITIONS_MAX = 1_000


def check_definitions(definitions: Sequence[Mapping[str, Any]]) -> None:
    """Refuse them all if one is wrong.

    Raises:
        InvalidInputError: names each flaw by its JSON pointer.
    """
    flaws: list[Flaw] = []
    if len(definitions) > DEFINITIONS_MAX:
        flaws.append(Flaw("/definitions", f"at most {DEFINITIONS_MAX} at a time"))
    seen: set[tuple[str, str]] = set()
    for index, definition in enumerate(definitions):
        at = f"/definitions/{index}"
        found = list(definition_flaws(definition))
        if not found:
            found = [*_schema_flaws(definition), *_template_flaws(definition), *_summary_flaws(definition)]
        flaws.extend(Flaw(at + flaw.pointer, flaw.detail) for flaw in found)
        named = type_of(definition), str(definition.get("name"))
        if named in seen:
            flaws.append(Flaw(f"{at}/name", "named twice"))
        seen.add(named)
    if flaws:
        raise InvalidInputError(*flaws[:100])


def _schema_flaws(definition: Mapping[str, Any]) -> list[Flaw]:
    try:
        validator_of(definition)
    except (jsonschema_rs.ValidationError, ValueError) as error:
        return [Flaw("/inputSchema", f"not a JSON Schema (2020-12): {str(error).splitlines()[0][:300]}")]
    return []


def _template_flaws(definition: Mapping[str, Any]) -> list[Flaw]:
    if definition["runtime"] == "http":
        found = http_flaws(definition.get("profile") or {}, definition.get("inputSchema") or {})
        return [Flaw(f"/profile{flaw.pointer}", flaw.detail) for flaw in found]
    if definition["runtime"] != "command":
        return []
    problems = check_template(definition["profile"], definition.get("inputSchema") or {})
    return [Flaw(f"/profile{problem.pointer}", problem.rule) for problem in problems]


def _summary_flaws(definition: Mapping[str, Any]) -> list[Flaw]:
    try:
        parse_spec(definition.get("summary", "auto"))
    except ValueError as error:
        return [Flaw("/summary", str(error))]
    return []


def validator_of(definition: Mapping[str, Any]) -> jsonschema_rs.Draft202012Validator:
    """What checks arguments against the definition's input schema."""
    return jsonschema_rs.Draft202012Validator(dict(definition.get("inputSchema") or {"type": "object"}))


def flaw_of(error: jsonschema_rs.ValidationError, pointer: str) -> Flaw:
    """What the library found, below `pointer`."""
    where = "".join(f"/{escape(str(part))}" for part in error.instance_path)
    return Flaw(pointer + where, error.message[:300])
