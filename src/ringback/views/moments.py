"""Moments as surfaces show them."""

from __future__ import annotations

from ringback.domain.moments import SECOND, Moment, rfc3339


def shown(moment: Moment | None) -> str | None:
    return None if moment is None else rfc3339(moment)


def poll_after_s(created_at: Moment, now: Moment) -> int:
    """How long a poller of a run should wait before it asks again: the older the run, the longer, from 1 to 15 seconds."""
    return max(1, min(15, (now - created_at) // (10 * SECOND)))
