"""What a run may cost and how it is tried: frozen on the run at creation, so that a later edit of a tool changes no run.

Retries have one owner, the ledger; nothing below it tries again by itself (decision 0004).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ringback.domain.moments import SECOND, Micros, micros

LOST_ATTEMPTS_MAX = 3  # attempts of a run that may be repeated after a loss and names no budget of its own
# Where a tool's policy says nothing. A lost attempt of an http tool left a job running elsewhere: the next one goes on with it,
# and a worker that is shut down now and then during a long job costs nothing.
POLICY_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "http": {"retryOnLost": True, "lostAttemptsMax": 1_000, "cancelGraceS": 30}
}
PARKED_ATTEMPTS_MAX = 1_000  # attempts that gave their slot back for an answer: no failure, yet not without end
UNSTARTED_ATTEMPTS_MAX = 10  # attempts lost before user code ran: harmless, yet not without end


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Exponential back-off with additive jitter: never shorter than asked for, and never in step.

    Attributes:
        attempts_max: attempts in all when the work fails, the first included; at least 1.
        delay: wait before the second attempt.
        delay_max: upper bound of every wait, jitter apart.
        factor: growth from wait to wait, at least 1.
        jitter: width of the random part; None means half of the wait itself.
    """

    attempts_max: int = 1
    delay: Micros = SECOND
    delay_max: Micros = 300 * SECOND
    factor: float = 2.0
    jitter: Micros | None = None

    def wait_after(self, attempt_no: int, *, draw: float) -> Micros:
        """How long to wait after attempt `attempt_no` (from 1). `draw` is a number in [0, 1) drawn by the caller."""
        longest = max(self.delay_max, self.delay)
        growing = float(self.delay)
        for _ in range(min(attempt_no - 1, 64)):  # step by step: a power of a large factor overflows
            growing = min(growing * self.factor, longest)
        wait = round(growing)
        width = wait // 2 if self.jitter is None else self.jitter
        return wait + int(width * draw)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLimits:
    """Lengths of time after which a run or an attempt is over; None is no limit."""

    attempt: Micros | None = None
    queue: Micros | None = None
    idle: Micros | None = None
    total: Micros | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The frozen `runPolicySnapshot`. A higher `priority` goes first."""

    priority: int = 0
    concurrency_key: str | None = None
    concurrency_limit: int = 1
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    limits: TimeLimits = field(default_factory=TimeLimits)
    cancel_grace: Micros = 5 * SECOND
    retry_on_lost: bool = False
    is_idempotent: bool = False
    lost_attempts_max: int | None = None

    @property
    def may_repeat_after_loss(self) -> bool:
        return self.is_idempotent or self.retry_on_lost

    @property
    def attempts_after_loss_max(self) -> int:
        if self.lost_attempts_max is not None:
            return max(self.lost_attempts_max, self.retry.attempts_max)
        return self.retry.attempts_max if self.retry.attempts_max > 1 else LOST_ATTEMPTS_MAX


def policy_of(snapshot: Mapping[str, Any]) -> Policy:
    """Read a `runPolicySnapshot` in its public JSON shape (camelCase, seconds)."""
    retry, limits = snapshot.get("retry") or {}, snapshot.get("timeouts") or {}
    return Policy(
        priority=snapshot.get("priority", 0),
        concurrency_key=snapshot.get("concurrencyKey"),
        concurrency_limit=snapshot.get("concurrencyLimit", 1),
        retry=RetryPolicy(
            attempts_max=retry.get("attemptsMax", 1),
            delay=micros(retry.get("delayS", 1)),
            delay_max=micros(retry.get("delayMaxS", 300)),
            factor=retry.get("factor", 2.0),
            jitter=_optional(retry.get("jitterS")),
        ),
        limits=TimeLimits(
            attempt=_optional(limits.get("attemptS")),
            queue=_optional(limits.get("queueS")),
            idle=_optional(limits.get("idleS")),
            total=_optional(limits.get("totalS")),
        ),
        cancel_grace=micros(snapshot.get("cancelGraceS", 5)),
        retry_on_lost=snapshot.get("retryOnLost", False),
        is_idempotent=snapshot.get("idempotent", False),
        lost_attempts_max=snapshot.get("lostAttemptsMax"),
    )


def _optional(seconds: float | None) -> Micros | None:
    return None if seconds is None else micros(seconds)
