"""Builders with defaults that make a valid object; a test names only what it is about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ringback.domain.admission import Head, lane_of
from ringback.domain.events import StoredEvent
from ringback.domain.ids import AttemptId, InteractionId, ProjectId, RunId, SessionId
from ringback.domain.moments import SECOND, Micros, Moment
from ringback.domain.policy import Policy, RetryPolicy, TimeLimits
from ringback.domain.runs import (
    Attempt,
    AttemptOutcome,
    AttemptReason,
    Blocking,
    Cancellation,
    Claim,
    Lose,
    NewEvent,
    Run,
    RunFacts,
    Settle,
)
from ringback.domain.sessions import Session
from ringback.domain.states import EndReason, FailureKind, Status
from ringback.domain.timers import arm

NOON: Moment = 1_767_268_800 * SECOND  # 2026-01-01T12:00:00Z
PROJECT = ProjectId("p1")


class FakeClock:
    """A clock that moves only when told to."""

    def __init__(self, now: Moment = NOON) -> None:
        self._now = now

    def now(self) -> Moment:
        return self._now

    def advance(self, by: Micros) -> None:
        self._now += by


def run_id(number: int = 1) -> RunId:
    """The id of run `number`: a UUIDv7, so that ids sort by number."""
    return RunId(f"019b7a00-0000-7000-8000-{number:012x}")


def policy(*, attempts: int = 1, **changes: Any) -> Policy:
    """`attempts`, `delay` and the four limits by their bare names; everything else as in `Policy`."""
    limits = {name: changes.pop(name) for name in ("attempt", "queue", "idle", "total") if name in changes}
    retry = {name: changes.pop(name) for name in ("delay", "delay_max", "factor", "jitter") if name in changes}
    return Policy(retry=RetryPolicy(attempts_max=attempts, **retry), limits=TimeLimits(**limits), **changes)


def attempt(number: int = 1, **changes: Any) -> Attempt:
    defaults: dict[str, Any] = {
        "attempt_id": AttemptId(f"a{number}"),
        "attempt_no": number,
        "fence": number,
        "reason": AttemptReason.FIRST if number == 1 else AttemptReason.RETRY,
        "session_id": SessionId("s1"),
        "claimed_at": NOON,
    }
    return Attempt(**(defaults | changes))


def queued(number: int = 1, *, now: Moment = NOON, **changes: Any) -> Run:
    """A run as `create` leaves it; ready, unless the changes give it something to wait for."""
    defaults: dict[str, Any] = {
        "run_id": run_id(number),
        "project_id": PROJECT,
        "tool": "test",
        "lane": lane_of("default", "command", None),
        "status": Status.QUEUED,
        "policy": Policy(),
        "created_at": NOON,
        "event_sequence": 1,
    }
    return arm(Run(**(defaults | changes)), now)


def submitted(number: int = 1, *, attempt_no: int = 1, **changes: Any) -> Run:
    """Claimed, its start not acknowledged yet."""
    held: dict[str, Any] = {"status": Status.SUBMITTED, "attempt": attempt(attempt_no), "fence": attempt_no}
    return queued(number, **(held | {"attempts_done": attempt_no - 1} | changes))


def running(number: int = 1, *, attempt_no: int = 1, **changes: Any) -> Run:
    begun = attempt(attempt_no, started_at=NOON, provider="local")
    held: dict[str, Any] = {"status": Status.RUNNING, "attempt": begun, "started_at": NOON}
    return submitted(number, attempt_no=attempt_no, **(held | changes))


def retrying(number: int = 1, *, attempts_done: int = 1, **changes: Any) -> Run:
    """Between two attempts; ready, unless the changes name a `backoff_until`."""
    between: dict[str, Any] = {
        "status": Status.RETRYING,
        "attempts_done": attempts_done,
        "fence": attempts_done,
        "started_at": NOON,
    }
    return queued(number, **(between | {"next_reason": AttemptReason.RETRY} | changes))


def canceling(number: int = 1, **changes: Any) -> Run:
    """Running, and a stop was accepted."""
    asked: dict[str, Any] = {
        "status": Status.CANCELING,
        "cancellation": Cancellation(requested_at=NOON, requested_by="u1"),
    }
    return running(number, **(asked | changes))


def ended(status: Status, number: int = 1, **changes: Any) -> Run:
    """Over after one attempt (a canceled one: before it)."""
    facts: dict[Status, dict[str, Any]] = {
        Status.SUCCEEDED: {"result_sequence": 5},
        Status.FAILED: {"failure_kind": FailureKind.TOOL_ERROR, "error": "exit 1", "result_sequence": 5},
        Status.CANCELED: {
            "end_reason": EndReason.CANCELLED_BEFORE_START,
            "cancellation": Cancellation(requested_at=NOON),
        },
    }
    is_tried = status is not Status.CANCELED
    over: dict[str, Any] = {"status": status, "ended_at": NOON, "attempts_done": int(is_tried), "fence": int(is_tried)}
    run = queued(number, **(over | facts[status] | changes))
    return replace(run, ready_at=None, timer_at=None)


def in_status(status: Status, **changes: Any) -> Run:
    """A plain run in `status`."""
    match status:
        case Status.QUEUED:
            return queued(**changes)
        case Status.SUBMITTED:
            return submitted(**changes)
        case Status.RUNNING:
            return running(**changes)
        case Status.RETRYING:
            return retrying(**changes)
        case Status.CANCELING:
            return canceling(**changes)
        case Status.SUCCEEDED | Status.FAILED | Status.CANCELED:
            return ended(status, **changes)


def blocked(run: Run, interaction: str = "i1") -> Run:
    """`run` with one open question that blocks it."""
    overlay = Blocking(interaction_id=InteractionId(interaction), reason="approval", since=NOON)
    return replace(run, blocking=overlay, open_interactions=run.open_interactions + 1)


def facts(number: int = 1, **changes: Any) -> RunFacts:
    defaults: dict[str, Any] = {
        "run_id": run_id(number),
        "project_id": PROJECT,
        "request_id": f"req{number}",
        "resource_type": "tool",
        "resource_id": "tool1",
        "revision_id": "rev1",
        "channel_id": None,
        "input": {"mode": "tool", "arguments": {"target": "auth"}},
        "profile": {"pool": "default", "command": ["pytest", "-q", "{target}"]},
        "policy": {},
        "summary_spec": "auto",
    }
    return RunFacts(**(defaults | changes))


def claim(number: int = 1, session: str = "s1") -> Claim:
    return Claim(SessionId(session), AttemptId(f"a{number}"))


def settle(outcome: AttemptOutcome = AttemptOutcome.SUCCEEDED, **changes: Any) -> Settle:
    defaults: dict[str, Any] = {"fence": 1, "outcome": outcome, "draw": 0.0}
    return Settle(**(defaults | changes))


def lose(fence: int = 1, why: str = "its lease expired", draw: float = 0.0) -> Lose:
    return Lose(fence, why, draw)


def stored(events: Iterable[NewEvent], *, number: int = 1, after: int = 0, now: Moment = NOON) -> list[StoredEvent]:
    """`events` as the ledger keeps them, following the event with sequence `after`."""
    return [
        StoredEvent(
            run_id=run_id(number),
            project_id=PROJECT,
            sequence=sequence,
            position=sequence,
            type=event.type,
            created_at=now,
            body=event.body,
            data=event.data,
        )
        for sequence, event in enumerate(events, after + 1)
    ]


def head(number: int = 1, project: str = "p1", **changes: Any) -> Head:
    defaults: dict[str, Any] = {
        "run_id": run_id(number),
        "project_id": ProjectId(project),
        "lane": lane_of("default", "command", changes.pop("key", None)),
        "priority": 0,
        "ready_at": NOON,
        "concurrency_limit": 1,
    }
    return Head(**(defaults | changes))


def session(name: str = "w1", **changes: Any) -> Session:
    defaults: dict[str, Any] = {
        "session_id": SessionId(f"session-{name}"),
        "name": name,
        "incarnation": f"{name}-1",
        "connection_id": f"connection-{name}",
        "slots": 4,
        "offers": frozenset({"default/command"}),
        "labels": {},
        "attached_at": NOON,
        "heartbeat_at": NOON,
        "lease_until": NOON + 15 * SECOND,
    }
    return Session(**(defaults | changes))
