"""From a caller's JSON value to the text of a command: what counts as absent, how each type is spelled, what is too long."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from ringback.domain.command_template import CommandTemplateError, Element, Placeholder, escaped, refuse_unprintable

# Linux refuses a single argument of 128 KiB, and all of them together (with the environment) beyond about 2 MiB.
ELEMENT_BYTES_MAX: Final = 128 * 1024 - 1
COMMAND_BYTES_MAX: Final = 1024 * 1024
_INTEGER_BITS_MAX: Final = 1024


@dataclass(frozen=True, slots=True)
class Fragment:
    """A stretch of a rendered element; `pointer` names the argument that it came from, None is the template itself."""

    text: str
    pointer: str | None = None


Rendered: TypeAlias = tuple[Fragment, ...]


def present_values(profile: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments over the profile's `defaults`, without those that are null: null means "not given"."""
    defaults = profile.get("defaults") or {}
    if not isinstance(defaults, Mapping):
        raise CommandTemplateError("", "the profile's defaults are an object")
    given = {name: value for name, value in arguments.items() if value is not None}
    return {**{name: value for name, value in defaults.items() if value is not None}, **given}


def expansions(element: Element, values: Mapping[str, Any]) -> list[Rendered]:
    """What one element becomes: one rendering, or one for each item of a list, or none if an input is absent."""
    if any(name not in values for name in element.names):
        return []
    lists = [name for name in dict.fromkeys(element.names) if isinstance(values[name], list | tuple)]
    if len(lists) > 1:
        raise CommandTemplateError(f"/{escaped(lists[1])}", "only one list fits into one element of a command")
    if not lists:
        return [_rendered(element, values, {})]
    (name,) = lists
    return [
        _rendered(element, {**values, name: item}, {name: f"/{escaped(name)}/{index}"})
        for index, item in enumerate(values[name])
    ]


def _rendered(element: Element, values: Mapping[str, Any], pointers: Mapping[str, str]) -> Rendered:
    return tuple(_fragments(element, values, pointers))


def _fragments(element: Element, values: Mapping[str, Any], pointers: Mapping[str, str]) -> Iterator[Fragment]:
    for piece in element.pieces:
        if isinstance(piece, Placeholder):
            pointer = pointers.get(piece.name, f"/{escaped(piece.name)}")
            yield Fragment(text_of(values[piece.name], pointer), pointer)
        else:
            yield Fragment(piece)


def text_of(value: object, pointer: str) -> str:
    """The text of one value: strings as they are, numbers and booleans as JSON, objects as compact JSON.

    Raises:
        CommandTemplateError: a nested list, a number or an object without a JSON text, or unprintable text.
    """
    match value:
        case str():
            text = value
        case bool():
            text = "true" if value else "false"
        case int():
            if value.bit_length() > _INTEGER_BITS_MAX:
                raise CommandTemplateError(pointer, "an integer of more than 300 digits")
            text = str(value)
        case float() if value.is_integer():  # JSON does not tell 3.0 from 3, and programs expect the latter
            text = str(int(value))
        case float() | Mapping():
            text = _json(value, pointer)
        case _:
            raise CommandTemplateError(pointer, "a value in a command is a string, a number, a boolean or an object")
    refuse_unprintable(text, pointer)
    if len(text.encode()) > ELEMENT_BYTES_MAX:
        raise CommandTemplateError(pointer, f"at most {ELEMENT_BYTES_MAX} bytes")
    return text


def _json(value: object, pointer: str) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (ValueError, TypeError, RecursionError):
        raise CommandTemplateError(pointer, "the value has no JSON text") from None
