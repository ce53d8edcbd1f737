"""The grammar of a command template: elements, the placeholders inside them, and the one error of this subject.

An element is text with `{name}` placeholders; `{{` and `}}` are literal braces. What a placeholder becomes is decided
in `commands`; how a shell script is cut into words is decided in `shell_template`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias

_TOKEN: Final = re.compile(r"\{\{|\}\}|\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)\}|[{}]")
_EXTENSION: Final = re.compile(r"\.(exe|cmd|bat|sh)$", re.IGNORECASE)

# The first "--" of such a program ends its own options and hands the rest to another program, where "-x" is an option
# again: behind `npm test -- {x}` the value `--version` would take effect. Each one asks for one more "--".
# fmt: off
_FORWARDERS: Final = frozenset([
    "bazel", "bun", "bunx", "bundle", "cargo", "composer", "deno", "docker", "dotnet", "env", "gradle", "hatch",
    "just", "kubectl", "mise", "nice", "nohup", "nox", "npm", "npx", "nx", "pdm", "pipenv", "pipx", "pnpm",
    "podman", "poetry", "rye", "setsid", "ssh", "stdbuf", "strace", "sudo", "task", "time", "timeout", "tox",
    "turbo", "uv", "uvx", "xargs", "yarn",
])
# fmt: on


class CommandTemplateError(ValueError):
    """A template or a value for it breaks a rule.

    Attributes:
        pointer: JSON pointer into the arguments (`render`) or into the profile (`check_template`); "" is the whole.
        rule: what holds instead, for people.
    """

    def __init__(self, pointer: str, rule: str) -> None:
        super().__init__(pointer, rule)
        self.pointer, self.rule = pointer, rule

    def __str__(self) -> str:
        return f"{self.pointer}: {self.rule}" if self.pointer else self.rule


@dataclass(frozen=True, slots=True)
class Placeholder:
    """The place of one input."""

    name: str


Piece: TypeAlias = str | Placeholder


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """One element of a command (or one word of a shell script), cut into literal text and placeholders.

    `where` is the JSON pointer of the element in its profile.
    """

    pieces: tuple[Piece, ...]
    where: str

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(piece.name for piece in self.pieces if isinstance(piece, Placeholder))

    @property
    def literal(self) -> str | None:
        """The text of an element without placeholders."""
        return None if self.names else "".join(piece for piece in self.pieces if isinstance(piece, str))

    @property
    def prefix(self) -> str:
        """The literal text before the first placeholder."""
        first = self.pieces[0] if self.pieces else ""
        return first if isinstance(first, str) else ""

    @property
    def is_one_placeholder(self) -> bool:
        return len(self.pieces) == 1 and bool(self.names)


def element(text: object, where: str) -> Element:
    """Parse one element.

    Raises:
        CommandTemplateError: not text, a lone brace, or a character that no command can carry.
    """
    if not isinstance(text, str):
        raise CommandTemplateError(where, "an element of a command is a string")
    return _element(text, where)


@lru_cache(maxsize=4096)
def _element(text: str, where: str) -> Element:
    """Few templates serve many runs, so each is parsed once."""
    refuse_unprintable(text, where)
    pieces: list[Piece] = []
    end = 0
    for token in _TOKEN.finditer(text):
        literal = text[end : token.start()]
        end = token.end()
        if token["name"] is not None:
            pieces += [literal, Placeholder(token["name"])]
        elif len(token[0]) == 2:
            pieces.append(literal + token[0][0])
        else:
            rule = f'a lone "{token[0]}": a placeholder is {{name}}, a literal brace is written twice'
            raise CommandTemplateError(where, rule)
    pieces.append(text[end:])
    return Element(pieces=joined(pieces), where=where)


def joined(pieces: list[Piece]) -> tuple[Piece, ...]:
    """The pieces with neighbouring texts made one, and empty texts gone."""
    out: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, str) and out and isinstance(out[-1], str):
            out[-1] += piece
        elif piece != "":
            out.append(piece)
    return tuple(out)


def refuse_unprintable(text: str, pointer: str) -> None:
    """Refuse what the operating system cannot take in an argument.

    Raises:
        CommandTemplateError: a NUL, or a lone surrogate, which has no UTF-8.
    """
    if "\x00" in text:
        raise CommandTemplateError(pointer, "a NUL character cannot be part of a command")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise CommandTemplateError(pointer, "a lone surrogate is not text") from None


def escaped(name: str) -> str:
    """One reference token of a JSON pointer (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1")


def program_of(text: str) -> str:
    """The bare name of a program: `/usr/bin/npm.cmd` is `npm`."""
    return _EXTENSION.sub("", re.split(r"[/\\]", text)[-1])


def script_of(profile: Mapping[str, Any]) -> str | None:
    """The shell script of a profile, or None if its command is a list."""
    command = profile.get("command")
    if isinstance(command, str) and profile.get("shell") is not True:
        raise CommandTemplateError("/command", "a command is a list of strings; a text needs shell = true")
    if not isinstance(command, str | Mapping):
        return None
    text = command.get("shell") if isinstance(command, Mapping) else command
    if not isinstance(text, str) or not text.strip():
        raise CommandTemplateError("/command", "a shell command is a text that is not empty")
    return text


def groups_of(profile: Mapping[str, Any]) -> tuple[tuple[Element, ...], ...]:
    """The elements of a list command; an element of its own is a group of one.

    Raises:
        CommandTemplateError: not a list, empty, or without a literal program; pointers lead into the profile.
    """
    command = profile.get("command")
    if not isinstance(command, list | tuple) or not command:
        raise CommandTemplateError("/command", "a command is a list of strings that is not empty")
    groups: list[tuple[Element, ...]] = []
    for index, entry in enumerate(command):
        where = f"/command/{index}"
        if isinstance(entry, list | tuple):
            groups.append(tuple(element(text, f"{where}/{inner}") for inner, text in enumerate(entry)))
        else:
            groups.append((element(entry, where),))
    program = groups[0][0].literal if len(groups[0]) == 1 and isinstance(command[0], str) else None
    if not program:
        raise CommandTemplateError("/command/0", "the program is literal text: a caller never chooses it")
    if program.startswith("-"):
        raise CommandTemplateError("/command/0", 'a program does not begin with "-"')
    return tuple(groups)


def is_end_of_options(literals: Iterable[str]) -> bool:
    """Whether what follows these literal elements can no longer be an option of any program among them."""
    marks = sum(1 if text == "--" else -1 if program_of(text) in _FORWARDERS else 0 for text in literals)
    return marks > 0
