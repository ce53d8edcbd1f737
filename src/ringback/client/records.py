"""What the client returns: frozen values, each with the JSON object that it was read from in `raw`.

Moments are aware datetimes in UTC. How they are read: `reading`.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

FINAL_STATUSES = frozenset({"done", "failed", "cancelled"})
FINAL_RUN_STATUSES = frozenset({"succeeded", "failed", "canceled"})


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the work is, in its own units."""

    done: float | None = None
    total: float | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class JobSnapshot:
    """A job as the server saw it at one moment. `status` is queued, running, done, failed or cancelled."""

    job_id: str
    status: str
    tool: str | None = None
    created_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    summary: str | None = None
    progress: Progress | None = None
    failure_kind: str | None = None
    time_limit: str | None = None
    end_reason: str | None = None
    attempts: int = 0
    thread_id: str | None = None
    error_message: str | None = None
    tags: tuple[str, ...] = ()
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def is_final(self) -> bool:
        """Whether this status will never change."""
        return self.status in FINAL_STATUSES

    @property
    def is_timed_out(self) -> bool:
        """Whether a time limit ended it; its status is `failed`."""
        return self.status == "failed" and self.failure_kind in {"timeout", "expired"}


@dataclass(frozen=True, slots=True)
class JobResult:
    """What a job left behind, or one page of it; the last page has what there is once.

    Attributes:
        value: what a function returned; None also when it returned None or is a command, see `has_value`.
        items: what it published piece by piece.
        output: what it wrote, as readable text, both streams as they came. `Job.output` has the bytes.
        error: `{"kind", "message", …}` of a job that failed.
    """

    job_id: str
    status: str
    is_complete: bool
    value: Any = None
    has_value: bool = False
    items: tuple[Any, ...] | None = None
    output: str = ""
    summary: str | None = None
    exit_code: int | None = None
    signal: str | None = None
    error: Mapping[str, Any] | None = None
    next_cursor: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of a run's history. `sequence` counts from 1 without gaps; `data` is the event without its envelope."""

    run_id: str
    sequence: int
    type: str
    event_id: str
    created_at: datetime
    data: Mapping[str, Any]
    thread_id: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def is_final(self) -> bool:
        """Whether a reader needs nothing after this one."""
        return self.type == "run.status.changed" and self.data.get("status") in FINAL_RUN_STATUSES

    @property
    def output(self) -> bytes | None:
        """The bytes of an `output.chunk`, exactly as the work wrote them; None for every other type."""
        data = self.data.get("data")
        if self.type != "output.chunk" or not isinstance(data, str):
            return None
        return base64.b64decode(data) if self.data.get("encoding") == "base64" else data.encode()


@dataclass(frozen=True, slots=True)
class Interaction:
    """A question of a job.

    Attributes:
        kind: approval, confirmation, input or auth.
        status: open, answered, rejected, expired or withdrawn.
        options: `{"id", "label"?}` of each thing that can be chosen.
        response_schema: JSON Schema of the payload.
        response: the answer that counts, once there is one.
        respondents: the roles that may answer, each with those above it; none: whoever may answer questions at all.
    """

    interaction_id: str
    job_id: str
    kind: str
    status: str
    title: str
    description: str | None = None
    is_blocking: bool = True
    options: tuple[Mapping[str, Any], ...] = ()
    response_schema: Mapping[str, Any] | None = None
    expires_at: datetime | None = None
    response: Mapping[str, Any] | None = None
    respondents: tuple[str, ...] = ()
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def is_open(self) -> bool:
        """Whether it waits for an answer."""
        return self.status == "open"


@dataclass(frozen=True, slots=True)
class AnswerLink:
    """What answers a question, once, for whoever holds it. The address is a secret, and told once."""

    link_id: str
    url: str = field(repr=False)
    role: str
    expires_at: datetime | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that can be started."""

    name: str
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    mode: str = "job"
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Change:
    """What `apply` did, or would do: `added`, `changed` or `unchanged`. `diff`: `{pointer: {"from"?, "to"?}}`."""

    name: str
    change: str
    revision_id: str | None = None
    previous_revision_id: str | None = None
    diff: Mapping[str, Any] | None = None
    kind: str = "tool"
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Started:
    """The answer to a start. `is_replay` says that the idempotency key had started this job before."""

    job_id: str
    status: str
    is_replay: bool = False


@dataclass(frozen=True, slots=True)
class Replay:
    """A run's output rebuilt from its events alone, and whether it equals what the server stored."""

    is_identical: bool
    projection: Mapping[str, Any]
