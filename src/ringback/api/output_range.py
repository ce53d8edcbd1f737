"""Byte ranges (RFC 9110, section 14): one range of a body of known size. Several at once, or an unknown unit, is no range."""

from __future__ import annotations

import re

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)


def range_of(header: str | None, if_range: str | None, etag: str, size: int) -> tuple[int, int] | None:
    """First byte and end (not included) of the range asked for; None for the whole. An empty range can't be satisfied."""
    found = None if header is None else _RANGE.fullmatch(header.replace(" ", ""))
    if found is None or (if_range is not None and if_range != etag):
        return None
    first, last = found[1], found[2]
    if first:
        end = size if not last else min(int(last) + 1, size)
        return None if last and int(last) < int(first) else (int(first), end)
    if last:
        return max(0, size - int(last)), size
    return None
