"""Policy: waits that grow, never fall short of what was asked for, and never overflow; snapshots read as they were frozen."""

from __future__ import annotations

import pytest

from ringback.domain.moments import SECOND, Micros
from ringback.domain.policy import Policy, RetryPolicy, TimeLimits, policy_of


@pytest.mark.parametrize(
    ("retry", "waits"),
    [
        (RetryPolicy(), [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]),
        (RetryPolicy(delay=10 * SECOND, factor=1.0), [10, 10, 10]),
        (RetryPolicy(delay=10 * SECOND, factor=3.0, delay_max=60 * SECOND), [10, 30, 60, 60]),
        (RetryPolicy(delay=10 * SECOND, delay_max=5 * SECOND), [10, 10, 10]),
        (RetryPolicy(delay=0), [0, 0, 0]),
        (RetryPolicy(delay=2 * SECOND, delay_max=2 * SECOND), [2, 2]),
    ],
)
def test_waits_grow_up_to_the_longest(retry: RetryPolicy, waits: list[int]) -> None:
    seen = [retry.wait_after(attempt_no, draw=0.0) for attempt_no in range(1, len(waits) + 1)]
    assert seen == [wait * SECOND for wait in waits]


@pytest.mark.parametrize(
    ("jitter", "draw", "extra"),
    [
        (None, 0.0, 0),
        (None, 0.5, 2_500_000),
        (None, 0.999999, 4_999_995),
        (0, 0.999999, 0),
        (SECOND, 0.5, 500_000),
        (60 * SECOND, 0.5, 30 * SECOND),
    ],
)
def test_jitter_is_added_and_never_taken_away(jitter: Micros | None, draw: float, extra: Micros) -> None:
    retry = RetryPolicy(delay=10 * SECOND, jitter=jitter)
    assert retry.wait_after(1, draw=draw) == 10 * SECOND + extra


def test_jitter_comes_on_top_of_the_longest_wait() -> None:
    assert RetryPolicy().wait_after(50, draw=0.5) == 375 * SECOND


@pytest.mark.parametrize("factor", [1e5, 1e300, 10**300])
def test_a_large_factor_does_not_overflow(factor: float) -> None:
    assert RetryPolicy(factor=factor).wait_after(100, draw=0.0) == 300 * SECOND


def test_growth_stops_in_the_end() -> None:
    slow = RetryPolicy(factor=1.0001, delay_max=10**15)
    assert slow.wait_after(65, draw=0.0) == slow.wait_after(10**12, draw=0.0)
    assert slow.wait_after(64, draw=0.0) < slow.wait_after(65, draw=0.0)


@pytest.mark.parametrize(
    ("policy", "may", "attempts"),
    [
        (Policy(), False, 3),
        (Policy(is_idempotent=True), True, 3),
        (Policy(retry_on_lost=True), True, 3),
        (Policy(is_idempotent=True, retry=RetryPolicy(attempts_max=2)), True, 2),
        (Policy(is_idempotent=True, retry=RetryPolicy(attempts_max=7)), True, 7),
    ],
)
def test_repeating_after_a_loss(policy: Policy, may: bool, attempts: int) -> None:
    assert (policy.may_repeat_after_loss, policy.attempts_after_loss_max) == (may, attempts)


@pytest.mark.parametrize("snapshot", [{}, {"retry": None, "timeouts": None}, {"retry": {}, "timeouts": {}}])
def test_an_empty_snapshot_is_the_default(snapshot: dict[str, object]) -> None:
    assert policy_of(snapshot) == Policy()


def test_a_full_snapshot() -> None:
    snapshot = {
        "priority": -3,
        "concurrencyKey": "deploy",
        "concurrencyLimit": 2,
        "retry": {"attemptsMax": 4, "delayS": 0.25, "delayMaxS": 60, "factor": 1.5, "jitterS": 0},
        "timeouts": {"attemptS": 600, "queueS": 0.5, "idleS": 30, "totalS": 3600},
        "cancelGraceS": 10,
        "retryOnLost": True,
        "idempotent": True,
    }
    assert policy_of(snapshot) == Policy(
        priority=-3,
        concurrency_key="deploy",
        concurrency_limit=2,
        retry=RetryPolicy(attempts_max=4, delay=250_000, delay_max=60 * SECOND, factor=1.5, jitter=0),
        limits=TimeLimits(attempt=600 * SECOND, queue=500_000, idle=30 * SECOND, total=3600 * SECOND),
        cancel_grace=10 * SECOND,
        retry_on_lost=True,
        is_idempotent=True,
    )


@pytest.mark.parametrize("name", ["attemptS", "queueS", "idleS", "totalS"])
def test_each_limit_goes_to_its_own_place(name: str) -> None:
    limits = policy_of({"timeouts": {name: 7}}).limits
    places = {"attemptS": "attempt", "queueS": "queue", "idleS": "idle", "totalS": "total"}
    assert {each: getattr(limits, each) for each in places.values()} == {
        each: 7 * SECOND if each == places[name] else None for each in places.values()
    }
