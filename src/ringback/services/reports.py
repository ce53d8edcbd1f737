"""What a worker reports, as commands of the state machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never

from ringback.domain.ids import RunId
from ringback.domain.runs import Append, AttemptOutcome, NewEvent, Settle, Start
from ringback.domain.states import FailureKind, TimeLimit

SUMMARY_MAX = 500
ERROR_MAX = 4_000
MESSAGE_MAX = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class StartReport:
    """The worker is about to start user code, and does so only if this is accepted."""

    run_id: RunId
    fence: int
    provider: str | None = None
    run_space_id: str | None = None
    checkpoint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsReport:
    """Output, pages, progress, evidence of a stop, in the order in which they came.

    Attributes:
        events: in the ledger's own shape; the door has checked them.
        checkpoint: JSON text that the next attempt finds.
        number: which report of events of the attempt this is, from 1; one that comes again adds nothing.
    """

    run_id: RunId
    fence: int
    events: tuple[NewEvent, ...] = ()
    progress: Mapping[str, Any] | None = None
    cancel_delivered: bool = False
    cancel_acknowledged: bool = False
    checkpoint: str | None = None
    number: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildReport:
    """The attempt starts another run. `request_id` makes a repeated report start it once.

    Attributes:
        arguments: of an agent or a session, what its input holds.
        revision_id: the revision that is meant, where the attempt knows it.
    """

    run_id: RunId
    fence: int
    request_id: str
    tool: str
    arguments: Mapping[str, Any]
    relation: str = "tool_subrun"
    revision_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LookReport:
    """The attempt wants to know how runs stand that it started."""

    run_id: RunId
    fence: int
    children: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinueReport:
    """The attempt puts a request to a session that it opened, or asks for its answer: the same id is the same request."""

    run_id: RunId
    fence: int
    child: str
    request: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskReport:
    """The attempt asks people something, or how that stands. The question's key makes repeated reports one question.

    Attributes:
        interaction_id: the question, once it is known: then it is looked at, and never asked anew.
    """

    run_id: RunId
    fence: int
    question: Mapping[str, Any]
    interaction_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawReport:
    """The attempt no longer wants to know what it asked under `key`."""

    run_id: RunId
    fence: int
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallbackReport:
    """The attempt wants the callback address of the run's job number `start_no`, or to know what came in at it.

    Attributes:
        secret: the name of the secret that deliveries are signed with.
    """

    run_id: RunId
    fence: int
    start_no: int
    secret: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestsReport:
    """The attempt, a hosted session, wants the requests that were put to it behind the number `after`."""

    run_id: RunId
    fence: int
    after: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceReport:
    """How a run space lives that was made for the attempt."""

    run_id: RunId
    fence: int
    run_space_id: str
    status: str
    provider_type: str = "custom"
    kind: str = "custom"
    locator: str | None = None
    reason: str | None = None
    is_kept: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UseReport:
    """The attempt uses a capability that the server serves.

    Attributes:
        capability: `kv.read`, `kv.write`, `secrets.read` or `config.read`.
        key: of the value, or the name of the secret.
        value: JSON text to be kept; None deletes.
        if_version: the version that the value must have, 0 for none yet.
        request_id: makes a repeated write the same one.
    """

    run_id: RunId
    fence: int
    capability: str
    key: str = ""
    value: str | None = None
    if_version: int | None = None
    request_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleReport:
    """How the attempt ended."""

    run_id: RunId
    fence: int
    outcome: AttemptOutcome
    result: Mapping[str, Any]
    summary: str | None = None
    error_kind: FailureKind | None = None
    error: str | None = None
    time_limit: TimeLimit | None = None
    was_forced: bool = False
    is_retryable: bool = True
    is_parked: bool = False
    checkpoint: str | None = None


Decided: TypeAlias = StartReport | EventsReport | SettleReport  # the state machine decides them
Asked: TypeAlias = (
    ChildReport
    | AskReport
    | WithdrawReport
    | CallbackReport
    | RequestsReport
    | SpaceReport
    | LookReport
    | ContinueReport
    | UseReport
)
Report: TypeAlias = Decided | Asked


def command_of(report: Decided, *, draw: float, provider: str) -> Start | Append | Settle:
    """The command that `report` stands for. `draw` in [0, 1) spreads a retry; `provider` is the session's."""
    match report:
        case StartReport():
            return Start(report.fence, report.provider or provider, report.run_space_id)
        case EventsReport():
            return Append(
                report.fence,
                report.events,
                progress=report.progress,
                cancel_delivered=report.cancel_delivered,
                cancel_acknowledged=report.cancel_acknowledged,
                number=report.number,
            )
        case SettleReport():
            return Settle(
                fence=report.fence,
                outcome=report.outcome,
                draw=draw,
                result=report.result,
                summary=report.summary,
                error_kind=report.error_kind,
                error=report.error,
                time_limit=report.time_limit,
                was_forced=report.was_forced,
                is_retryable=report.is_retryable,
                is_parked=report.is_parked,
            )
        case _:
            assert_never(report)
