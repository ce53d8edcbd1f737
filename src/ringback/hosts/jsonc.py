"""Changes one member of a JSON file that belongs to somebody else, and leaves every other byte where it is.

Settings of editors hold comments and trailing commas, and people care about their layout, so the file is not parsed and written
again: the member is put into its text. The result is read back and must be exactly what was there plus the change; a file that
cannot be changed that safely is refused.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ringback.hosts.errors import HostFileError

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|[{}\[\],:]|[^\s{}\[\],:"/]+', re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Span:
    """Where a value stands; for an object, where each member's value stands, by name."""

    begin: int
    end: int
    members: Mapping[str, "_Span"] | None = None


def read(text: str) -> Any:
    """JSON with comments and trailing commas as a value; an empty text is an empty object.

    Raises:
        HostFileError: it is no such thing.
    """
    bare = "".join(_without_trailing_commas([token for token in _tokens(text) if not token.startswith(("//", "/*"))]))
    if not bare:
        return {}
    try:
        return json.loads(bare)
    except ValueError as error:
        raise HostFileError(f"it is not JSON: {error}") from None


def put(text: str, path: Sequence[str], value: Any) -> str:
    """`text` with `value` as the member that `path` names; objects on the way are made.

    Raises:
        HostFileError: it is no JSON object, or something on the way is not one.
    """
    before = read(text)
    wanted = _merged(before, path, value)
    if before == wanted:
        return text
    changed = _put(text if text.strip() else "{}\n", path, value)
    if read(changed) != wanted:
        raise HostFileError("it could not be changed without touching the rest")
    return changed


def _put(text: str, path: Sequence[str], value: Any) -> str:
    span, depth = _scan(text), 0
    while span.members is not None and depth < len(path) and path[depth] in span.members:
        span = span.members[path[depth]]
        depth += 1
    for name in reversed(path[depth + 1 :]):
        value = {name: value}
    if depth == len(path):
        return text[: span.begin] + _shown(value, depth) + text[span.end :]
    member = f"{json.dumps(path[depth])}: {_shown(value, depth + 1)}"
    begin, pad = span.begin + 1, "  " * (depth + 1)
    if span.members:
        return f"{text[:begin]}\n{pad}{member},{text[begin:]}"
    inside = text[begin : span.end - 1].strip()  # comments, if anything
    kept = f"{pad}{inside}\n" if inside else ""
    return f"{text[:begin]}\n{kept}{pad}{member}\n{'  ' * depth}{text[span.end - 1 :]}"


def _shown(value: Any, depth: int) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False).replace("\n", "\n" + "  " * depth)


def _merged(before: Any, path: Sequence[str], value: Any) -> Any:
    if not isinstance(before, dict):
        raise HostFileError("it holds something else where an object belongs")
    name, *rest = path
    return {**before, name: _merged(before.get(name, {}), rest, value) if rest else value}


def _tokens(text: str) -> list[str]:
    return [found.group() for found in _TOKEN.finditer(text)]


def _without_trailing_commas(tokens: Sequence[str]) -> list[str]:
    return [each for each, following in pairwise([*tokens, ""]) if not (each == "," and following in {"}", "]"})]


def _scan(text: str) -> _Span:
    """The spans of the outermost object."""
    tokens = [found for found in _TOKEN.finditer(text) if not found.group().startswith(("//", "/*"))]
    return _value(tokens, 0)[0]


def _value(tokens: Sequence[re.Match[str]], at: int) -> tuple[_Span, int]:
    """The span of the value that begins at token `at`, and the token behind it."""
    first = tokens[at]
    if first.group() not in ("{", "["):
        return _Span(first.start(), first.end()), at + 1
    closing, members, is_object = "}" if first.group() == "{" else "]", {}, first.group() == "{"
    at += 1
    while tokens[at].group() != closing:
        if tokens[at].group() == ",":
            at += 1
            continue
        name = tokens[at].group()
        span, at = _value(tokens, at + 2 if is_object else at)
        if is_object:
            members[str(json.loads(name))] = span
    return _Span(first.start(), tokens[at].end(), members if is_object else None), at + 1
