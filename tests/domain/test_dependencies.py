"""Dependencies: a run waits for the final state of others, and ends at once when one of them can no longer succeed."""

from __future__ import annotations

import pytest

from ringback.domain.decide import create, decide
from ringback.domain.ids import RunId
from ringback.domain.moments import SECOND
from ringback.domain.runs import AttemptOutcome, Tick, UpstreamEnded
from ringback.domain.states import ACTIVE, FailureKind, Status
from tests.builders import NOON, policy, queued, run_id, running, settle

A, B = run_id(11), run_id(12)


@pytest.mark.parametrize(
    ("upstream", "waiting_on", "status"),
    [
        ({}, (), "queued"),
        ({A: Status.SUCCEEDED}, (), "queued"),
        ({A: Status.RUNNING}, (A,), "queued"),
        ({A: Status.SUCCEEDED, B: Status.QUEUED}, (B,), "queued"),
        ({A: Status.FAILED}, (), "failed"),
        ({A: Status.CANCELED}, (), "failed"),
        ({A: Status.RUNNING, B: Status.FAILED}, (), "failed"),
        *(({A: status}, (A,), "queued") for status in ACTIVE),
    ],
)
def test_at_birth(upstream: dict[RunId, Status], waiting_on: tuple[str, ...], status: str) -> None:
    decision = create(queued(waiting_on=tuple(upstream), ready_at=None), upstream, now=NOON)
    assert (decision.run.status, decision.run.waiting_on) == (status, waiting_on)
    assert (decision.run.ready_at == NOON) == (status == "queued" and not waiting_on)
    assert decision.events[0].body == {"to": "queued", "tool": "test"}
    if status == "failed":
        spoiler = next(each for each in upstream if upstream[each] in (Status.FAILED, Status.CANCELED))
        assert decision.run.failure_kind is FailureKind.DEPENDENCY_FAILED
        assert decision.run.error is not None
        assert spoiler in decision.run.error
        assert decision.events[1].body["failureKind"] == "dependency_failed"


def test_one_that_runs_always_takes_any_end() -> None:
    upstream = {A: Status.FAILED, B: Status.CANCELED}
    born = create(queued(waiting_on=(A, B), runs_always=True), upstream, now=NOON).run
    assert (born.status, born.waiting_on, born.ready_at) == ("queued", (), NOON)


def test_the_last_success_makes_it_ready() -> None:
    run = queued(waiting_on=(A, B))
    first = decide(run, UpstreamEnded(A, has_succeeded=True), now=NOON + 1)
    assert (first.run.waiting_on, first.run.ready_at, first.events) == ((B,), None, ())
    second = decide(first.run, UpstreamEnded(B, has_succeeded=True), now=NOON + 2)
    assert (second.run.waiting_on, second.run.ready_at, second.events) == ((), NOON + 2, ())


def test_the_last_success_starts_the_wait_for_a_moment() -> None:
    run = queued(waiting_on=(A,), not_before=NOON + SECOND)
    after = decide(run, UpstreamEnded(A, has_succeeded=True), now=NOON).run
    assert (after.ready_at, after.timer_at) == (None, NOON + SECOND)
    assert decide(after, Tick(), now=NOON + SECOND).run.ready_at == NOON + SECOND


def test_a_failure_ends_the_chain_naming_the_run() -> None:
    decision = decide(queued(waiting_on=(A, B), dependents=1), UpstreamEnded(B, has_succeeded=False), now=NOON)
    done = decision.run
    assert (done.status, done.failure_kind, done.waiting_on) == ("failed", FailureKind.DEPENDENCY_FAILED, ())
    assert done.error is not None
    assert B in done.error
    assert decision.events[0].body["error"] == done.error
    assert decision.outbox == ("dependents",)


def test_a_failure_frees_one_that_runs_always() -> None:
    after = decide(queued(waiting_on=(A,), runs_always=True), UpstreamEnded(A, has_succeeded=False), now=NOON).run
    assert (after.status, after.ready_at) == ("queued", NOON)


@pytest.mark.parametrize("has_succeeded", [True, False])
def test_news_said_twice_or_late_changes_nothing(has_succeeded: bool) -> None:
    news = UpstreamEnded(A, has_succeeded=has_succeeded)
    once = decide(queued(waiting_on=(A, B)), news, now=NOON).run
    for run in (once, running()):
        assert decide(run, news, now=NOON).run == run


def test_a_name_said_twice_counts_once() -> None:
    after = decide(queued(waiting_on=(A, A)), UpstreamEnded(A, has_succeeded=True), now=NOON).run
    assert (after.waiting_on, after.ready_at) == ((), NOON)


def test_an_attempt_that_is_tried_again_tells_nobody() -> None:
    upstream = running(policy=policy(attempts=2), dependents=1)
    assert decide(upstream, settle(AttemptOutcome.FAILED), now=NOON).outbox == ()
    assert decide(upstream, settle(), now=NOON).outbox == ("dependents",)
