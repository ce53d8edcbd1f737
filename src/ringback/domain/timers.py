"""When a run may be claimed and when the ledger must look at it again: both follow from the run alone."""

from __future__ import annotations

from ringback.domain.moments import Moment
from ringback.domain.records import replace
from ringback.domain.runs import BACKSTOP, Run
from ringback.domain.states import WAITING, Status


def arm(run: Run, now: Moment) -> Run:
    """`run` with `ready_at` and `timer_at` set as its status and limits ask for."""
    if run.status in WAITING:
        wake = max(run.not_before or 0, run.backoff_until or 0)
        is_held_back = bool(run.waiting_on) or run.blocking is not None  # a parked run waits for its answer
        is_ready = not is_held_back and wake <= now
        ready_at = (run.ready_at or now) if is_ready else None
        timers = (None if is_ready or is_held_back else wake, queue_limit_at(run), run.deadline_at)
        return replace(run, ready_at=ready_at, timer_at=_earliest(*timers))
    return replace(run, ready_at=None, timer_at=_backstop_at(run))


def queue_limit_at(run: Run) -> Moment | None:
    """When it has waited too long for its first attempt; the wait for `not_before` doesn't count."""
    limit = run.policy.limits.queue
    if limit is None or run.attempts_done:
        return None
    return max(run.created_at, run.not_before or 0) + limit


def _backstop_at(run: Run) -> Moment | None:
    """The worker enforces an attempt's limits; this is when the ledger stops believing that it does."""
    if run.status is Status.SUBMITTED:
        return run.deadline_at
    patience = run.policy.cancel_grace + BACKSTOP
    if run.status is Status.CANCELING:
        return None if run.cancellation is None else run.cancellation.requested_at + patience
    if run.status is not Status.RUNNING or run.attempt is None or run.attempt.started_at is None:
        return None
    limit = run.policy.limits.attempt
    attempt_until = None if limit is None else run.attempt.started_at + limit + patience
    return _earliest(attempt_until, None if run.deadline_at is None else run.deadline_at + patience)


def _earliest(*moments: Moment | None) -> Moment | None:
    return min((moment for moment in moments if moment is not None), default=None)
