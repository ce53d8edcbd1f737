"""A run, its current attempt, and the commands that can change it. Data only: `decide` holds the rules.

A run's creation facts (input, profile, tags …) never change and live apart in `RunFacts`, so that a step of the state machine
neither loads nor writes them. Records that are copied on the way are not slotted; `records` says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

from ringback.domain.budget import Budget
from ringback.domain.ids import AttemptId, InteractionId, ProjectId, RunId, SessionId
from ringback.domain.moments import Micros, Moment
from ringback.domain.policy import Policy
from ringback.domain.runtimes import Attachment
from ringback.domain.states import HELD, TERMINAL, WAITING, EndReason, FailureKind, Status, TimeLimit


class AttemptReason(StrEnum):
    """Why an attempt exists."""

    FIRST = "first"
    RETRY = "retry"
    LOST = "lost"
    ANSWER = "answer"


class AttemptOutcome(StrEnum):
    """How an attempt ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    STOPPED = "stopped"
    RELEASED = "released"
    LOST = "lost"


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One execution. `fence` grows with every claim of the run; whoever writes for an attempt shows it.

    Attributes:
        heard: the number of its last report of events, so that one which is sent again adds nothing twice.
        connection_id, epoch, capability_set: the attach that carries it out, and what was agreed there; frozen by the claim.
    """

    attempt_id: AttemptId
    attempt_no: int
    fence: int
    reason: AttemptReason
    session_id: SessionId
    claimed_at: Moment
    started_at: Moment | None = None
    run_space_id: str | None = None
    provider: str | None = None
    heard: int = 0
    connection_id: str | None = None
    epoch: int | None = None
    capability_set: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedAttempt:
    """An attempt as it went into the record; never changed again.

    Attributes:
        late: what its worker brought after it had been superseded: evidence, and nothing more.
    """

    attempt: Attempt
    ended_at: Moment
    outcome: AttemptOutcome
    error: str | None
    late: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Cancellation:
    """The evidence of a stop: asked for, delivered to the work, acknowledged by it."""

    requested_at: Moment
    requested_by: str | None = None
    reason: str | None = None
    delivered_at: Moment | None = None
    acknowledged_at: Moment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocking:
    """The overlay of a wait for somebody: set together, cleared together."""

    interaction_id: InteractionId
    reason: str
    since: Moment


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run as last decided.

    Attributes:
        lane: where it queues: project-wide pool, need and concurrency key (see `admission`).
        attempts_done: attempts that have ended, whatever their outcome.
        attempts_parked: those of them that gave their slot back until their question is answered; no budget counts them.
        ready_at: set exactly while a claim may take it.
        timer_at: when `Tick` has something to decide, at the latest.
        waiting_on: upstream runs whose end it still awaits.
        result_sequence: where in its events the result lies.
        dependents, children: how many runs wait for it, and how many it started.
        descendants: how many runs came from it in all, where somebody bounds that.
        notify: the caller whose inbox hears of it; None: nobody's.
    """

    run_id: RunId
    project_id: ProjectId
    tool: str
    lane: str
    status: Status
    policy: Policy
    created_at: Moment
    thread_id: str | None = None
    notify: str | None = None
    not_before: Moment | None = None
    deadline_at: Moment | None = None
    runs_always: bool = False
    waiting_on: tuple[RunId, ...] = ()
    version: int = 1
    event_sequence: int = 0
    fence: int = 0
    attempt: Attempt | None = None
    attempts_done: int = 0
    attempts_parked: int = 0
    next_reason: AttemptReason = AttemptReason.FIRST
    backoff_until: Moment | None = None
    ready_at: Moment | None = None
    timer_at: Moment | None = None
    started_at: Moment | None = None
    ended_at: Moment | None = None
    failure_kind: FailureKind | None = None
    end_reason: EndReason | None = None
    time_limit: TimeLimit | None = None
    error: str | None = None
    summary: str | None = None
    progress: Mapping[str, Any] | None = None
    result_sequence: int | None = None
    cancellation: Cancellation | None = None
    blocking: Blocking | None = None
    open_interactions: int = 0
    dependents: int = 0
    children: int = 0
    descendants: int = 0

    @property
    def is_terminal(self) -> bool:
        return self.status in TERMINAL

    @property
    def is_held(self) -> bool:
        return self.status in HELD

    @property
    def is_parked(self) -> bool:
        """Whether it waits for an answer and holds no slot: the next attempt begins when its question is over."""
        return self.status in WAITING and self.blocking is not None

    @property
    def attempts_spent(self) -> int:
        """The ended attempts that count against the budgets of the policy."""
        return self.attempts_done - self.attempts_parked

    @property
    def attempt_no(self) -> int:
        """The number of the current attempt, or of the last one; 0 before the first."""
        return self.attempts_done + (self.attempt is not None)


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """What was true at creation and stays so: the snapshots and where the run came from."""

    run_id: RunId
    project_id: ProjectId
    request_id: str
    resource_type: str
    resource_id: str
    revision_id: str
    channel_id: str | None
    input: Mapping[str, Any]
    profile: Mapping[str, Any]
    policy: Mapping[str, Any]
    summary_spec: Any
    depends_on: tuple[RunId, ...] = ()
    context_id: str | None = None
    tags: tuple[str, ...] = ()
    traceparent: str | None = None
    created_by: str | None = None
    source: str = "api"
    parent_id: RunId | None = None
    relation: str | None = None


class NewEvent(NamedTuple):
    """An event before it has a place in the sequence. `data` is bytes of output, kept as they came."""

    type: str
    body: Mapping[str, Any]
    data: bytes | None = None


@dataclass(frozen=True)
class Decision:
    """A run as it should become, and what is to be recorded with it, oldest first."""

    run: Run
    events: tuple[NewEvent, ...] = ()
    ended: EndedAttempt | None = None
    outbox: tuple[str, ...] = ()


# --- commands -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Claim:
    session_id: SessionId
    attempt_id: AttemptId
    attachment: Attachment | None = None


@dataclass(frozen=True, slots=True)
class Start:
    fence: int
    provider: str = "local"
    run_space_id: str | None = None


@dataclass(frozen=True, slots=True)
class Occupy:
    """The attempt has a run space of its own."""

    fence: int
    run_space_id: str


@dataclass(frozen=True, slots=True)
class Append:
    """Events of a running attempt; `progress` replaces the run's progress.

    Attributes:
        number: which report of the attempt this is, from 1; one that was heard before is a repetition. None: not counted.
    """

    fence: int
    events: tuple[NewEvent, ...]
    progress: Mapping[str, Any] | None = None
    cancel_delivered: bool = False
    cancel_acknowledged: bool = False
    number: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settle:
    """How an attempt ended, as its worker saw it. `draw` in [0, 1) spreads a retry.

    Attributes:
        is_parked: a released attempt that gave its slot back by itself, until the question that blocks the run is over.
    """

    fence: int
    outcome: AttemptOutcome
    draw: float
    result: Mapping[str, Any] = field(default_factory=dict)
    summary: str | None = None
    error_kind: FailureKind | None = None
    error: str | None = None
    time_limit: TimeLimit | None = None
    was_forced: bool = False
    is_retryable: bool = True
    is_parked: bool = False


@dataclass(frozen=True, slots=True)
class Lose:
    """The worker session that held the attempt is over, or no longer knows it."""

    fence: int
    why: str
    draw: float


@dataclass(frozen=True, slots=True)
class Cancel:
    by: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class UpstreamEnded:
    upstream_id: RunId
    has_succeeded: bool


@dataclass(frozen=True, slots=True)
class Ask:
    """An interaction was opened on the run; a blocking one sets the overlay."""

    interaction_id: InteractionId
    is_blocking: bool
    reason: str


@dataclass(frozen=True, slots=True)
class CloseInteraction:
    """A question is over. `is_counted`: it is one of those that the run counts, not left by an attempt that is over."""

    interaction_id: InteractionId
    status: str
    is_counted: bool = True


@dataclass(frozen=True, slots=True)
class Continue:
    """A request for the session that the run is; its number is that of its event."""

    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed: let whatever limit is due fire."""


@dataclass(frozen=True, slots=True)
class NoteDependent:
    """Another run waits for this one from now on."""


@dataclass(frozen=True, slots=True)
class NoteDescendant:
    """A run came from this one, so many generations below; `budget` is what may."""

    generations: int
    budget: Budget


@dataclass(frozen=True, slots=True)
class NoteChild:
    """The run's attempt started another run."""

    fence: int
    child_id: RunId
    relation: str


Command: TypeAlias = (
    Claim
    | Start
    | Occupy
    | Append
    | Settle
    | Lose
    | Cancel
    | UpstreamEnded
    | Ask
    | CloseInteraction
    | Continue
    | Tick
    | NoteDependent
    | NoteDescendant
    | NoteChild
)

BACKSTOP: Micros = 60_000_000  # how long after a limit the ledger waits for the worker that should have enforced it
