"""What a run's row must say, told by its events alone: a row is a projection of the events, and can be made again.

Not told, and so never made again: what belongs to the scheduler and the lease of a run under way (fence, session, place and
back-off of the next attempt, upstream runs it still awaits), and counts of runs that came from elsewhere (dependents,
descendants). No event shows them, and none of them is shown to users of a run that has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ringback.domain.events import StoredEvent
from ringback.domain.ids import InteractionId, RunId
from ringback.domain.moments import Moment
from ringback.domain.records import replace
from ringback.domain.runs import AttemptReason, Blocking, Cancellation
from ringback.domain.states import TERMINAL, Status

TELLING = (
    "run.status.changed",
    "attempt.started",
    "attempt.ended",
    "state.updated",
    "cancel.requested",
    "cancel.delivered",
    "cancel.acknowledged",
    "interaction.requested",
    "interaction.responded",
    "interaction.updated",
    "link.created",
)


@dataclass(slots=True, kw_only=True)
class Tried:
    """An attempt as events tell of it."""

    attempt_id: str
    attempt_no: int
    reason: str
    claimed_at: Moment
    started_at: Moment | None = None
    ended_at: Moment | None = None
    outcome: str | None = None
    error: str | None = None


@dataclass(slots=True, kw_only=True)
class Asked:
    """A question as events tell of it; `status` is None where it ended with its attempt or run, without an event."""

    is_blocking: bool
    status: str | None = "open"
    closed_at: Moment | None = None


@dataclass(slots=True, kw_only=True)
class Standing:
    """The facts of a run that follow from its events."""

    status: Status | None = None
    attempts: list[Tried] = field(default_factory=list)
    next_reason: AttemptReason = AttemptReason.FIRST
    started_at: Moment | None = None
    ended_at: Moment | None = None
    failure_kind: str | None = None
    end_reason: str | None = None
    time_limit: str | None = None
    error: str | None = None
    summary: str | None = None
    progress: Mapping[str, Any] | None = None
    result_sequence: int | None = None
    cancellation: Cancellation | None = None
    blocking: Blocking | None = None
    questions: dict[InteractionId, Asked] = field(default_factory=dict)
    children: list[tuple[str, RunId, Moment]] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        return self.status in TERMINAL

    @property
    def attempts_done(self) -> int:
        return sum(each.ended_at is not None for each in self.attempts)

    @property
    def open_interactions(self) -> int:
        return sum(each.status == "open" for each in self.questions.values())

    def take(self, event: StoredEvent) -> None:
        """Go one event on; one of another type tells nothing."""
        if (taker := _TAKERS.get(event.type)) is not None:
            taker(self, event)

    def _status(self, event: StoredEvent) -> None:
        body, now = event.body, event.created_at
        self.status = Status(body["to"])
        if self.status is Status.SUBMITTED:
            claimed = {"attempt_id": body["attemptId"], "attempt_no": body["attemptNo"], "reason": body["reason"]}
            self.attempts.append(Tried(**claimed, claimed_at=now))
        elif self.status is Status.RETRYING:
            self.next_reason = AttemptReason(body["reason"])
            self._let_questions_go()
        elif self.is_over:
            self.ended_at = now
            self.failure_kind, self.end_reason = body.get("failureKind"), body.get("endReason")
            self.time_limit, self.error, self.summary = body.get("timeLimit"), body.get("error"), body.get("summary")
            self.result_sequence = body.get("resultSequence")
            self._let_questions_go()

    def _let_questions_go(self) -> None:
        self.blocking = None
        for each in self.questions.values():
            if each.status == "open":
                each.status = None

    def _started(self, event: StoredEvent) -> None:
        self.attempts[-1].started_at = event.created_at
        self.started_at = self.started_at or event.created_at

    def _ended(self, event: StoredEvent) -> None:
        attempt = self.attempts[-1]
        attempt.ended_at, attempt.outcome, attempt.error = (
            event.created_at,
            event.body["outcome"],
            event.body.get("error"),
        )

    def _progress(self, event: StoredEvent) -> None:
        self.progress = event.body["progress"]

    def _cancel_requested(self, event: StoredEvent) -> None:
        by, reason = event.body.get("by"), event.body.get("reason")
        self.cancellation = Cancellation(requested_at=event.created_at, requested_by=by, reason=reason)

    def _cancel_delivered(self, event: StoredEvent) -> None:
        if self.cancellation is not None:
            self.cancellation = replace(self.cancellation, delivered_at=event.created_at)

    def _cancel_acknowledged(self, event: StoredEvent) -> None:
        if self.cancellation is not None:
            self.cancellation = replace(self.cancellation, acknowledged_at=event.created_at)

    def _asked(self, event: StoredEvent) -> None:
        interaction_id, body = InteractionId(event.body["interactionId"]), event.body
        self.questions[interaction_id] = Asked(is_blocking=body["blocking"])
        if body["blocking"]:
            reason = body["reason"]
            self.blocking = Blocking(interaction_id=interaction_id, reason=reason, since=event.created_at)

    def _closed(self, event: StoredEvent) -> None:
        interaction_id = InteractionId(event.body["interactionId"])
        if (asked := self.questions.get(interaction_id)) is not None:
            asked.status, asked.closed_at = event.body["status"], event.created_at
        if self.blocking is not None and self.blocking.interaction_id == interaction_id:
            self.blocking = None

    def _linked(self, event: StoredEvent) -> None:
        self.children.append((event.body["relationType"], RunId(event.body["toRunId"]), event.created_at))


_TAKERS: Mapping[str, Callable[[Standing, StoredEvent], None]] = dict(
    zip(
        TELLING,
        (
            Standing._status,
            Standing._started,
            Standing._ended,
            Standing._progress,
            Standing._cancel_requested,
            Standing._cancel_delivered,
            Standing._cancel_acknowledged,
            Standing._asked,
            Standing._closed,
            Standing._closed,
            Standing._linked,
        ),
        strict=True,
    )
)


def standing_of(events: Iterable[StoredEvent]) -> Standing:
    """How a run stands after `events`, which are in order and hold each of a type in `TELLING`."""
    standing = Standing()
    for event in events:
        standing.take(event)
    return standing
