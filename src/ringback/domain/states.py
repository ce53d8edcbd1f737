"""The states of a run, the arcs between them, and what each state is called on each surface.

`TRANSITIONS` is the law: `decide` refuses an arc that is not in it, the database repeats it as CHECK constraints, and the
table and the diagram in the docs are generated from it. A wait for a person adds no state; it is an overlay on the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Status(StrEnum):
    QUEUED = "queued"
    SUBMITTED = "submitted"
    RUNNING = "running"
    RETRYING = "retrying"
    CANCELING = "canceling"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"


TERMINAL = frozenset({Status.SUCCEEDED, Status.FAILED, Status.CANCELED})
ACTIVE = frozenset(Status) - TERMINAL
HELD = frozenset({Status.SUBMITTED, Status.RUNNING, Status.CANCELING})  # a worker session holds the run
WAITING = frozenset({Status.QUEUED, Status.RETRYING})  # the next claim may take it


class FailureKind(StrEnum):
    """Why a run ended `failed`."""

    TOOL_ERROR = "tool_error"
    TIMEOUT = "timeout"
    DEPENDENCY_FAILED = "dependency_failed"
    ATTEMPTS_EXHAUSTED = "attempts_exhausted"
    REJECTED = "rejected"
    EXPIRED = "expired"
    LOST = "lost"
    CANCEL_FAILED = "cancel_failed"
    INTERNAL = "internal"
    INVALID_PARAMS = "invalid_params"


MACHINERY_FAILURES = frozenset({FailureKind.INTERNAL, FailureKind.LOST, FailureKind.INVALID_PARAMS})


class EndReason(StrEnum):
    """What became of an accepted stop."""

    CANCELLED_BEFORE_START = "cancelled_before_start"
    CANCELLED_COOPERATIVELY = "cancelled_cooperatively"
    CANCEL_FORCED = "cancel_forced"
    COMPLETED_DESPITE_CANCEL = "completed_despite_cancel"
    CANCEL_UNCONFIRMED = "cancel_unconfirmed"


class TimeLimit(StrEnum):
    """The four limits of time that a run can hit."""

    ATTEMPT = "attempt"  # one attempt ran too long
    QUEUE = "queue"  # it waited too long for its first attempt
    IDLE = "idle"  # an attempt gave no sign of life for too long
    DEADLINE = "deadline"  # the run as a whole, queue time included


_S = Status
TRANSITIONS: Mapping[Status, Mapping[Status, str]] = {
    _S.QUEUED: {
        _S.SUBMITTED: "a worker claimed it",
        _S.CANCELED: "stopped before it started",
        _S.FAILED: "dependency_failed, expired, rejected",
    },
    _S.SUBMITTED: {
        _S.RUNNING: "the attempt started",
        _S.RETRYING: "lost or given back before it started",
        _S.CANCELING: "stop accepted",
        _S.FAILED: "timeout, attempts_exhausted, invalid_params",
    },
    _S.RUNNING: {
        _S.SUCCEEDED: "the work succeeded",
        _S.FAILED: "the work failed, timed out or was lost, and no attempt is left",
        _S.RETRYING: "the attempt failed or was lost, and another one is allowed; or it gave its slot back for an answer",
        _S.CANCELING: "stop accepted",
    },
    _S.RETRYING: {
        _S.SUBMITTED: "a worker claimed the next attempt",
        _S.CANCELED: "stopped between attempts",
        _S.FAILED: "timeout: the deadline passed between attempts",
    },
    _S.CANCELING: {
        _S.CANCELED: "the work is gone, or its worker is",
        _S.SUCCEEDED: "it completed despite the stop",
        _S.FAILED: "it failed by itself, or could not be stopped",
    },
    _S.SUCCEEDED: {},
    _S.FAILED: {},
    _S.CANCELED: {},
}


def async_run_word(status: Status, attempt_no: int) -> str:
    """The word of the async-run surface: queued, pending, running, succeeded, failed, cancelled."""
    match status:
        case Status.QUEUED | Status.SUCCEEDED | Status.FAILED:
            return status.value
        case Status.SUBMITTED if attempt_no <= 1:
            return "pending"
        case Status.CANCELED:
            return "cancelled"
        case _:
            return "running"


def job_word(status: Status, attempt_no: int) -> str:
    """The word of the job surface: queued, running, done, failed, cancelled."""
    match async_run_word(status, attempt_no):
        case "pending":
            return "queued"
        case "succeeded":
            return "done"
        case word:
            return word


def task_word(status: Status, failure: FailureKind | None, *, is_blocked: bool) -> str:
    """The word of an MCP task: working, input_required, completed, failed, cancelled."""
    match status:
        case Status.SUCCEEDED:
            return "completed"
        case Status.FAILED:
            return "failed" if failure in MACHINERY_FAILURES else "completed"
        case Status.CANCELED:
            return "cancelled"
        case _:
            return "input_required" if is_blocked else "working"


def a2a_word(status: Status, attempt_no: int, *, blocked_by: str | None) -> str:
    """The word of an A2A task. `blocked_by` is the kind of the blocking interaction."""
    if status not in TERMINAL and blocked_by is not None:
        return "AUTH_REQUIRED" if blocked_by == "auth" else "INPUT_REQUIRED"
    match job_word(status, attempt_no):
        case "queued":
            return "SUBMITTED"
        case "running":
            return "WORKING"
        case "done":
            return "COMPLETED"
        case "failed":
            return "FAILED"
        case _:
            return "CANCELED"
