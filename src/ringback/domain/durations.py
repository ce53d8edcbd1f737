"""Lengths of time as people write them: "90s", "5m", "1h30m", or a plain number of seconds.

Inside the system a duration is a whole number of microseconds. This module is the one place where text becomes
such a number, so that the file of tools, the settings and the command line accept the same spellings. Days are
always 24 hours: a calendar is deliberately absent.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

MICROSECONDS: Final = {
    "d": 86_400_000_000,
    "h": 3_600_000_000,
    "m": 60_000_000,
    "s": 1_000_000,
    "ms": 1_000,
    "us": 1,
}
LONGEST_US: Final = 3_660 * MICROSECONDS["d"]

_NUMBER: Final = r"[0-9]{1,15}(?:\.[0-9]{1,9})?"
_PLAIN: Final = re.compile(_NUMBER)
_UNITS: Final = re.compile("".join(rf"(?:(?P<{unit}>{_NUMBER}){unit})?" for unit in MICROSECONDS))
_SPELLING: Final = (
    'a number of seconds, or text such as "90s", "5m", "1h30m", "250ms" (units d h m s ms us, largest first)'
)


class DurationError(ValueError):
    """The text or number is not a duration; `rule` says what would be."""

    def __init__(self, value: object, rule: str) -> None:
        super().__init__(value, rule)
        self.value, self.rule = value, rule

    def __str__(self) -> str:
        is_short = isinstance(self.value, str | float)  # others may be huge, and a huge int has no text at all
        shown = f"{self.value!r:.60}" if is_short else f"this {type(self.value).__name__}"
        return f"{shown} is not a duration: {self.rule}"


def parse_duration(value: object) -> int:
    """The duration in microseconds.

    Args:
        value: seconds (int or float), or text; text without a unit means seconds too.

    Raises:
        DurationError: not a duration, negative, longer than ten years, or finer than a microsecond.
    """
    if isinstance(value, str):
        exact = _from_text(value)
    elif isinstance(value, bool) or not isinstance(value, int | float):
        raise DurationError(value, f"write {_SPELLING}")
    else:
        exact = _from_number(value)
    if exact < 0:
        raise DurationError(value, "a duration is never negative")
    if exact > LONGEST_US:
        raise DurationError(value, "at most 3660 days")
    whole = int(exact)
    if whole != exact:
        raise DurationError(value, "nothing finer than a microsecond")
    return whole


def format_duration(duration_us: int) -> str:
    """The shortest spelling that `parse_duration` reads back as the same number, e.g. "1h30m"."""
    if duration_us < 0:
        raise DurationError(duration_us, "a duration is never negative")
    parts: list[str] = []
    rest = duration_us
    for unit, size in MICROSECONDS.items():
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def seconds(duration_us: int) -> int | float:
    """The duration in seconds, as a whole number when it is one."""
    whole, rest = divmod(duration_us, MICROSECONDS["s"])
    return duration_us / MICROSECONDS["s"] if rest else whole


def _from_number(value: int | float) -> Decimal:
    # The text of a float is its shortest exact spelling, so 0.1 means a tenth and not 0.1000000000000000055….
    exact = Decimal(str(value)) if isinstance(value, float) else Decimal(max(-1, min(value, LONGEST_US)))
    if not exact.is_finite():
        raise DurationError(value, "a duration is finite")
    return exact * MICROSECONDS["s"]


def _from_text(text: str) -> Decimal:
    if _PLAIN.fullmatch(text):
        return Decimal(text) * MICROSECONDS["s"]
    match = _UNITS.fullmatch(text)
    if not text or match is None:
        if text.startswith("-"):
            raise DurationError(text, "a duration is never negative")
        raise DurationError(text, f"write {_SPELLING}")
    found = {unit: Decimal(number) for unit, number in match.groupdict().items() if number is not None}
    return sum((number * MICROSECONDS[unit] for unit, number in found.items()), Decimal(0))
