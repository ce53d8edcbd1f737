"""The laws of the state machine, each checked after every command: what one run may look like, and what one step may do."""

from __future__ import annotations

from ringback.domain.events import EVENT_TYPES
from ringback.domain.moments import Moment
from ringback.domain.policy import UNSTARTED_ATTEMPTS_MAX
from ringback.domain.records import replace
from ringback.domain.runs import Claim, Command, Decision, NoteDependent, Run, Tick
from ringback.domain.states import HELD, TERMINAL, TRANSITIONS, WAITING, FailureKind, Status
from ringback.domain.timers import arm

TIMED_ENDS = {FailureKind.TIMEOUT, FailureKind.EXPIRED}


def check_run(run: Run, now: Moment) -> None:
    """What holds for any run at any time."""
    assert (run.attempt is not None) == (run.status in HELD), "an attempt exists exactly while a worker holds the run"
    _check_end(run)
    _check_overlay(run)
    _check_evidence(run)
    _check_timers(run, now)
    if run.attempt is not None:
        assert run.attempt.attempt_no == run.attempts_done + 1 == run.attempt_no
        assert run.attempt.fence == run.fence
        assert (run.attempt.started_at is not None) == (run.status is not Status.SUBMITTED)
    retry = run.policy.retry
    most = max(UNSTARTED_ATTEMPTS_MAX, retry.attempts_max, run.policy.attempts_after_loss_max)
    assert run.attempt_no <= most + run.attempts_parked, "attempts stay within the budget"
    assert 0 <= run.attempts_parked <= run.attempts_done


def _check_end(run: Run) -> None:
    assert run.is_terminal == (run.ended_at is not None)
    assert (run.failure_kind is not None) == (run.status is Status.FAILED)
    assert run.time_limit is None or run.failure_kind in TIMED_ENDS, "a timeout names its limit, nothing else does"
    assert run.time_limit is not None or run.failure_kind is not FailureKind.TIMEOUT
    if run.end_reason is not None:
        assert run.cancellation is not None
        assert run.status in (Status.CANCELED, Status.SUCCEEDED)
    if run.status is Status.CANCELED:
        assert run.end_reason is not None
    if run.result_sequence is not None:
        assert run.is_terminal


def _check_overlay(run: Run) -> None:
    if run.blocking is not None:
        assert run.open_interactions > 0
        assert run.is_held or run.is_parked
    if run.is_terminal:
        assert (run.blocking, run.open_interactions) == (None, 0)


def _check_evidence(run: Run) -> None:
    asked = run.cancellation
    assert (asked is not None) >= (run.status in (Status.CANCELING, Status.CANCELED))
    if asked is not None:
        assert run.status in (Status.CANCELING, *TERMINAL), "once a stop was accepted there is no way back"
        if asked.delivered_at is not None:
            assert asked.requested_at <= asked.delivered_at
        if asked.acknowledged_at is not None:
            assert asked.delivered_at is not None
            assert asked.delivered_at <= asked.acknowledged_at


def _check_timers(run: Run, now: Moment) -> None:
    if run.is_terminal:
        assert (run.ready_at, run.timer_at) == (None, None)
        return
    assert arm(run, now) == run or run.status in WAITING, "what a worker holds is always armed"
    if run.ready_at is not None:
        assert run.status in WAITING
        assert not run.waiting_on
        assert run.blocking is None, "a parked run waits for its answer"
        assert max(run.not_before or 0, run.backoff_until or 0) <= now
    if run.status in WAITING:
        will_be_woken = run.waiting_on or run.timer_at is not None or run.is_parked
        assert run.ready_at is not None or will_be_woken, "something will wake it"
    if run.deadline_at is not None or run.status is Status.CANCELING:
        assert run.timer_at is not None
    if run.status is Status.RUNNING and run.policy.limits.attempt is not None:
        assert run.timer_at is not None
    if run.status is Status.QUEUED and run.policy.limits.queue is not None:
        assert run.timer_at is not None


def check_step(before: Run, command: Command, decision: Decision) -> None:
    """What holds for any step from one run to the next."""
    after = decision.run
    _check_arcs(before, decision)
    assert {event.type for event in decision.events} <= EVENT_TYPES
    assert set(decision.outbox) <= {"dependents", "children", "interactions"}
    if before.is_terminal:
        counted = replace(before, dependents=before.dependents + isinstance(command, NoteDependent))
        assert (after, decision.events, decision.ended, decision.outbox) == (counted, (), None, ())
        return
    if isinstance(command, Claim):
        assert after.fence == before.fence + 1
    else:
        is_given_up = isinstance(command, Tick) and decision.ended is not None
        assert after.fence == before.fence + is_given_up, "who is given up on loses the fence; nobody else does"
    if after.backoff_until is not None and decision.ended is not None:
        assert after.backoff_until >= decision.ended.ended_at + after.policy.retry.delay, "never shorter than asked for"
    assert after.attempts_done - before.attempts_done == (decision.ended is not None)
    if decision.ended is not None:
        assert decision.ended.attempt == before.attempt, "an attempt goes into the record as it was"
    if after.is_terminal:
        owed = {"dependents": before.dependents, "interactions": before.open_interactions}
        assert all((name in decision.outbox) == (count > 0) for name, count in owed.items())
    frozen = ("run_id", "project_id", "tool", "lane", "policy", "created_at", "thread_id", "not_before", "deadline_at")
    assert all(getattr(after, name) == getattr(before, name) for name in frozen)


def _check_arcs(before: Run, decision: Decision) -> None:
    """Each arc is in the table and has its event; together they lead from the one status to the other."""
    status = before.status
    for number, event in enumerate(decision.events):
        if event.type == "run.status.changed":
            assert event.body["from"] == status
            assert Status(event.body["to"]) in TRANSITIONS[status]
            status = Status(event.body["to"])
            if status in TERMINAL:
                assert number == len(decision.events) - 1, "nothing follows the terminal event"
    assert status is decision.run.status
