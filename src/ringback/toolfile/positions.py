"""On which line of a TOML text a table or key stands, for messages only.

`tomllib` gives values without places. This index reads headers and the beginnings of lines, which is exact for the
way people write such files; inside multi-line strings it may be misled, and then a message names a wrong line at worst.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

_PART: Final = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_DOTTED: Final = rf"{_PART}(?:\s*\.\s*{_PART})*"
_HEADER: Final = re.compile(rf"\s*\[\[?\s*({_DOTTED})\s*\]\]?\s*(?:#.*)?")
_KEY: Final = re.compile(rf"\s*({_DOTTED})\s*=")


@dataclass(slots=True)
class Positions:
    """The first line of every dotted path that begins a line."""

    lines: dict[tuple[str, ...], int] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> Positions:
        positions = cls()
        table: tuple[str, ...] = ()
        for number, line in enumerate(text.splitlines(), start=1):
            if header := _HEADER.fullmatch(line):
                table = _parts(header[1])
                positions.lines.setdefault(table, number)
            elif key := _KEY.match(line):
                path = (*table, *_parts(key[1]))
                for length in range(len(table) + 1, len(path) + 1):
                    positions.lines.setdefault(path[:length], number)
        return positions

    def line_of(self, table: tuple[str, ...], key: str) -> int | None:
        """The line of the key, else of what holds it most closely (an inline table, a header), else None."""
        path = (*table, key) if key else table
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return None


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in re.findall(_PART, dotted))
