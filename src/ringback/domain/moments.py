"""Moments and durations: whole microseconds, so that arithmetic is exact and a column, a rule and a test share one number.

A `Moment` counts microseconds since 1970-01-01T00:00Z; a `Micros` is a length of time. Nothing here reads a clock.
Text enters and leaves as RFC 3339 in UTC; a moment without an offset is refused, because nobody can say which one was meant.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TypeAlias

Moment: TypeAlias = int
Micros: TypeAlias = int

MILLISECOND: Micros = 1_000
SECOND: Micros = 1_000_000
MINUTE: Micros = 60 * SECOND
HOUR: Micros = 60 * MINUTE
DAY: Micros = 24 * HOUR

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST: Moment = (datetime(9999, 12, 31, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)


def micros(seconds: float) -> Micros:
    """Seconds, as people and files write them, in microseconds (rounded to the nearest)."""
    return round(seconds * SECOND)


def rfc3339(moment: Moment) -> str:
    """`2026-01-01T00:00:00.000000Z`: always UTC, always six digits, so texts sort as moments do."""
    return (_EPOCH + timedelta(microseconds=moment)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_moment(text: str) -> Moment:
    """Read an RFC 3339 moment.

    Raises:
        ValueError: not RFC 3339, without an offset, or outside 1970–9999.
    """
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"not an RFC 3339 moment: {text[:60]!r}") from None
    if when.tzinfo is None:
        raise ValueError("a moment needs an offset, for example 2027-03-28T02:30:00Z or …+01:00")
    moment = (when - _EPOCH) // timedelta(microseconds=1)
    if not 0 <= moment <= _LAST:
        raise ValueError("a moment must lie between the years 1970 and 9999")
    return moment
