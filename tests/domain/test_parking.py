"""An attempt gives its slot back for an answer: what the run is meanwhile, what ends the wait, and what no budget counts."""

from __future__ import annotations

from typing import Any

import pytest

from ringback.domain.decide import decide
from ringback.domain.errors import IllegalTransitionError
from ringback.domain.ids import InteractionId
from ringback.domain.moments import HOUR, SECOND
from ringback.domain.policy import PARKED_ATTEMPTS_MAX
from ringback.domain.runs import (
    Ask,
    AttemptOutcome,
    AttemptReason,
    Cancel,
    CloseInteraction,
    Lose,
    Run,
    Start,
    Tick,
)
from ringback.domain.states import EndReason, FailureKind, Status, TimeLimit, async_run_word, job_word, task_word
from tests.builders import NOON, blocked, canceling, claim, policy, queued, retrying, running, settle, submitted

I1 = InteractionId("i1")
PARK = settle(AttemptOutcome.RELEASED, is_parked=True)


def parked(**changes: Any) -> Run:
    return decide(blocked(running(**changes)), PARK, now=NOON + 1).run


def test_a_parked_run_holds_no_slot_and_keeps_its_question() -> None:
    decision = decide(blocked(running()), PARK, now=NOON + 1)
    run = decision.run
    assert (run.status, run.attempt, run.is_parked, run.ready_at) == (Status.RETRYING, None, True, None)
    assert (run.open_interactions, run.next_reason, decision.outbox) == (1, AttemptReason.ANSWER, ())
    assert decision.ended is not None
    assert (decision.ended.outcome, decision.ended.error) == (AttemptOutcome.RELEASED, None)
    assert [event.type for event in decision.events] == ["attempt.ended", "run.status.changed"]
    assert decision.events[1].body == {"from": "running", "to": "retrying", "reason": "answer"}


def test_it_is_called_what_a_waiting_run_is_called_on_every_surface() -> None:
    run = parked()
    assert async_run_word(run.status, run.attempt_no) == job_word(run.status, run.attempt_no) == "running"
    assert task_word(run.status, None, is_blocked=run.blocking is not None) == "input_required"


@pytest.mark.parametrize("status", ["answered", "rejected", "expired", "withdrawn"])
def test_the_end_of_its_question_lets_it_go_on(status: str) -> None:
    run = decide(parked(), CloseInteraction(I1, status), now=NOON + 5).run
    assert (run.is_parked, run.ready_at, run.status) == (False, NOON + 5, Status.RETRYING)
    run = decide(run, claim(2), now=NOON + 6).run
    assert run.attempt is not None
    assert (run.attempt.reason, run.attempt.attempt_no) == (AttemptReason.ANSWER, 2)


def test_an_answer_that_came_before_it_was_gone_lets_it_go_on_at_once() -> None:
    answered = decide(blocked(running()), CloseInteraction(I1, "answered"), now=NOON).run
    run = decide(answered, PARK, now=NOON + 1).run
    assert (run.status, run.ready_at, run.next_reason) == (Status.RETRYING, NOON + 1, AttemptReason.ANSWER)


def test_no_claim_and_no_question_while_it_is_parked() -> None:
    for command in (claim(2), Ask(InteractionId("i2"), True, "x"), Ask(InteractionId("i2"), False, "x")):
        with pytest.raises(IllegalTransitionError):
            decide(parked(), command, now=NOON + 9)


def test_no_budget_counts_it() -> None:
    run = parked(policy=policy(attempts=2))
    for number in range(2, 6):
        run = decide(
            run, CloseInteraction(run.blocking.interaction_id if run.blocking else I1, "answered"), now=NOON
        ).run
        run = decide(run, claim(number), now=NOON).run
        run = decide(run, Start(run.fence), now=NOON).run
        run = decide(run, Ask(InteractionId(f"i{number}"), True, "again"), now=NOON).run
        run = decide(run, settle(AttemptOutcome.RELEASED, fence=run.fence, is_parked=True), now=NOON).run
    assert (run.attempts_done, run.attempts_parked, run.attempts_spent) == (5, 5, 0)
    run = decide(run, CloseInteraction(InteractionId("i5"), "answered"), now=NOON).run
    run = decide(run, claim(6), now=NOON).run
    run = decide(run, Start(run.fence), now=NOON).run
    run = decide(run, settle(AttemptOutcome.FAILED, fence=run.fence), now=NOON).run
    assert run.status is Status.RETRYING, "the first of two"


def test_it_needs_no_leave_to_be_begun_again_but_a_loss_does() -> None:
    assert not parked().policy.may_repeat_after_loss
    run = decide(parked(), CloseInteraction(I1, "answered"), now=NOON).run
    run = decide(decide(run, claim(2), now=NOON).run, Start(2), now=NOON).run
    lost = decide(run, Lose(2, "its worker died", 0.0), now=NOON).run
    assert (lost.status, lost.failure_kind) == (Status.FAILED, FailureKind.LOST)


def test_a_stop_ends_it_at_once_and_says_that_its_work_had_left() -> None:
    decision = decide(parked(), Cancel("ann"), now=NOON + 9)
    run = decision.run
    assert (run.status, run.end_reason) == (Status.CANCELED, EndReason.CANCELLED_COOPERATIVELY)
    assert decision.outbox == ("interactions",)
    before = decide(retrying(), Cancel("ann"), now=NOON + 9).run
    assert before.end_reason is EndReason.CANCELLED_BEFORE_START


def test_a_stop_that_came_first_is_what_counts() -> None:
    run = decide(blocked(canceling()), PARK, now=NOON + 1).run
    assert (run.status, run.end_reason) == (Status.CANCELED, EndReason.CANCELLED_COOPERATIVELY)


def test_the_deadline_ends_it_with_its_own_words() -> None:
    run = parked(deadline_at=NOON + HOUR)
    assert run.timer_at == NOON + HOUR
    assert decide(run, Tick(), now=NOON + SECOND).run == run
    over = decide(run, Tick(), now=NOON + HOUR).run
    assert (over.status, over.failure_kind, over.time_limit) == (Status.FAILED, FailureKind.TIMEOUT, TimeLimit.DEADLINE)
    assert over.error == "the limit of time was hit before its question was answered: deadline"


def test_what_has_not_begun_cannot_park() -> None:
    run = decide(submitted(), PARK, now=NOON).run
    assert (run.status, run.next_reason, run.attempts_parked) == (Status.RETRYING, AttemptReason.LOST, 0)


def test_it_does_not_go_on_without_end() -> None:
    run = decide(blocked(running(attempts_parked=PARKED_ATTEMPTS_MAX)), PARK, now=NOON).run
    assert (run.status, run.failure_kind) == (Status.FAILED, FailureKind.ATTEMPTS_EXHAUSTED)


def test_a_run_that_no_worker_holds_asks_nothing() -> None:
    for run in (queued(), retrying()):
        with pytest.raises(IllegalTransitionError):
            decide(run, Ask(I1, True, "approval"), now=NOON)


def test_a_question_that_is_not_counted_leaves_the_others() -> None:
    run = decide(running(), Ask(I1, False, "input"), now=NOON).run
    decision = decide(run, CloseInteraction(InteractionId("left"), "answered", is_counted=False), now=NOON)
    assert decision.run == run
    assert decision.run is not run, "its version moves"
    assert decision.events == ()
