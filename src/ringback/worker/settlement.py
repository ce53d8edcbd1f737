"""How an attempt's end is written down for the server, also when it never started or can't be written as it is.

Which refusals end the matter, which ask for patience, and which are the report's own fault is decided here, once.
"""

from dataclasses import replace
from typing import Final

from ringback.worker.assignment import Outcome, Stop
from ringback.worker.messages import Key, Result, report

LOST_CODES: Final = frozenset({"stale_fence", "run_not_found", "session_expired"})
"""The attempt is not this worker's (any more). What is not found may be something that the attempt asked for, such as a tool."""
FINAL_CODES: Final = LOST_CODES | {"not_found", "muted", "illegal_transition", "cancel_requested"}
"""Repeating the settle would change nothing."""
RETRY_CODES: Final = frozenset({"conflict", "store_unavailable", "storage_full", "shutting_down"})
"""The server could not do it now."""


def ended_early(stop: Stop) -> Outcome | None:
    """The outcome of an attempt that was stopped before it started; None when it is lost."""
    if stop.why == "lost":
        return None
    if stop.why == "drain":
        return Outcome(kind="released")
    if stop.limit is not None:
        return Outcome(kind="timed_out", limit=stop.limit, forced=False)
    return Outcome(kind="stopped", forced=False)


def ended_refused(result: Result) -> Outcome | None:
    """The outcome of an attempt whose start the server refused; None when it is not this worker's."""
    if result.code == "cancel_requested":
        return Outcome(kind="stopped", forced=False)
    if result.code in FINAL_CODES:
        return None
    return substitute(result)


def substitute(result: Result) -> Outcome:
    """What is settled in place of something that the server can't take."""
    message = f"the server refused the report: {result.code or 'refused'} {result.detail or ''}".rstrip()
    return Outcome(kind="failed", error_kind="internal", error_message=message, retryable=False)


def settle_report(key: Key, outcome: Outcome) -> bytes:
    """The settle report; an outcome that is no JSON becomes a failure that says so."""
    try:
        return report(key, "settle", outcome.to_wire())
    except (TypeError, ValueError, RecursionError) as error:
        reason = f"the outcome can't be written as JSON: {type(error).__name__}: {error}"
    told = replace(
        outcome,
        kind="failed" if outcome.kind == "succeeded" else outcome.kind,
        result=None,
        summary=_clean(outcome.summary),
        error_kind=outcome.error_kind or "internal",
        error_message=_clean(outcome.error_message) or _clean(reason),
        error_detail=None,
    )
    return report(key, "settle", told.to_wire())


def _clean(text: str | None) -> str | None:
    return None if text is None else text.encode(errors="replace").decode()
