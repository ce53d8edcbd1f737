"""Buckets of requests, one a token."""

from __future__ import annotations

import pytest

from ringback.domain.errors import RateLimitedError
from ringback.domain.moments import MINUTE, SECOND
from ringback.services import limits
from ringback.services.access import SCOPES, new_token
from ringback.services.limits import RateLimits
from tests.builders import NOON
from tests.installed import Installed


def test_a_burst_is_taken_and_then_the_rate_holds() -> None:
    bucket = RateLimits(per_s=2, burst=3)
    for _ in range(3):
        bucket.take("a", NOON)
    with pytest.raises(RateLimitedError) as refused:
        bucket.take("a", NOON)
    assert refused.value.retry_after_s == 1
    bucket.take("b", NOON)
    bucket.take("a", NOON + SECOND // 2)
    with pytest.raises(RateLimitedError):
        bucket.take("a", NOON + SECOND // 2)
    for _ in range(3):
        bucket.take("a", NOON + MINUTE)


def test_the_wait_is_told_for_slow_rates() -> None:
    bucket = RateLimits(per_s=0.1, burst=1)
    bucket.take("a", NOON)
    with pytest.raises(RateLimitedError, match="in 10 s"):
        bucket.take("a", NOON)
    bucket.take("a", NOON + 10 * SECOND)


def test_without_a_rate_nothing_is_counted_and_buckets_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    free = RateLimits(burst=1)
    for _ in range(5):
        free.take("a", NOON)
    monkeypatch.setattr(limits, "_BUCKETS_MAX", 2)
    bucket = RateLimits(per_s=1, burst=1)
    for name in "abcd":
        bucket.take(name, NOON)
    assert len(bucket._buckets) == 2


async def test_a_token_is_limited_and_a_worker_is_not(here: Installed) -> None:
    access, token, worker = here.core.access, new_token(), new_token()
    access.limits.per_s, access.limits.burst = 1.0, 1
    await access.remember(token, owner="me", scopes=SCOPES)
    await access.remember(worker, owner="w", scopes=["worker:attach"])
    await access.authenticate(token)
    with pytest.raises(RateLimitedError):
        await access.authenticate(token)
    for _ in range(3):
        await access.authenticate(worker)
