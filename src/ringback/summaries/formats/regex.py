"""A user's own pattern: numbers in named groups are counts, `text` is told, `file` collects what failed.

The last match decides; a group that it left out is taken from the match before, so a pattern with alternatives can
gather its numbers from several lines. Files are collected from all of them.
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ringback.summaries.patterns import LinePattern
from ringback.summaries.tally import Tally, number

_FILE = "file"
_TEXT = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A tally, and the words to tell it with; "" leaves them to the counts."""

    tally: Tally
    lead: str


def parse(lines: Sequence[str], pattern: LinePattern, template: str = "") -> Found | None:
    groups: dict[str, str] = {}
    files: list[str] = []
    whole: str | None = None
    for match in pattern.matches(lines):
        whole = match[0] if whole is None else whole
        for name, value in match.groupdict().items():
            if value is not None and name == _FILE:
                files.insert(0, value)
            elif value is not None:
                groups.setdefault(name, value)
    if whole is None:
        return None
    counts = {name.replace("_", " "): amount for name, text in groups.items() if (amount := number(text)) is not None}
    lead = _rendered(template, groups) if template else groups.get(_TEXT, "" if counts or files else whole)
    return Found(tally=Tally(counts=counts, failed=files), lead=_with_rest(lead, groups, template))


def _rendered(template: str, groups: Mapping[str, str]) -> str:
    return "".join(
        literal + (groups.get(name, "") if name else "") for literal, name, _, _ in string.Formatter().parse(template)
    )


def _with_rest(lead: str, groups: Mapping[str, str], template: str) -> str:
    """Numbers that stand beside a `text` group are told too."""
    if template or _TEXT not in groups:
        return lead
    numbers = [f"{value} {name.replace('_', ' ')}" for name, value in groups.items() if number(value) is not None]
    return ", ".join([*numbers, lead])
