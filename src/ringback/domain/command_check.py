"""What is wrong with a command template, said when the tool is defined and not when the first run fails.

Everything here follows from the template and the input schema alone; values of a caller are judged in `commands`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from ringback.domain.command_template import (
    CommandTemplateError,
    Element,
    groups_of,
    is_end_of_options,
    program_of,
    script_of,
)
from ringback.domain.shell_template import NAME, WHERE, Word, shell_tokens

_OPTION_NAME: Final = re.compile(r"--?[^-=:,][^=:,]*")
_SHELLS: Final = frozenset(["ash", "bash", "csh", "dash", "fish", "ksh", "sh", "tcsh", "zsh"])
_CODE_FLAGS: Final = {
    "python": ("-c",),
    "node": ("-e", "-p", "--eval", "--print"),
    "perl": ("-e", "-E"),
    "ruby": ("-e",),
    "php": ("-r",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spot:
    """One element in its place. `before` is the literal text that surely stands before it."""

    element: Element
    prefix: str
    before: tuple[str, ...]

    @property
    def is_led_by_value(self) -> bool:
        return bool(self.element.names) and not self.prefix.strip("-")


def check_template(profile: Mapping[str, Any], input_schema: Mapping[str, Any]) -> tuple[CommandTemplateError, ...]:
    """Every rule that the template breaks, in its own order; empty if it is sound.

    Pointers lead into the profile (`/command/2`), or into the input schema (`/properties/path`).
    """
    properties = input_schema.get("properties")
    inputs = properties if isinstance(properties, Mapping) else {}
    allowed = profile.get("allowOptions")
    trusted = frozenset(name for name in inputs if isinstance(allowed, list | tuple) and name in allowed)
    try:
        spots = tuple(_spots(profile))
        problems = [*_group_problems(profile)]
    except CommandTemplateError as error:
        return (error,)
    for spot in spots:
        problems += _name_problems(spot, inputs)
        problems += _option_problems(spot, inputs, trusted)
        problems += _code_problems(spot)
    return (*problems, *_placement_problems(profile, spots, inputs))


def _spots(profile: Mapping[str, Any]) -> Iterator[_Spot]:
    script = script_of(profile)
    if script is not None:
        words = (token for token in shell_tokens(script) if isinstance(token, Word))
        yield from (_Spot(element=word.element, prefix=word.prefix, before=word.before) for word in words)
        return
    sure: list[str] = []
    for group in groups_of(profile):
        inside = list(sure)
        for part in group:
            yield _Spot(element=part, prefix=part.prefix, before=tuple(inside))
            inside += [] if part.literal is None else [part.literal]
        if not any(part.names for part in group):  # a group with placeholders may be absent, and its "--" with it
            sure = inside


def _group_problems(profile: Mapping[str, Any]) -> Iterator[CommandTemplateError]:
    command = profile.get("command")
    if not isinstance(command, list | tuple):
        return
    for index, (entry, group) in enumerate(zip(command, groups_of(profile), strict=True)):
        if isinstance(entry, list | tuple) and not any(part.names for part in group):
            rule = "a group without a placeholder is never dropped: write its elements into the list itself"
            yield CommandTemplateError(f"/command/{index}", rule)


def _name_problems(spot: _Spot, inputs: Mapping[str, Any]) -> Iterator[CommandTemplateError]:
    where = spot.element.where
    for name in spot.element.names:
        if name not in inputs:
            near = difflib.get_close_matches(name, list(inputs), n=1)
            hint = f"; nearest input: {near[0]}" if near else ""
            yield CommandTemplateError(where, f"no input is named {name!r}{hint}")
    lists = [name for name in dict.fromkeys(spot.element.names) if _type(inputs.get(name)) == "array"]
    if len(lists) > 1:
        yield CommandTemplateError(where, f"only one list fits into one element, not {' and '.join(lists)}")
    for name in lists:
        if _type(inputs[name].get("items")) == "array":
            yield CommandTemplateError(where, f"{name!r} is a list of lists, which has no place in a command")


def _option_problems(spot: _Spot, inputs: Mapping[str, Any], trusted: frozenset[str]) -> Iterator[CommandTemplateError]:
    names = spot.element.names
    if not names or trusted.issuperset(names):
        return
    shown, where = f"{{{names[0]}}}", spot.element.where
    is_guarded = is_end_of_options(spot.before)
    schema = inputs.get(names[0])
    if spot.is_led_by_value and spot.prefix and not is_guarded:
        rule = f"{spot.prefix}{shown} lets the caller choose an option; allow it with allow_options, or name the option"
        yield CommandTemplateError(where, rule)
    elif _OPTION_NAME.fullmatch(spot.prefix) and _is_free_text(schema) and not is_guarded:
        rule = f"{shown} could lengthen the option {spot.prefix}: write {spot.prefix}={shown}, or two elements"
        yield CommandTemplateError(where, rule)
    elif spot.is_led_by_value:
        marks = ("@",) if is_guarded else ("-", "@")
        for value in _known_values(schema):
            if isinstance(value, str) and value.startswith(marks):
                rule = f"the value {value!r} of {names[0]!r} would always be refused here; trust it with allow_options"
                yield CommandTemplateError(where, rule)


def _code_problems(spot: _Spot) -> Iterator[CommandTemplateError]:
    if not spot.element.names or spot.element.is_one_placeholder:  # a whole script as an input is plainly meant
        return
    program, flag = next(iter([*pairwise(spot.before)][-1:]), ("", ""))
    name = program_of(program).rstrip("0123456789.")
    is_shell = name in _SHELLS and re.fullmatch(r"-[a-z]*c", flag) is not None
    if is_shell or flag in _CODE_FLAGS.get(name, ()):
        rule = f"values inside code for {name} {flag} are not quoted: use shell = true, or pass them as arguments"
        yield CommandTemplateError(spot.element.where, rule)


def _placement_problems(
    profile: Mapping[str, Any], spots: tuple[_Spot, ...], inputs: Mapping[str, Any]
) -> Iterator[CommandTemplateError]:
    placed = [name for spot in spots for name in spot.element.names]
    script = script_of(profile)
    written = NAME.findall(script) if script is not None else placed
    for name in inputs:
        if written.count(name) > placed.count(name):
            rule = (
                f"{{{name}}} stands where it is not replaced (quotes, comment, substitution): write it as a bare word"
            )
            yield CommandTemplateError(WHERE, rule)
        elif name not in placed:
            yield CommandTemplateError(
                f"/properties/{name}", f"the command has no {{{name}}}: the input would be ignored"
            )


def _type(schema: object) -> object:
    return schema.get("type") if isinstance(schema, Mapping) else None


def _is_free_text(schema: object) -> bool:
    if not isinstance(schema, Mapping):
        return True
    items = schema.get("items")
    if schema.get("type") == "array":
        return _is_free_text(items)
    return "enum" not in schema and "const" not in schema and schema.get("type") not in ("integer", "number", "boolean")


def _known_values(schema: object) -> Iterator[object]:
    if not isinstance(schema, Mapping):
        return
    for value in (schema.get("default"), schema.get("const")):
        yield from value if isinstance(value, list | tuple) else (value,)
    enum = schema.get("enum")
    yield from enum if isinstance(enum, list | tuple) else ()
    yield from _known_values(schema.get("items"))
