"""The grammar of HTTP templates, and how values are put into their places: none can leave the place that it was given.

    {name}          an input; `{callback_url}` and `{idempotency_key}` are given by the runtime
    {secret:NAME}   a secret of the worker; in headers only
    {/pointer}      a member of the other side's answer, by JSON pointer (RFC 6901); in links only, `{+/pointer}` keeps its "/"
    {@url} {@origin} {@status}   where the job was started, and its status; at the beginning of links only
    {{ }}           literal braces

In a link a value is percent-encoded and never makes a segment "." or ".."; in a header it holds no control character; in a JSON
body it stays the JSON value that it is. Who wrote the template is trusted, who gives the values is not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

Kind: TypeAlias = Literal["input", "secret", "answer", "path", "place"]

_TOKEN: Final = re.compile(
    r"\{\{|\}\}"
    r"|\{(?P<input>[A-Za-z_][A-Za-z0-9_]*)\}"
    r"|\{secret:(?P<secret>[A-Za-z_][A-Za-z0-9_]*)\}"
    r"|\{(?P<answer>/[^{}]*)\}"
    r"|\{\+(?P<path>/[^{}]*)\}"
    r"|\{@(?P<place>[a-z]+)\}"
    r"|[{}]"
)
_UNRESERVED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_HEADER_VALUE: Final = re.compile(r"[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?|")
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,8}")
# Behind the host nothing but a path, a query or the end: a user ("https://ours@theirs/") would make the host another one.
_ORIGIN: Final = re.compile(r"(https?)://([^/?#@\\\s]+)(?=[/?#]|\Z)", re.IGNORECASE)
_PORTS: Final = {"http": "80", "https": "443"}
MISSING: Final = object()
"""What a pointer finds where there is nothing; null is something."""


class HttpTemplateError(ValueError):
    """A template or a value for it breaks a rule.

    Attributes:
        pointer: JSON pointer into the arguments (a value) or into the profile (a template).
        rule: what holds instead, for people.
    """

    def __init__(self, pointer: str, rule: str) -> None:
        super().__init__(pointer, rule)
        self.pointer, self.rule = pointer, rule

    def __str__(self) -> str:
        return f"{self.pointer}: {self.rule}" if self.pointer else self.rule


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value goes."""

    kind: Kind
    name: str


Piece: TypeAlias = str | Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """What there is to be put into places.

    Attributes:
        inputs: arguments with their defaults; what is absent or null is absent.
        answer: JSON of the other side.
        places: `url`, `origin`, `status`.
    """

    inputs: Mapping[str, Any]
    secrets: Mapping[str, str] = field(default_factory=dict)
    answer: Any = MISSING
    places: Mapping[str, str] = field(default_factory=dict)

    def of(self, place: Place) -> Any:
        """The value, or MISSING; null is MISSING, too."""
        match place.kind:
            case "input":
                value = self.inputs.get(place.name)
            case "secret":
                value = self.secrets.get(place.name)
            case "place":
                value = self.places.get(place.name)
            case "answer" | "path":
                value = at(place.name, self.answer)
        return MISSING if value is None else value


@lru_cache(maxsize=4096)
def pieces_of(text: str) -> tuple[Piece, ...]:
    """`text` cut into literals and places.

    Raises:
        HttpTemplateError: a lone brace.
    """
    pieces: list[Piece] = []
    end = 0
    for token in _TOKEN.finditer(text):
        pieces.append(text[end : token.start()])
        end = token.end()
        kind: Any = token.lastgroup
        if kind is not None:
            pieces.append(Place(kind, token[kind]))
        elif len(token[0]) == 2:
            pieces.append(token[0][0])
        else:
            raise HttpTemplateError(
                "", f'a lone "{token[0]}": a placeholder is {{name}}, a literal brace is written twice'
            )
    pieces.append(text[end:])
    return tuple(piece for piece in pieces if piece != "")


def places_in(value: Any) -> Iterator[Place]:
    """Every place in a template, which may be a text or JSON with texts in it."""
    if isinstance(value, str):
        yield from (piece for piece in pieces_of(value) if isinstance(piece, Place))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from places_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from places_in(item)


def at(pointer: str, document: Any) -> Any:
    """What a JSON pointer (RFC 6901) finds in `document`, or MISSING."""
    found = document
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping) and name in found:
            found = found[name]
        elif isinstance(found, list) and _INDEX.fullmatch(name) and int(name) < len(found):
            found = found[int(name)]
        else:
            return MISSING
    return found


def origin_of(url: str) -> str | None:
    """Scheme, host and port of an absolute http(s) URL in one spelling; None for everything else."""
    found = _ORIGIN.match(url)
    if found is None:
        return None
    scheme, authority = found[1].lower(), found[2].lower()
    host, port = authority, ""
    if (cut := re.search(r":([0-9]*)\Z", authority)) is not None:
        host, port = authority[: cut.start()], cut[1]
    if not host or host.endswith(":"):
        return None
    return f"{scheme}://{host}:{(port or _PORTS[scheme]).lstrip('0') or '0'}"


def fill_link(template: str, values: Values) -> str:
    """A URL or a relative reference; a value is one segment, or part of one, or part of the query.

    Raises:
        HttpTemplateError: a value is absent, no scalar, or makes a segment that means a way up.
    """
    out: list[str] = []
    pieces = pieces_of(template)
    for piece in pieces:
        if isinstance(piece, str):
            out.append(piece)
            continue
        value = values.of(piece)
        pointer = _pointer(piece)
        if value is MISSING:
            raise HttpTemplateError(pointer, "is needed for the address")
        text = scalar(value, pointer)
        if piece.kind == "place":
            out.append(text)
        elif piece.kind == "path":
            out.append("/".join(_segment(part, pointer) for part in text.split("/")))
        else:
            out.append(quoted(text))
    link = "".join(out)
    _refuse_ways_up(link, pieces)
    return link


def _segment(text: str, pointer: str) -> str:
    if text in ("", ".", ".."):
        raise HttpTemplateError(pointer, "would lead out of its place in the address")
    return quoted(text)


def _refuse_ways_up(link: str, pieces: Sequence[Piece]) -> None:
    """Refuse "." and ".." and empty segments if a value had a part in them (an encoded dot is still a dot)."""
    first = next((piece for piece in pieces if isinstance(piece, Place) and piece.kind in ("input", "answer")), None)
    if first is None:
        return
    path = re.split(r"[?#]", link, maxsplit=1)[0]
    path = _ORIGIN.sub("", path, count=1)
    if any(segment in (".", "..") for segment in path.split("/")) or "//" in path or path.endswith("//"):
        raise HttpTemplateError(_pointer(first), "would lead out of its place in the address")


def fill_pairs(table: Mapping[str, Any], values: Values) -> list[tuple[str, str]]:
    """Names and texts of a query or a form, not encoded yet: absent values are left out, a list is repeated.

    Raises:
        HttpTemplateError: a value is no scalar and no list of scalars.
    """
    pairs: list[tuple[str, str]] = []
    for name, template in table.items():
        value = fill_json(template, values)
        if value is MISSING or value is None:
            continue
        whose = next((_pointer(place) for place in places_in(template)), f"/{name}")
        items = value if isinstance(value, list) else [value]
        pairs += [(name, scalar(item, whose)) for item in items]
    return pairs


def encoded_pairs(pairs: Sequence[tuple[str, str]]) -> str:
    """The pairs as they stand in a query or a form."""
    return "&".join(f"{quoted(name)}={quoted(text)}" for name, text in pairs)


def fill_headers(table: Mapping[str, Any], values: Values) -> dict[str, str]:
    """Headers; one whose input is absent is left out.

    Raises:
        HttpTemplateError: a value can't stand in a header.
    """
    headers: dict[str, str] = {}
    for name, template in table.items():
        value = _fill_text(template, values)
        if value is MISSING:
            continue
        if not _HEADER_VALUE.fullmatch(value):
            whose = next((place for place in places_in(template) if place.kind == "input"), None)
            pointer = f"/http/headers/{name}" if whose is None else _pointer(whose)
            raise HttpTemplateError(pointer, "holds characters that can't stand in a header")
        headers[name] = value
    return headers


def fill_json(template: Any, values: Values) -> Any:
    """JSON with its places filled: a text that is one placeholder becomes the value itself. MISSING if that is absent.

    Raises:
        HttpTemplateError: a value in the middle of a text is no scalar.
    """
    if isinstance(template, str):
        pieces = pieces_of(template)
        if len(pieces) == 1 and isinstance(pieces[0], Place):
            return values.of(pieces[0])
        return _fill_text(template, values)
    if isinstance(template, Mapping):
        members = {name: fill_json(item, values) for name, item in template.items()}
        return {name: value for name, value in members.items() if value is not MISSING}
    if isinstance(template, list | tuple):
        return [value for item in template if (value := fill_json(item, values)) is not MISSING]
    return template


def _fill_text(template: str, values: Values, encode: Callable[[str], str] = str) -> Any:
    out: list[str] = []
    for piece in pieces_of(template):
        if isinstance(piece, str):
            out.append(piece)
            continue
        value = values.of(piece)
        if value is MISSING:
            return MISSING
        out.append(encode(scalar(value, _pointer(piece))))
    return "".join(out)


def scalar(value: Any, pointer: str) -> str:
    """A scalar as text: numbers and booleans as JSON writes them.

    Raises:
        HttpTemplateError: a list or an object.
    """
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, Mapping | list | tuple):
        raise HttpTemplateError(pointer, "has its place inside a text, so it must be a text, a number or a boolean")
    return json.dumps(value)


def quoted(text: str) -> str:
    """`text` percent-encoded (RFC 3986): nothing of it has a meaning in a URL."""
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in text.encode(errors="replace"))


def _pointer(place: Place) -> str:
    return f"/{place.name}" if place.kind == "input" else f"{{{place.name}}}"
