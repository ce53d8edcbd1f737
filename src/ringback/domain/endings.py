"""How attempts and runs end: settled by their worker, lost with it, or closed by the ledger.

An attempt that ends leaves the run in one of four ways: finished, back in the queue (`retrying`), canceled, or parked: `retrying`
as well, with its question open and no slot held until that is over. Which one it is depends on the outcome, on whether a stop was
accepted, and on the policy; nothing here asks who reports.
"""

from __future__ import annotations

from typing import Any

from ringback.domain.errors import IllegalTransitionError
from ringback.domain.moments import Moment
from ringback.domain.policy import PARKED_ATTEMPTS_MAX, UNSTARTED_ATTEMPTS_MAX
from ringback.domain.records import replace
from ringback.domain.runs import (
    AttemptOutcome,
    AttemptReason,
    Decision,
    EndedAttempt,
    Lose,
    NewEvent,
    Run,
    Settle,
)
from ringback.domain.states import TRANSITIONS, EndReason, FailureKind, Status, TimeLimit
from ringback.domain.timers import arm


def status_event(before: Run, after: Run, **facts: Any) -> NewEvent:
    """The event of an arc; it carries what a reader needs to show the new status.

    Raises:
        IllegalTransitionError: the arc is not in the table.
    """
    if after.status not in TRANSITIONS[before.status]:
        raise IllegalTransitionError(before.run_id, before.status, f"become {after.status}")
    body: dict[str, Any] = {"from": before.status, "to": after.status}
    body |= {name: value for name, value in facts.items() if value is not None}
    return NewEvent("run.status.changed", body)


def finish(
    run: Run,
    status: Status,
    now: Moment,
    *,
    failure_kind: FailureKind | None = None,
    end_reason: EndReason | None = None,
    time_limit: TimeLimit | None = None,
    error: str | None = None,
    summary: str | None = None,
    result_sequence: int | None = None,
) -> Decision:
    """Close the run. Its questions are closed with it; whoever waits for the run is told through the outbox."""
    done = replace(
        run,
        status=status,
        ended_at=now,
        open_interactions=0,
        ready_at=None,
        timer_at=None,
        backoff_until=None,
        waiting_on=(),
        blocking=None,
        failure_kind=failure_kind,
        end_reason=end_reason,
        time_limit=time_limit,
        error=error,
        summary=summary,
        result_sequence=result_sequence,
    )
    event = status_event(
        run,
        done,
        failureKind=failure_kind,
        endReason=end_reason,
        timeLimit=time_limit,
        error=error,
        summary=summary,
        resultSequence=result_sequence,
    )
    outbox = [
        name for name, count in (("dependents", run.dependents), ("interactions", run.open_interactions)) if count
    ]
    return Decision(done, (event,), outbox=tuple(outbox))


def end_attempt(run: Run, now: Moment, *, outcome: str, error: str | None) -> Decision:
    """Take the attempt off the run and put it into the record."""
    attempt = run.attempt
    assert attempt is not None
    ended = EndedAttempt(attempt=attempt, ended_at=now, outcome=AttemptOutcome(outcome), error=error)
    body: dict[str, Any] = {"attemptId": attempt.attempt_id, "attemptNo": attempt.attempt_no, "outcome": outcome}
    if error is not None:
        body["error"] = error
    free = replace(run, attempt=None, attempts_done=run.attempts_done + 1)
    return Decision(free, (NewEvent("attempt.ended", body),), ended)


def settle(run: Run, how: Settle, now: Moment) -> Decision:
    """End the current attempt as its worker saw it end."""
    if how.outcome is AttemptOutcome.RELEASED and how.is_parked and run.status is not Status.SUBMITTED:
        return _park(run, now)
    if how.outcome is AttemptOutcome.RELEASED:
        return lose(run, Lose(how.fence, how.error or "its worker was shut down", how.draw), now, outcome="released")
    result = NewEvent("tool_result", how.result)
    ended = end_attempt(run, now, outcome=how.outcome.value, error=how.error)
    before, summary = (result, *ended.events), how.summary
    at = run.event_sequence + 1  # the result is the first event of this decision
    match how.outcome:
        case AttemptOutcome.SUCCEEDED:
            despite = EndReason.COMPLETED_DESPITE_CANCEL if run.cancellation else None
            done = finish(ended.run, Status.SUCCEEDED, now, end_reason=despite, summary=summary, result_sequence=at)
        case AttemptOutcome.STOPPED if run.status is Status.CANCELING:
            reason = EndReason.CANCEL_FORCED if how.was_forced else EndReason.CANCELLED_COOPERATIVELY
            done = finish(ended.run, Status.CANCELED, now, end_reason=reason, summary=summary, result_sequence=at)
        case _:
            done = _settle_failed(ended.run, how, now, at)
    return Decision(done.run, (*before, *done.events), ended.ended, done.outbox)


def _park(run: Run, now: Moment) -> Decision:
    """Give the slot back until the blocking question is over; what the work asked stays open, and no budget is touched."""
    ended = end_attempt(run, now, outcome=AttemptOutcome.RELEASED.value, error=None)
    free = replace(ended.run, attempts_parked=run.attempts_parked + 1)
    if run.status is Status.CANCELING:
        done = finish(free, Status.CANCELED, now, end_reason=EndReason.CANCELLED_COOPERATIVELY)
    elif free.attempts_parked > PARKED_ATTEMPTS_MAX:
        error = f"it gave its slot back {PARKED_ATTEMPTS_MAX} times"
        done = finish(free, Status.FAILED, now, failure_kind=FailureKind.ATTEMPTS_EXHAUSTED, error=error)
    else:
        back = replace(free, status=Status.RETRYING, next_reason=AttemptReason.ANSWER, backoff_until=None)
        parked = arm(back, now)
        done = Decision(parked, (status_event(run, parked, reason=AttemptReason.ANSWER),))
    return Decision(done.run, (*ended.events, *done.events), ended.ended, done.outbox)


def _settle_failed(run: Run, how: Settle, now: Moment, result_at: int) -> Decision:
    kind, limit = how.error_kind or FailureKind.TOOL_ERROR, None
    if how.outcome is AttemptOutcome.TIMED_OUT:
        kind, limit = FailureKind.TIMEOUT, how.time_limit or TimeLimit.ATTEMPT
    is_final = not how.is_retryable or run.status is not Status.RUNNING or limit is TimeLimit.DEADLINE
    budget = run.policy.retry.attempts_max
    if not is_final and run.attempts_spent < budget:
        return _retry(run, AttemptReason.RETRY, how.draw, now, error=how.error)
    if budget > 1 and run.attempts_spent >= budget and kind is FailureKind.TOOL_ERROR:
        kind = FailureKind.ATTEMPTS_EXHAUSTED
    return finish(
        run,
        Status.FAILED,
        now,
        failure_kind=kind,
        time_limit=limit,
        error=how.error,
        summary=how.summary,
        result_sequence=result_at,
    )


def lose(run: Run, how: Lose, now: Moment, *, outcome: str = "lost") -> Decision:
    """End an attempt whose worker is gone: again only where a second time does no harm."""
    attempt = run.attempt
    assert attempt is not None
    ended = end_attempt(run, now, outcome=outcome, error=how.why)
    free = ended.run
    if run.status is Status.CANCELING:
        done = finish(free, Status.CANCELED, now, end_reason=EndReason.CANCEL_UNCONFIRMED, error=how.why)
    elif attempt.started_at is None:
        done = _lose_unstarted(free, how, now)
    elif not run.policy.may_repeat_after_loss:
        error = f"{how.why}; whether the work was done is unknown, and it is not marked as safe to repeat"
        done = finish(free, Status.FAILED, now, failure_kind=FailureKind.LOST, error=error)
    elif free.attempts_spent < run.policy.attempts_after_loss_max:
        if outcome == "released":  # its worker gave it back in good order: the next one need not wait
            done = _back(free, AttemptReason.LOST, None, now, error=how.why)
        else:
            done = _retry(free, AttemptReason.LOST, how.draw, now, error=how.why)
    else:
        done = finish(free, Status.FAILED, now, failure_kind=FailureKind.ATTEMPTS_EXHAUSTED, error=how.why)
    return Decision(done.run, (*ended.events, *done.events), ended.ended, done.outbox)


def _lose_unstarted(run: Run, how: Lose, now: Moment) -> Decision:
    """User code never ran, so another attempt repeats nothing."""
    if run.attempts_spent >= max(UNSTARTED_ATTEMPTS_MAX, run.policy.retry.attempts_max):
        return finish(run, Status.FAILED, now, failure_kind=FailureKind.ATTEMPTS_EXHAUSTED, error=how.why)
    return _back(run, AttemptReason.LOST, None, now, error=how.why)


def _retry(run: Run, reason: AttemptReason, draw: float, now: Moment, *, error: str | None) -> Decision:
    return _back(run, reason, now + run.policy.retry.wait_after(run.attempts_spent, draw=draw), now, error=error)


def _back(run: Run, reason: AttemptReason, until: Moment | None, now: Moment, *, error: str | None) -> Decision:
    """Into the queue for another attempt. What the last one asked is withdrawn; the next one asks for itself."""
    back = replace(
        run, status=Status.RETRYING, next_reason=reason, backoff_until=until, blocking=None, open_interactions=0
    )
    armed = arm(back, now)
    outbox = ("interactions",) if run.open_interactions else ()
    return Decision(armed, (status_event(run, armed, reason=reason, error=error),), outbox=outbox)
