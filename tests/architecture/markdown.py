"""As much of Markdown as the rules about documents need: headings, fenced code, links and tables, with their lines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tests.architecture.checkout import text

SHELLS = frozenset({"sh", "bash", "shell", "console"})
_FENCE = re.compile(r"^ {0,3}```(\w*)[^\n]*\n(.*?)^ {0,3}```[ ]*$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^(#{1,6}) +(.+?) *#*$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_SPAN = re.compile(r"`([^`\n]+)`")
_ROW = re.compile(r"^\|.*\|$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block of code; `line` is where its code begins."""

    language: str
    code: str
    line: int


@dataclass(frozen=True, slots=True)
class Document:
    """A Markdown file taken apart; what is not a fence lies outside of code."""

    headings: tuple[tuple[int, str], ...]
    fences: tuple[Fence, ...]
    links: tuple[str, ...]
    rows: tuple[str, ...]
    spans: tuple[str, ...]

    def commands(self, program: str) -> tuple[str, ...]:
        """Every line of shell code, and every code span, that calls `program`, without a prompt before it."""
        lines = [line for fence in self.fences if fence.language in SHELLS for line in fence.code.splitlines()]
        called = (line.strip().removeprefix("$ ") for line in (*lines, *self.spans))
        return tuple(line for line in called if line.split()[:1] == [program] and " " in line)


def read(path: Path) -> Document:
    content = text(path)
    found = _FENCE.finditer(content)
    fences = tuple(Fence(each[1], each[2], content.count("\n", 0, each.start(2)) + 1) for each in found)
    prose = _FENCE.sub("", content)
    headings = tuple((len(each[1]), each[2]) for each in _HEADING.finditer(prose))
    return Document(
        headings, fences, tuple(_LINK.findall(prose)), tuple(_ROW.findall(prose)), tuple(_SPAN.findall(prose))
    )
