"""Typed reading of one TOML table: every method gives a value or notes a problem and gives the default.

Nothing raises while a file is read, so that all mistakes are told together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ringback.domain.durations import DurationError, parse_duration, seconds
from ringback.toolfile.problems import Findings
from ringback.toolfile.sizes import parse_size

DAY_S: Final = 86_400
YEAR_S: Final = 365 * DAY_S


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the file, its dotted path, and where its problems go."""

    data: Mapping[str, Any]
    path: tuple[str, ...]
    findings: Findings

    def note(self, key: str, rule: str) -> None:
        self.findings.add(self.path, key, rule)

    def refuse_unknown(self, known: Iterable[str]) -> None:
        self.findings.refuse_unknown(self.path, self.data, known)

    def text(self, key: str, default: str = "", *, length_max: int = 200) -> str:
        value = self.data.get(key, default)
        if not isinstance(value, str) or len(value) > length_max or "\x00" in value:
            self.note(key, f"a text of at most {length_max} characters")
            return default
        return value

    def matching(self, key: str, default: str, pattern: re.Pattern[str], rule: str) -> str:
        """A text that the pattern matches as a whole."""
        value = self.data.get(key, default)
        if not isinstance(value, str) or (key in self.data and not pattern.fullmatch(value)):
            self.note(key, rule)
            return default
        return value

    def choice(self, key: str, known: tuple[str, ...]) -> str:
        """One of the known words; the first is the default."""
        value = self.data.get(key, known[0])
        if not isinstance(value, str) or value not in known:
            self.note(key, "one of " + ", ".join(f'"{word}"' for word in known))
            return known[0]
        return value

    def flag(self, key: str) -> bool:
        value = self.data.get(key, False)
        if not isinstance(value, bool):
            self.note(key, "true or false")
            return False
        return value

    def whole(self, key: str, default: int, *, low: int, high: int) -> int:
        value = self.data.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self.note(key, f"a whole number from {low} to {high}")
            return default
        return value

    def number(self, key: str, default: float, *, low: float, high: float) -> float:
        value = self.data.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            self.note(key, f"a number from {low:g} to {high:g}")
            return default
        return float(value)

    def seconds(
        self, key: str, default: float | None = None, *, low: float = 0.001, high: float = YEAR_S
    ) -> float | None:
        """A duration, in seconds."""
        if key not in self.data:
            return default
        try:
            value = seconds(parse_duration(self.data[key]))
        except DurationError as error:
            self.note(key, f"not a duration: {error.rule}")
            return default
        if not low <= value <= high:
            self.note(key, f"a duration from {low:g} to {high:g} seconds")
            return default
        return value

    def size(self, key: str) -> int | None:
        """A size, in bytes."""
        if key not in self.data:
            return None
        try:
            return parse_size(self.data[key])
        except ValueError as error:
            self.note(key, str(error))
            return None

    def words(self, key: str, pattern: re.Pattern[str], rule: str) -> list[str]:
        """A list of different texts that all match the pattern."""
        value = self.data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) and pattern.fullmatch(item) for item in value):
            self.note(key, rule)
            return []
        return list(dict.fromkeys(value))

    def inner(self, key: str, rule: str = "a table") -> Table:
        """The table below this one; an empty one if absent or wrong."""
        value = self.data.get(key, {})
        if not isinstance(value, dict):
            self.note(key, rule)
            value = {}
        return Table(value, (*self.path, key), self.findings)
