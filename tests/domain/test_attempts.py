"""Attempts: one at a time, under a fence that grows; tried again exactly as often as the policy allows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ringback.domain.decide import create, decide
from ringback.domain.errors import IllegalTransitionError, StaleFenceError
from ringback.domain.moments import MINUTE, SECOND
from ringback.domain.policy import Policy
from ringback.domain.runs import (
    Append,
    AttemptOutcome,
    AttemptReason,
    Decision,
    NewEvent,
    NoteChild,
    NoteDependent,
    Run,
    Start,
)
from ringback.domain.states import FailureKind, Status, TimeLimit
from tests.builders import (
    NOON,
    blocked,
    canceling,
    claim,
    lose,
    policy,
    queued,
    retrying,
    run_id,
    running,
    settle,
    submitted,
)

FAILED, LOST, RELEASED = AttemptOutcome.FAILED, AttemptOutcome.LOST, AttemptOutcome.RELEASED
SAFE = {"is_idempotent": True}


def types(decision: Decision) -> list[str]:
    return [event.type for event in decision.events]


def bodies(decision: Decision, kind: str) -> list[dict[str, Any]]:
    return [dict(event.body) for event in decision.events if event.type == kind]


# --- birth, claim, start ------------------------------------------------------------------------------------------------


def test_a_new_run_is_queued_and_ready() -> None:
    decision = create(queued(ready_at=None), {}, now=NOON)
    assert decision.run.ready_at == NOON
    assert bodies(decision, "run.status.changed") == [{"to": "queued", "tool": "test"}]
    assert decision.outbox == ()


def test_a_claim_raises_the_fence_and_names_the_attempt() -> None:
    run = queued(deadline_at=NOON + MINUTE, policy=policy(queue=SECOND))
    decision = decide(run, claim(1, session="s7"), now=NOON + 5)
    held = decision.run
    assert (held.fence, held.attempt_no, held.ready_at, held.timer_at) == (1, 1, None, NOON + MINUTE)
    assert held.attempt is not None
    assert (held.attempt.fence, held.attempt.session_id, held.attempt.claimed_at) == (1, "s7", NOON + 5)
    assert (held.attempt.reason, held.attempt.started_at) == (AttemptReason.FIRST, None)
    body = {"from": "queued", "to": "submitted", "attemptId": "a1", "attemptNo": 1, "reason": "first"}
    assert bodies(decision, "run.status.changed") == [body]


def test_a_claim_between_attempts_takes_the_next_number_and_fence() -> None:
    run = retrying(attempts_done=2, fence=5, backoff_until=NOON - 1)
    held = decide(run, claim(3), now=NOON).run
    assert held.attempt is not None
    assert (held.fence, held.attempt.fence, held.attempt.attempt_no) == (6, 6, 3)
    assert (held.attempt.reason, held.backoff_until) == (AttemptReason.RETRY, None)


@pytest.mark.parametrize(
    "run",
    [
        queued(not_before=NOON + 10),
        queued(waiting_on=(run_id(2),)),
        retrying(backoff_until=NOON + 10),
        replace(queued(), ready_at=NOON + 10),
    ],
    ids=["not before", "upstream", "back-off", "ready later"],
)
def test_what_is_not_ready_is_not_claimed(run: Run) -> None:
    with pytest.raises(IllegalTransitionError, match="cannot claim"):
        decide(run, claim(), now=NOON + 9)


def test_what_is_ready_now_is_claimed_now() -> None:
    assert decide(queued(), claim(), now=NOON).run.status is Status.SUBMITTED


def test_a_start_says_where_it_runs() -> None:
    decision = decide(submitted(), Start(1, "docker", "space-1"), now=NOON + 7)
    assert types(decision) == ["attempt.started", "run.status.changed"]
    assert bodies(decision, "attempt.started") == [{"attemptId": "a1", "attemptNo": 1, "reason": "first"}]
    attempt = decision.run.attempt
    assert attempt is not None
    assert (attempt.provider, attempt.run_space_id, attempt.started_at) == ("docker", "space-1", NOON + 7)
    assert decision.run.started_at == NOON + 7


def test_a_later_attempt_leaves_the_runs_own_start_alone() -> None:
    run = submitted(attempt_no=2, started_at=NOON)
    assert decide(run, Start(2), now=NOON + MINUTE).run.started_at == NOON


@pytest.mark.parametrize("fence", [0, 1, 3])
@pytest.mark.parametrize(
    "command",
    [Start(0), Append(0, ()), settle(), lose(), NoteChild(0, run_id(9), "tool_subrun")],
    ids=lambda command: type(command).__name__,
)
def test_only_the_bearer_of_the_fence_writes(command: Any, fence: int) -> None:
    with pytest.raises(StaleFenceError) as caught:
        decide(running(attempt_no=2), replace(command, fence=fence), now=NOON)
    assert (caught.value.presented, caught.value.current) == (fence, 2)


def test_the_fence_of_an_ended_attempt_holds_nothing() -> None:
    with pytest.raises(StaleFenceError):
        decide(retrying(fence=1), Append(1, ()), now=NOON)


# --- what a running attempt says ----------------------------------------------------------------------------------------


def test_progress_is_kept_and_recorded_after_what_came_with_it() -> None:
    chunk = NewEvent("output.chunk", {"stream": "stdout", "offset": 0}, b"x")
    decision = decide(running(), Append(1, (chunk,), {"done": 1}), now=NOON)
    assert decision.events == (chunk, NewEvent("state.updated", {"progress": {"done": 1}}))
    assert decision.run.progress == {"done": 1}


def test_progress_that_did_not_move_is_not_recorded() -> None:
    run = running(progress={"done": 1})
    decision = decide(run, Append(1, (), {"done": 1}), now=NOON)
    assert (decision.run, decision.events) == (run, ())


def test_a_report_that_comes_again_adds_nothing() -> None:
    chunk = NewEvent("output.chunk", {"stream": "stdout", "offset": 0}, b"x")
    first = decide(running(), Append(1, (chunk,), {"done": 1}, number=1), now=NOON)
    again = decide(first.run, Append(1, (chunk,), {"done": 1}, number=1), now=NOON)
    assert (again.run is first.run, again.events) == (True, ())
    following = decide(first.run, Append(1, (chunk,), number=2), now=NOON)
    assert following.events == (chunk,)


def test_a_child_is_counted_and_linked() -> None:
    decision = decide(running(), NoteChild(1, run_id(9), "delegation"), now=NOON)
    assert decision.run.children == 1
    assert bodies(decision, "link.created") == [{"relationType": "delegation", "toRunId": run_id(9)}]
    assert decision.outbox == ()


def test_a_dependent_is_counted_without_an_event() -> None:
    decision = decide(running(dependents=1), NoteDependent(), now=NOON)
    assert (decision.run.dependents, decision.events) == (2, ())


# --- settled ------------------------------------------------------------------------------------------------------------


def test_success_records_result_attempt_and_status_in_this_order() -> None:
    run = running(event_sequence=7, dependents=1)
    decision = decide(run, settle(result={"exitCode": 0}, summary="3 passed"), now=NOON + 9)
    assert types(decision) == ["tool_result", "attempt.ended", "run.status.changed"]
    done = decision.run
    assert (done.status, done.summary, done.result_sequence, done.ended_at) == ("succeeded", "3 passed", 8, NOON + 9)
    assert (done.failure_kind, done.end_reason, done.error, done.attempt) == (None, None, None, None)
    assert (done.attempts_done, done.timer_at, done.ready_at) == (1, None, None)
    assert bodies(decision, "tool_result") == [{"exitCode": 0}]
    assert bodies(decision, "attempt.ended") == [{"attemptId": "a1", "attemptNo": 1, "outcome": "succeeded"}]
    body = {"from": "running", "to": "succeeded", "summary": "3 passed", "resultSequence": 8}
    assert bodies(decision, "run.status.changed") == [body]
    assert decision.outbox == ("dependents",)
    assert decision.ended is not None
    assert (decision.ended.attempt, decision.ended.ended_at) == (run.attempt, NOON + 9)
    assert (decision.ended.outcome, decision.ended.error) == (AttemptOutcome.SUCCEEDED, None)


def test_failure_says_what_failed() -> None:
    decision = decide(running(), settle(FAILED, error="exit 2", summary="1 failed"), now=NOON)
    done = decision.run
    assert (done.status, done.failure_kind, done.error) == ("failed", FailureKind.TOOL_ERROR, "exit 2")
    assert (done.summary, done.result_sequence, done.time_limit) == ("1 failed", 2, None)
    assert bodies(decision, "attempt.ended")[0]["error"] == "exit 2"
    body = bodies(decision, "run.status.changed")[0]
    assert (body["failureKind"], body["error"], body["summary"]) == ("tool_error", "exit 2", "1 failed")
    assert "timeLimit" not in body
    assert decision.outbox == ()


@pytest.mark.parametrize("kind", [FailureKind.INTERNAL, FailureKind.INVALID_PARAMS, FailureKind.TOOL_ERROR])
def test_the_kind_that_the_worker_names_is_kept(kind: FailureKind) -> None:
    assert decide(running(), settle(FAILED, error_kind=kind), now=NOON).run.failure_kind is kind


def test_an_attempt_fails_before_it_started_and_is_not_tried_again() -> None:
    how = settle(FAILED, error_kind=FailureKind.INVALID_PARAMS)
    done = decide(submitted(policy=policy(attempts=3)), how, now=NOON).run
    assert (done.status, done.failure_kind) == ("failed", FailureKind.INVALID_PARAMS)


@pytest.mark.parametrize(
    ("attempts_max", "attempt_no", "kind"),
    [
        (1, 1, FailureKind.TOOL_ERROR),
        (2, 1, None),
        (2, 2, FailureKind.ATTEMPTS_EXHAUSTED),
        (3, 2, None),
        (3, 3, FailureKind.ATTEMPTS_EXHAUSTED),
        (3, 4, FailureKind.ATTEMPTS_EXHAUSTED),
        (1, 2, FailureKind.TOOL_ERROR),
    ],
)
def test_failures_use_up_the_budget(attempts_max: int, attempt_no: int, kind: FailureKind | None) -> None:
    run = running(attempt_no=attempt_no, policy=policy(attempts=attempts_max))
    after = decide(run, settle(FAILED, fence=attempt_no), now=NOON).run
    assert (after.status, after.failure_kind) == ("failed" if kind else "retrying", kind)


def test_a_retry_waits_and_says_why() -> None:
    run = blocked(running(policy=policy(attempts=2, delay=10 * SECOND)))
    decision = decide(run, settle(FAILED, error="exit 1", draw=0.5), now=NOON)
    after = decision.run
    until = NOON + 12_500_000
    assert (after.backoff_until, after.timer_at, after.ready_at) == (until, until, None)
    assert (after.next_reason, after.attempts_done, after.attempt) == (AttemptReason.RETRY, 1, None)
    assert (after.error, after.result_sequence) == (None, None)
    assert (after.blocking, after.open_interactions) == (None, 0)  # what it asked is withdrawn, through the outbox
    assert types(decision) == ["tool_result", "attempt.ended", "run.status.changed"]
    body = {"from": "running", "to": "retrying", "reason": "retry", "error": "exit 1"}
    assert bodies(decision, "run.status.changed") == [body]
    assert (decision.ended is not None, decision.outbox) == (True, ("interactions",))


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        ({"is_retryable": False}, FailureKind.TOOL_ERROR),
        ({"is_retryable": False, "error_kind": FailureKind.INTERNAL}, FailureKind.INTERNAL),
    ],
)
def test_what_must_not_be_retried_is_not(how: dict[str, Any], kind: FailureKind) -> None:
    after = decide(running(policy=policy(attempts=3)), settle(FAILED, **how), now=NOON).run
    assert (after.status, after.failure_kind) == ("failed", kind)


def test_only_the_work_exhausts_attempts() -> None:
    run = running(attempt_no=2, policy=policy(attempts=2))
    after = decide(run, settle(FAILED, fence=2, error_kind=FailureKind.INTERNAL), now=NOON).run
    assert after.failure_kind is FailureKind.INTERNAL


@pytest.mark.parametrize(
    ("limit", "attempts_max", "status", "kept"),
    [
        (TimeLimit.ATTEMPT, 1, "failed", TimeLimit.ATTEMPT),
        (TimeLimit.IDLE, 1, "failed", TimeLimit.IDLE),
        (TimeLimit.DEADLINE, 1, "failed", TimeLimit.DEADLINE),
        (None, 1, "failed", TimeLimit.ATTEMPT),
        (TimeLimit.ATTEMPT, 2, "retrying", None),
        (TimeLimit.IDLE, 2, "retrying", None),
        (TimeLimit.DEADLINE, 2, "failed", TimeLimit.DEADLINE),
    ],
)
def test_timed_out(limit: TimeLimit | None, attempts_max: int, status: str, kept: TimeLimit | None) -> None:
    how = settle(AttemptOutcome.TIMED_OUT, time_limit=limit, error_kind=FailureKind.INTERNAL)
    after = decide(running(policy=policy(attempts=attempts_max)), how, now=NOON).run
    assert (after.status, after.time_limit) == (status, kept)
    assert after.failure_kind is (FailureKind.TIMEOUT if kept else None)


def test_timeouts_that_use_up_the_budget_stay_timeouts() -> None:
    how = settle(AttemptOutcome.TIMED_OUT, fence=2, time_limit=TimeLimit.IDLE)
    decision = decide(running(attempt_no=2, policy=policy(attempts=2)), how, now=NOON)
    assert decision.run.failure_kind is FailureKind.TIMEOUT
    assert bodies(decision, "run.status.changed")[0]["timeLimit"] == "idle"


def test_a_failure_names_no_limit_of_time() -> None:
    assert decide(running(), settle(FAILED, time_limit=TimeLimit.IDLE), now=NOON).run.time_limit is None


# --- lost ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("allowed", "attempt_no", "kind"),
    [
        (policy(), 1, FailureKind.LOST),
        (policy(attempts=5), 1, FailureKind.LOST),
        (policy(is_idempotent=True), 1, None),
        (policy(retry_on_lost=True), 1, None),
        (policy(is_idempotent=True), 2, None),
        (policy(is_idempotent=True), 3, FailureKind.ATTEMPTS_EXHAUSTED),
        (policy(is_idempotent=True, attempts=2), 1, None),
        (policy(is_idempotent=True, attempts=2), 2, FailureKind.ATTEMPTS_EXHAUSTED),
        (policy(is_idempotent=True, attempts=5), 4, None),
        (policy(is_idempotent=True, attempts=5), 5, FailureKind.ATTEMPTS_EXHAUSTED),
    ],
)
@pytest.mark.parametrize("outcome", [LOST, RELEASED])
def test_lost_work_is_repeated_only_where_that_is_safe(
    allowed: Policy, attempt_no: int, kind: FailureKind | None, outcome: AttemptOutcome
) -> None:
    run = running(attempt_no=attempt_no, policy=allowed)
    command = lose(attempt_no) if outcome is LOST else settle(RELEASED, fence=attempt_no)
    decision = decide(run, command, now=NOON)
    after = decision.run
    assert (after.status, after.failure_kind) == ("failed" if kind else "retrying", kind)
    assert decision.ended is not None
    assert decision.ended.outcome is outcome
    assert bodies(decision, "attempt.ended")[0]["outcome"] == outcome
    if kind is None:
        waits_until = NOON + SECOND * 2 ** (attempt_no - 1) if outcome is LOST else None  # given back: at once
        assert (after.next_reason, after.backoff_until) == (AttemptReason.LOST, waits_until)
        assert bodies(decision, "run.status.changed")[0]["reason"] == "lost"


def test_a_loss_says_that_the_outcome_is_unknown() -> None:
    decision = decide(running(event_sequence=7, dependents=1), lose(why="its lease expired"), now=NOON)
    assert types(decision) == ["attempt.ended", "run.status.changed"]
    assert decision.run.error is not None
    assert decision.run.error.startswith("its lease expired; whether the work was done is unknown")
    assert decision.run.result_sequence is None
    assert decision.ended is not None
    assert decision.ended.error == "its lease expired"
    assert decision.outbox == ("dependents",)


def test_losses_that_use_up_the_budget_say_so() -> None:
    run = running(attempt_no=3, policy=policy(is_idempotent=True))
    done = decide(run, lose(3, why="its lease expired"), now=NOON).run
    assert (done.failure_kind, done.error) == (FailureKind.ATTEMPTS_EXHAUSTED, "its lease expired")


def test_a_released_attempt_keeps_its_reason() -> None:
    decision = decide(submitted(), settle(RELEASED, error="drained"), now=NOON)
    assert bodies(decision, "attempt.ended")[0]["error"] == "drained"
    unsaid = decide(submitted(), settle(RELEASED), now=NOON)
    assert bodies(unsaid, "attempt.ended")[0]["error"] == "its worker was shut down"


@pytest.mark.parametrize(
    ("attempts_max", "attempt_no", "status"),
    [
        (1, 1, "retrying"),
        (1, 9, "retrying"),
        (1, 10, "failed"),
        (10, 10, "failed"),
        (12, 10, "retrying"),
        (12, 12, "failed"),
    ],
)
def test_what_never_started_is_tried_again_without_waiting(attempts_max: int, attempt_no: int, status: str) -> None:
    run = submitted(attempt_no=attempt_no, policy=policy(attempts=attempts_max))
    decision = decide(run, lose(attempt_no), now=NOON + 3)
    after = decision.run
    assert after.status == status
    if status == "retrying":
        assert (after.ready_at, after.backoff_until, after.next_reason) == (NOON + 3, None, AttemptReason.LOST)
        body = {"from": "submitted", "to": "retrying", "reason": "lost", "error": "its lease expired"}
        assert bodies(decision, "run.status.changed") == [body]
    else:
        assert (after.failure_kind, after.error) == (FailureKind.ATTEMPTS_EXHAUSTED, "its lease expired")


def test_a_loss_while_stopping_cancels_unconfirmed() -> None:
    decision = decide(canceling(policy=policy(**SAFE)), lose(why="its lease expired"), now=NOON)
    done = decision.run
    assert (done.status, done.end_reason, done.error) == ("canceled", "cancel_unconfirmed", "its lease expired")
    assert bodies(decision, "run.status.changed")[0]["endReason"] == "cancel_unconfirmed"
