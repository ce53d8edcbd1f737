"""Stops: final before the start, evidenced while running, and never followed by another attempt."""

from __future__ import annotations

from typing import Any

import pytest

from ringback.domain.decide import decide
from ringback.domain.errors import CancelRequestedError, IllegalTransitionError, StaleFenceError
from ringback.domain.moments import SECOND
from ringback.domain.runs import Append, AttemptOutcome, Cancel, Cancellation, Lose, NoteChild, Run, Settle, Start, Tick
from ringback.domain.states import EndReason, FailureKind, Status, TimeLimit
from tests.builders import (
    NOON,
    blocked,
    canceling,
    claim,
    ended,
    lose,
    policy,
    queued,
    retrying,
    run_id,
    running,
    settle,
    submitted,
)

FAILED, STOPPED = AttemptOutcome.FAILED, AttemptOutcome.STOPPED


def _status(run: Run) -> str:
    return run.status.value


@pytest.mark.parametrize(
    "run",
    [
        queued(),
        queued(waiting_on=(run_id(2),)),
        queued(not_before=NOON + SECOND),
        retrying(backoff_until=NOON + SECOND),
        submitted(),
    ],
    ids=["queued", "waiting for a run", "waiting for a moment", "between attempts", "claimed, not started"],
)
def test_before_the_start_it_is_immediate_and_final(run: Run) -> None:
    decision = decide(run, Cancel("u1", "not needed"), now=NOON + 4)
    done = decision.run
    assert (done.status, done.end_reason) == (Status.CANCELED, EndReason.CANCELLED_BEFORE_START)
    assert (done.ended_at, done.ready_at, done.timer_at, done.waiting_on) == (NOON + 4, None, None, ())
    assert (done.attempt, done.backoff_until) == (None, None)
    assert done.cancellation == Cancellation(requested_at=NOON + 4, requested_by="u1", reason="not needed")
    assert decision.events[0].type == "cancel.requested"
    assert decision.events[0].body == {"by": "u1", "reason": "not needed"}
    assert decision.events[-1].body == {
        "from": "canceling" if run.attempt else run.status.value,
        "to": "canceled",
        "endReason": "cancelled_before_start",
    }


def test_a_claimed_run_is_taken_from_its_worker() -> None:
    decision = decide(submitted(), Cancel(), now=NOON)
    assert [event.type for event in decision.events] == [
        "cancel.requested",
        "run.status.changed",
        "attempt.ended",
        "run.status.changed",
    ]
    assert decision.ended is not None
    assert decision.ended.outcome is STOPPED
    with pytest.raises(CancelRequestedError):
        decide(decision.run, Start(1), now=NOON)
    with pytest.raises(StaleFenceError):
        decide(decision.run, Start(2), now=NOON)


def test_a_start_after_a_loss_and_a_stop_is_told_of_the_stop() -> None:
    canceled = decide(retrying(fence=1), Cancel(), now=NOON).run
    with pytest.raises(CancelRequestedError):
        decide(canceled, Start(1), now=NOON)


def test_a_superseded_start_without_a_stop_is_stale() -> None:
    with pytest.raises(StaleFenceError):
        decide(retrying(fence=1), Start(1), now=NOON)


def test_running_work_is_asked_to_stop() -> None:
    decision = decide(running(policy=policy(cancel_grace=2 * SECOND)), Cancel(), now=NOON + 4)
    run = decision.run
    assert (run.status, run.timer_at) == (Status.CANCELING, NOON + 4 + 62 * SECOND)
    assert run.attempt is not None
    assert [event.type for event in decision.events] == ["cancel.requested", "run.status.changed"]
    assert decision.events[0].body == {}
    assert decision.outbox == ()


@pytest.mark.parametrize(
    "run", [canceling(), ended(Status.SUCCEEDED), ended(Status.FAILED), ended(Status.CANCELED)], ids=_status
)
def test_asking_again_changes_nothing(run: Run) -> None:
    decision = decide(run, Cancel("somebody else"), now=NOON + SECOND)
    assert (decision.run, decision.events, decision.outbox) == (run, (), ())


@pytest.mark.parametrize(
    "run", [queued(children=1), retrying(children=1), submitted(children=1), running(children=2)], ids=_status
)
def test_children_hear_of_it(run: Run) -> None:
    assert "children" in decide(run, Cancel(), now=NOON).outbox


def test_a_child_born_after_the_stop_hears_of_it() -> None:
    assert decide(canceling(), NoteChild(1, run_id(9), "tool_subrun"), now=NOON).outbox == ("children",)


def test_dependents_hear_of_the_end_and_not_of_the_request() -> None:
    assert decide(running(dependents=1), Cancel(), now=NOON).outbox == ()
    assert decide(queued(dependents=1, children=1), Cancel(), now=NOON).outbox == ("dependents", "children")
    assert decide(submitted(dependents=1, children=1), Cancel(), now=NOON).outbox == ("dependents", "children")
    assert decide(canceling(dependents=1), settle(STOPPED), now=NOON).outbox == ("dependents",)


@pytest.mark.parametrize(
    ("command", "status", "reason", "kind"),
    [
        (settle(STOPPED), "canceled", EndReason.CANCELLED_COOPERATIVELY, None),
        (settle(STOPPED, was_forced=True), "canceled", EndReason.CANCEL_FORCED, None),
        (settle(), "succeeded", EndReason.COMPLETED_DESPITE_CANCEL, None),
        (settle(FAILED), "failed", None, FailureKind.TOOL_ERROR),
        (settle(AttemptOutcome.TIMED_OUT, time_limit=TimeLimit.ATTEMPT), "failed", None, FailureKind.TIMEOUT),
        (settle(AttemptOutcome.RELEASED), "canceled", EndReason.CANCEL_UNCONFIRMED, None),
        (lose(), "canceled", EndReason.CANCEL_UNCONFIRMED, None),
    ],
)
@pytest.mark.parametrize("attempts", [1, 5])
def test_how_a_stop_ends(
    command: Settle | Lose, status: str, reason: EndReason | None, kind: FailureKind | None, attempts: int
) -> None:
    run = canceling(policy=policy(attempts=attempts, is_idempotent=True))
    decision = decide(run, command, now=NOON)
    done = decision.run
    assert (done.status, done.end_reason, done.failure_kind) == (status, reason, kind)
    assert decision.events[-1].body.get("endReason") == reason


def test_what_was_stopped_keeps_its_result_as_evidence() -> None:
    done = decide(canceling(event_sequence=6), settle(STOPPED, summary="half done"), now=NOON).run
    assert (done.result_sequence, done.summary) == (7, "half done")


def test_stopped_without_a_stop_is_a_failure() -> None:
    done = decide(running(), settle(STOPPED), now=NOON).run
    assert (done.status, done.failure_kind, done.end_reason) == ("failed", FailureKind.TOOL_ERROR, None)


def test_success_without_a_stop_has_no_end_reason() -> None:
    assert decide(running(), settle(), now=NOON).run.end_reason is None


def test_a_worker_that_never_confirms_is_given_up() -> None:
    run = canceling(policy=policy(cancel_grace=2 * SECOND))
    due = NOON + 62 * SECOND
    assert run.timer_at == due
    assert decide(run, Tick(), now=due - 1).run == run
    decision = decide(run, Tick(), now=due)
    done = decision.run
    assert (done.status, done.failure_kind, done.fence) == ("failed", FailureKind.CANCEL_FAILED, 2)
    assert (done.time_limit, done.end_reason) == (None, None)
    assert decision.ended is not None
    assert decision.ended.outcome is AttemptOutcome.LOST


@pytest.mark.parametrize(
    ("said", "delivered", "acknowledged", "events"),
    [
        ({}, None, None, []),
        ({"cancel_delivered": True}, NOON + 1, None, ["cancel.delivered"]),
        ({"cancel_acknowledged": True}, NOON + 1, NOON + 1, ["cancel.delivered", "cancel.acknowledged"]),
        (
            {"cancel_delivered": True, "cancel_acknowledged": True},
            *(NOON + 1, NOON + 1, ["cancel.delivered", "cancel.acknowledged"]),
        ),
    ],
)
def test_evidence(said: dict[str, Any], delivered: int | None, acknowledged: int | None, events: list[str]) -> None:
    decision = decide(canceling(), Append(1, (), **said), now=NOON + 1)
    evidence = decision.run.cancellation
    assert evidence is not None
    assert (evidence.requested_at, evidence.delivered_at, evidence.acknowledged_at) == (NOON, delivered, acknowledged)
    assert [event.type for event in decision.events] == events
    again = decide(decision.run, Append(1, (), **said), now=NOON + 2)
    assert (again.run, again.events) == (decision.run, ())


def test_evidence_without_a_stop_is_nothing() -> None:
    decision = decide(running(), Append(1, (), cancel_delivered=True, cancel_acknowledged=True), now=NOON)
    assert (decision.run, decision.events) == (running(), ())


def test_the_wait_for_somebody_ends_with_the_run() -> None:
    run = blocked(queued())
    decision = decide(run, Cancel(), now=NOON)
    assert (decision.run.blocking, decision.run.open_interactions) == (None, 0)
    assert decision.outbox == ("interactions",)


def test_nothing_is_claimed_after_a_stop() -> None:
    for run in (queued(), retrying(), submitted()):
        canceled = decide(run, Cancel(), now=NOON).run
        assert canceled.ready_at is None
        with pytest.raises(IllegalTransitionError, match="cannot claim"):
            decide(canceled, claim(2), now=NOON)
