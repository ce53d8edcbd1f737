"""Moments and durations: whole microseconds, so that arithmetic is exact and a column, a rule and a test share one number.

A `Moment` counts microseconds since 1970-01-01T00:00Z; a `Micros` is a length of time. Nothing here reads a clock.
Text enters and leaves as RFC 3339 in UTC; a moment without an offset is refused, because nobody can say which one was meant.
"""

from __future__ import annotations

import re
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
_NAIVE_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  (UTC by construction; formats four times as fast)
_LAST: Moment = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?(?P<offset>[Zz]|[+-]\d\d:\d\d)?", re.ASCII)


def micros(seconds: float) -> Micros:
    """Seconds, as people and files write them, in microseconds (rounded to the nearest)."""
    return round(seconds * SECOND)


def rfc3339(moment: Moment) -> str:
    """`2026-01-01T00:00:00.000000Z`: always UTC, always six digits, so texts sort as moments do."""
    return (_NAIVE_EPOCH + timedelta(microseconds=moment)).isoformat(timespec="microseconds") + "Z"


def parse_moment(text: str) -> Moment:
    """Read an RFC 3339 moment; the seconds may be left out, digits beyond microseconds are cut off.

    Raises:
        ValueError: not RFC 3339, without an offset, or outside 1970–9999.
    """
    found = _RFC3339.fullmatch(text)  # `fromisoformat` takes more than that, and other things in other versions
    try:
        when = datetime.fromisoformat(text.upper()) if found else None
    except ValueError:
        when = None
    if found is None or when is None:
        raise ValueError(f"not an RFC 3339 moment: {text[:60]!r}")
    if found["offset"] is None:
        raise ValueError("a moment needs an offset, for example 2027-03-28T02:30:00Z or …+01:00")
    moment = (when - _EPOCH) // timedelta(microseconds=1)
    if not 0 <= moment <= _LAST:
        raise ValueError("a moment must lie between the years 1970 and 9999")
    return moment
