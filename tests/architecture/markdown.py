"""As much of Markdown as the rules about documents need: headings, fenced code, links and tables, with their lines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tests.architecture.checkout import text

_FENCE = re.compile(r"^ {0,3}```(\w*)[^\n]*\n(.*?)^ {0,3}```[ ]*$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^(#{1,6}) +(.+?) *#*$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_ROW = re.compile(r"^\|.*\|$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block of code; `line` is where its code begins."""

    language: str
    code: str
    line: int


@dataclass(frozen=True, slots=True)
class Document:
    """A Markdown file taken apart; headings, links and rows are those outside of code."""

    headings: tuple[tuple[int, str], ...]
    fences: tuple[Fence, ...]
    links: tuple[str, ...]
    rows: tuple[str, ...]


def read(path: Path) -> Document:
    content = text(path)
    found = _FENCE.finditer(content)
    fences = tuple(Fence(each[1], each[2], content.count("\n", 0, each.start(2)) + 1) for each in found)
    prose = _FENCE.sub("", content)
    headings = tuple((len(each[1]), each[2]) for each in _HEADING.finditer(prose))
    return Document(headings, fences, tuple(_LINK.findall(prose)), tuple(_ROW.findall(prose)))
