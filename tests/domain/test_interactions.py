"""Waits for somebody: an overlay that is set together and cleared together, and never a status."""

from __future__ import annotations

import pytest

from ringback.domain.decide import decide
from ringback.domain.errors import IllegalTransitionError
from ringback.domain.ids import InteractionId
from ringback.domain.runs import Ask, AttemptOutcome, Blocking, CloseInteraction, Run, Tick
from ringback.domain.states import Status
from tests.builders import NOON, blocked, ended, policy, queued, running, settle

I1, I2 = InteractionId("i1"), InteractionId("i2")


def test_a_blocking_question_sets_the_overlay() -> None:
    decision = decide(running(), Ask(I1, True, "approval"), now=NOON + 1)
    run = decision.run
    assert run.blocking == Blocking(interaction_id=I1, reason="approval", since=NOON + 1)
    assert (run.status, run.open_interactions) == (Status.RUNNING, 1)
    (event,) = decision.events
    assert event.type == "interaction.requested"
    assert event.body == {"interactionId": "i1", "blocking": True, "reason": "approval"}


def test_other_questions_are_only_counted() -> None:
    run = decide(running(), Ask(I1, False, "input"), now=NOON).run
    run = decide(run, Ask(I2, False, "input"), now=NOON).run
    assert (run.blocking, run.open_interactions) == (None, 2)


def test_at_most_one_question_blocks() -> None:
    run = blocked(running())
    with pytest.raises(IllegalTransitionError) as caught:
        decide(run, Ask(I2, True, "approval"), now=NOON)
    assert caught.value.status == "blocked"
    beside = decide(run, Ask(I2, False, "input"), now=NOON).run
    assert (beside.blocking, beside.open_interactions) == (run.blocking, 2)


def test_the_same_blocking_question_is_asked_once() -> None:
    run = blocked(running())
    decision = decide(run, Ask(I1, True, "approval"), now=NOON + 1)
    assert (decision.run, decision.events) == (run, ())


def test_nothing_is_asked_after_the_end() -> None:
    with pytest.raises(IllegalTransitionError) as caught:
        decide(ended(Status.FAILED), Ask(I1, False, "input"), now=NOON)
    assert caught.value.status == "failed"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("answered", "interaction.responded"),
        ("rejected", "interaction.responded"),
        ("expired", "interaction.updated"),
        ("withdrawn", "interaction.updated"),
    ],
)
def test_closing_clears_the_overlay(status: str, kind: str) -> None:
    decision = decide(blocked(running()), CloseInteraction(I1, status), now=NOON)
    assert (decision.run.blocking, decision.run.open_interactions) == (None, 0)
    (event,) = decision.events
    assert (event.type, event.body) == (kind, {"interactionId": "i1", "status": status})


def test_closing_another_question_leaves_the_overlay() -> None:
    run = decide(blocked(running()), Ask(I2, False, "input"), now=NOON).run
    after = decide(run, CloseInteraction(I2, "answered"), now=NOON).run
    assert (after.blocking, after.open_interactions) == (run.blocking, 1)
    again = decide(after, CloseInteraction(I2, "answered"), now=NOON)
    assert (again.run, again.events) == (after, ())


def test_closing_twice_changes_nothing() -> None:
    once = decide(blocked(running()), CloseInteraction(I1, "answered"), now=NOON).run
    assert decide(once, CloseInteraction(I1, "answered"), now=NOON).run == once


@pytest.mark.parametrize(
    "run",
    [blocked(running(), "i1"), blocked(queued(deadline_at=NOON), "i1")],
    ids=["settled", "expired"],
)
def test_the_end_of_the_run_closes_its_questions(run: Run) -> None:
    decision = decide(run, settle() if run.attempt else Tick(), now=NOON)
    assert decision.run.is_terminal
    assert (decision.run.blocking, decision.run.open_interactions) == (None, 0)
    assert decision.outbox == ("interactions",)
    late = decide(decision.run, CloseInteraction(I1, "answered"), now=NOON)
    assert (late.run, late.events) == (decision.run, ())


def test_a_new_attempt_is_not_blocked_by_an_old_question() -> None:
    run = blocked(running(policy=policy(attempts=2)))
    assert decide(run, settle(AttemptOutcome.FAILED), now=NOON).run.blocking is None
