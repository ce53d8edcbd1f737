"""Time: when a run becomes ready, when the ledger looks again, and which of the four limits ended it."""

from __future__ import annotations

import pytest

from ringback.domain.decide import decide
from ringback.domain.moments import MINUTE, SECOND, Moment
from ringback.domain.records import replace
from ringback.domain.runs import BACKSTOP, AttemptOutcome, Cancellation, Run, Tick
from ringback.domain.states import FailureKind, Status, TimeLimit
from ringback.domain.timers import arm, queue_limit_at
from tests.builders import NOON, canceling, policy, queued, retrying, run_id, running, settle, submitted

GRACE = 5 * SECOND
PATIENCE = GRACE + BACKSTOP
AT = NOON + 10 * SECOND
OTHER = run_id(2)


@pytest.mark.parametrize(
    ("run", "ready_at", "timer_at"),
    [
        (queued(), NOON, None),
        (queued(not_before=AT), None, AT),
        (queued(not_before=NOON), NOON, None),
        (queued(waiting_on=(OTHER,)), None, None),
        (queued(waiting_on=(OTHER,), not_before=AT), None, None),
        (queued(deadline_at=AT), NOON, AT),
        (queued(waiting_on=(OTHER,), deadline_at=AT), None, AT),
        (queued(policy=policy(queue=SECOND)), NOON, NOON + SECOND),
        (queued(policy=policy(queue=SECOND), not_before=AT), None, AT),
        (queued(policy=policy(queue=SECOND), created_at=AT), NOON, AT + SECOND),
        (queued(policy=policy(queue=MINUTE), deadline_at=AT), NOON, AT),
        (queued(policy=policy(queue=SECOND), deadline_at=AT), NOON, NOON + SECOND),
        (retrying(), NOON, None),
        (retrying(backoff_until=AT), None, AT),
        (retrying(backoff_until=AT, not_before=AT + 1), None, AT + 1),
        (retrying(backoff_until=AT, deadline_at=AT + 1), None, AT),
        (retrying(backoff_until=AT, deadline_at=AT - 1), None, AT - 1),
        (retrying(policy=policy(queue=SECOND)), NOON, None),
        (submitted(), None, None),
        (submitted(deadline_at=AT, policy=policy(attempt=SECOND)), None, AT),
        (running(), None, None),
        (running(policy=policy(attempt=SECOND)), None, NOON + SECOND + PATIENCE),
        (running(deadline_at=AT), None, AT + PATIENCE),
        (running(deadline_at=AT, policy=policy(attempt=SECOND)), None, NOON + SECOND + PATIENCE),
        (running(deadline_at=AT, policy=policy(attempt=MINUTE)), None, AT + PATIENCE),
        (running(policy=policy(attempt=SECOND, cancel_grace=0)), None, NOON + SECOND + BACKSTOP),
        (running(policy=policy(idle=SECOND)), None, None),
        (canceling(), None, NOON + PATIENCE),
        (canceling(deadline_at=NOON, cancellation=Cancellation(requested_at=AT)), None, AT + PATIENCE),
    ],
)
def test_both_follow_from_the_run(run: Run, ready_at: Moment | None, timer_at: Moment | None) -> None:
    assert (run.ready_at, run.timer_at) == (ready_at, timer_at)
    assert arm(run, NOON) == run


def test_what_a_worker_holds_is_not_ready() -> None:
    assert arm(replace(running(), ready_at=NOON), NOON).ready_at is None


def test_what_is_ready_keeps_its_place() -> None:
    assert arm(queued(), NOON + MINUTE).ready_at == NOON


def test_the_wait_for_a_moment_does_not_count_as_queueing() -> None:
    limit = policy(queue=SECOND)
    assert queue_limit_at(queued(policy=limit, not_before=AT)) == AT + SECOND
    assert queue_limit_at(queued(policy=limit, created_at=AT, not_before=NOON)) == AT + SECOND
    assert queue_limit_at(retrying(policy=limit)) is None
    assert queue_limit_at(queued()) is None


def test_a_tick_before_its_time_is_nothing() -> None:
    run = queued(not_before=AT)
    assert decide(run, Tick(), now=AT - 1).run == run


@pytest.mark.parametrize("run", [queued(not_before=AT), retrying(backoff_until=AT)], ids=["not before", "back-off"])
def test_a_wait_ends_with_its_time(run: Run) -> None:
    decision = decide(run, Tick(), now=AT + 3)
    assert (decision.run.status, decision.run.ready_at, decision.run.timer_at) == (run.status, AT + 3, None)
    assert (decision.events, decision.outbox) == ((), ())


LIMITS = [
    # waiting for its first attempt
    (queued(deadline_at=AT), AT, FailureKind.EXPIRED, TimeLimit.DEADLINE),
    (queued(policy=policy(queue=SECOND)), NOON + SECOND, FailureKind.EXPIRED, TimeLimit.QUEUE),
    (queued(policy=policy(queue=SECOND), waiting_on=(OTHER,)), NOON + SECOND, FailureKind.EXPIRED, TimeLimit.QUEUE),
    (queued(policy=policy(queue=10 * SECOND), deadline_at=AT), AT, FailureKind.EXPIRED, TimeLimit.DEADLINE),
    (queued(policy=policy(queue=SECOND), deadline_at=AT), NOON + SECOND, FailureKind.EXPIRED, TimeLimit.QUEUE),
    # between attempts
    (retrying(deadline_at=AT, backoff_until=AT + MINUTE), AT, FailureKind.TIMEOUT, TimeLimit.DEADLINE),
    # with a worker that did not enforce it
    (submitted(deadline_at=AT), AT, FailureKind.TIMEOUT, TimeLimit.DEADLINE),
    (running(deadline_at=AT), AT + PATIENCE, FailureKind.TIMEOUT, TimeLimit.DEADLINE),
    (running(policy=policy(attempt=SECOND)), NOON + SECOND + PATIENCE, FailureKind.TIMEOUT, TimeLimit.ATTEMPT),
    (
        running(policy=policy(attempt=SECOND), deadline_at=NOON + MINUTE + 6 * SECOND),
        NOON + SECOND + PATIENCE,
        FailureKind.TIMEOUT,
        TimeLimit.DEADLINE,
    ),
    (
        running(policy=policy(attempt=SECOND), deadline_at=NOON + MINUTE + 6 * SECOND + 1),
        NOON + SECOND + PATIENCE,
        FailureKind.TIMEOUT,
        TimeLimit.ATTEMPT,
    ),
]


@pytest.mark.parametrize(("run", "due", "kind", "limit"), LIMITS)
def test_the_limit_that_fired_is_named(run: Run, due: Moment, kind: FailureKind, limit: TimeLimit) -> None:
    early = decide(run, Tick(), now=due - 1).run
    assert not early.is_terminal
    decision = decide(run, Tick(), now=due)
    done = decision.run
    assert (done.status, done.failure_kind, done.time_limit) == (Status.FAILED, kind, limit)
    assert done.error is not None
    assert done.error.endswith(limit.value)
    body = decision.events[-1].body
    assert (body["failureKind"], body["timeLimit"], body["error"]) == (kind.value, limit.value, done.error)


@pytest.mark.parametrize("run", [submitted(deadline_at=NOON), running(deadline_at=NOON)], ids=["claimed", "running"])
def test_an_attempt_ended_by_the_ledger_loses_its_fence(run: Run) -> None:
    decision = decide(run, Tick(), now=NOON + PATIENCE)
    assert (decision.run.fence, decision.run.attempt, decision.run.attempts_done) == (2, None, 1)
    assert decision.ended is not None
    assert decision.ended.outcome is AttemptOutcome.LOST
    assert [event.type for event in decision.events] == ["attempt.ended", "run.status.changed"]
    assert decision.events[0].body["error"] == decision.run.error


def test_an_ended_run_tells_who_waits_for_it() -> None:
    due = NOON + PATIENCE
    assert decide(running(deadline_at=NOON, dependents=1), Tick(), now=due).outbox == ("dependents",)
    assert decide(queued(deadline_at=NOON, dependents=1), Tick(), now=due).outbox == ("dependents",)


def test_a_retry_never_outlives_the_deadline() -> None:
    run = running(policy=policy(attempts=2, delay=MINUTE), deadline_at=AT)
    back = decide(run, settle(AttemptOutcome.FAILED), now=NOON).run
    assert (back.status, back.timer_at, back.backoff_until) == ("retrying", AT, NOON + MINUTE)
