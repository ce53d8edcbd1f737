"""From a profile and a caller's arguments to the exact argument vector of a process.

The laws, in the order in which they are applied:

* The program, element 0, is literal. A caller chooses arguments, never the program.
* An element with an absent optional input is dropped; so is a whole group (a list inside the list).
* A list given for an element becomes one element per item; `--ignore={paths}` is repeated per item.
* A value that would stand first in an element may begin neither with "-" nor with "@" (a response file is a file of
  options), so that no caller's value can turn into an option. Behind an end-of-options mark "--" of the template a
  "-" is harmless. An input named in the profile's `allowOptions` is trusted.
* Nothing is interpreted by a shell, unless the profile says `{"shell": text}`; then every value is quoted.

Validation against the input schema is not done here: it belongs to the door that took the arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ringback.domain.command_check import check_template
from ringback.domain.command_template import (
    CommandTemplateError,
    Element,
    groups_of,
    is_end_of_options,
    script_of,
)
from ringback.domain.command_values import (
    COMMAND_BYTES_MAX,
    ELEMENT_BYTES_MAX,
    Rendered,
    expansions,
    present_values,
)
from ringback.domain.shell_template import shell_tokens

__all__ = ["CommandTemplateError", "check_template", "render"]


def render(profile: Mapping[str, Any], arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """The argument vector of one attempt; element 0 is the program.

    Args:
        profile: a tool's profile: `command` (list of elements and groups, or `{"shell": text}`), and optionally
            `defaults` (values of absent inputs) and `allowOptions` (names of inputs that may be options).
        arguments: the run's arguments, already validated against the input schema.

    Raises:
        CommandTemplateError: the only error; `pointer` names the argument, "" the template.
    """
    values = present_values(profile, arguments)
    allowed = frozenset(_names(profile.get("allowOptions")))
    script = script_of(profile)
    if script is None:
        argv = _vector(groups_of(profile), values, allowed)
    else:
        argv = ("/bin/sh", "-c", _shell_text(script, values, allowed))
    _refuse_too_long(argv)
    return argv


def _vector(
    groups: tuple[tuple[Element, ...], ...], values: Mapping[str, Any], allowed: frozenset[str]
) -> tuple[str, ...]:
    argv: list[str] = []
    literals: list[str] = []
    for group in groups:
        if len(group) == 1 and (literal := group[0].literal) is not None:  # most elements are
            argv.append(literal)
            literals.append(literal)
            continue
        rendered = [expansions(part, values) for part in group]
        if not all(rendered):
            continue
        for part, variants in zip(group, rendered, strict=True):
            for variant in variants:
                _refuse_option(part, part.prefix, variant, allowed, behind_mark=is_end_of_options(literals))
                argv.append("".join(fragment.text for fragment in variant))
            literals += [] if part.literal is None else [part.literal]
    return tuple(argv)


def _shell_text(script: str, values: Mapping[str, Any], allowed: frozenset[str]) -> str:
    out: list[str] = []
    for token in shell_tokens(script):
        if isinstance(token, str):
            out.append(token)
            continue
        variants = expansions(token.element, values)
        for variant in variants:
            _refuse_option(token.element, token.prefix, variant, allowed, behind_mark=is_end_of_options(token.before))
        out.append(" ".join(_quoted_variant(variant) for variant in variants))
    return "".join(out)


def _quoted_variant(variant: Rendered) -> str:
    return "".join(fragment.text if fragment.pointer is None else _quoted(fragment.text) for fragment in variant)


def _quoted(text: str) -> str:
    """As `shlex.quote`, but always with quotes: a bare `abc` behind `$HOME` would become part of the variable's name."""
    return "'" + text.replace("'", "'\"'\"'") + "'"


def _refuse_option(
    part: Element, prefix: str, variant: Rendered, allowed: frozenset[str], *, behind_mark: bool
) -> None:
    """Refuse a value that decides what an element begins with, if that beginning has a meaning to programs."""
    if not part.names or prefix.strip("-") or allowed.issuperset(part.names):
        return
    first = next(index for index, fragment in enumerate(variant) if fragment.pointer is not None)
    text = "".join(fragment.text for fragment in variant[first:])
    pointer = variant[first].pointer or ""
    if (prefix or text.startswith("-")) and not behind_mark:
        raise CommandTemplateError(pointer, 'must not begin with "-": here it would be read as an option')
    if text.startswith("@") and not prefix:
        raise CommandTemplateError(pointer, 'must not begin with "@": programs read options from such a file')


def _refuse_too_long(argv: tuple[str, ...]) -> None:
    sizes = [len(text.encode()) for text in argv]
    if max(sizes) > ELEMENT_BYTES_MAX:
        raise CommandTemplateError("", f"one element of the command has more than {ELEMENT_BYTES_MAX} bytes")
    if sum(sizes) > COMMAND_BYTES_MAX:
        raise CommandTemplateError("", f"the whole command has more than {COMMAND_BYTES_MAX} bytes")


def _names(value: object) -> Iterable[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list | tuple) else ()
