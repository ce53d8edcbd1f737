"""What the client returns: frozen values, each with the JSON object that it was read from in `raw`.

Reading is tolerant of what a newer server adds and strict about what every server must say. Moments are aware
datetimes in UTC.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from ringback.client.errors import ProtocolError

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
class Tool:
    """A tool that can be started."""

    name: str
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    mode: str = "job"
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Change:
    """What `apply` did, or would do, to one tool: `added`, `changed` or `unchanged`. `diff`: `{pointer: {"from"?, "to"?}}`."""

    name: str
    change: str
    revision_id: str | None = None
    previous_revision_id: str | None = None
    diff: Mapping[str, Any] | None = None
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


def job_snapshot(body: Any) -> JobSnapshot:
    """Read a job's status document."""
    progress = body.get("progress") if isinstance(body, Mapping) else None
    return JobSnapshot(
        job_id=_text(body, "job_id"),
        status=_text(body, "status"),
        tool=body.get("tool"),
        created_at=_moment(body, "created_at"),
        started_at=_moment(body, "started_at"),
        finished_at=_moment(body, "finished_at"),
        summary=body.get("summary"),
        progress=_progress(progress) if isinstance(progress, Mapping) else None,
        failure_kind=body.get("error_kind"),
        time_limit=body.get("time_limit"),
        end_reason=body.get("end_reason"),
        attempts=int(body.get("attempts") or 0),
        thread_id=body.get("thread_id"),
        error_message=body.get("error_message"),
        tags=tuple(body.get("tags") or ()),
        raw=body,
    )


def job_result(body: Any) -> JobResult:
    """Read one page of a job's result."""
    items = body.get("items") if isinstance(body, Mapping) else None
    return JobResult(
        job_id=_text(body, "job_id"),
        status=_text(body, "status"),
        is_complete=bool(body.get("complete", True)),
        value=body.get("result"),
        has_value="result" in body,
        items=tuple(items) if isinstance(items, list) else None,
        output=body.get("output") or "",
        summary=body.get("summary"),
        exit_code=body.get("exit_code"),
        signal=body.get("signal"),
        error=body.get("error"),
        next_cursor=body.get("next_cursor"),
        raw=body,
    )


def joined(pages: Sequence[JobResult]) -> JobResult:
    """The pages of one result as one: items in order, output joined, the rest from the last."""
    last = pages[-1]
    if len(pages) == 1:
        return last
    items = [item for page in pages for item in page.items or ()]
    has_items = any(page.items is not None for page in pages)
    output = "".join(page.output for page in pages)
    raw = {**last.raw, **({"items": items} if has_items else {}), **({"output": output} if output else {})}
    return replace(last, items=tuple(items) if has_items else None, output=output, raw=raw)


def event(body: Any) -> Event:
    """Read an event with its envelope."""
    inner = body.get("event") if isinstance(body, Mapping) else None
    if not isinstance(inner, Mapping) or not isinstance(body.get("sequence"), int):
        raise ProtocolError("an event without its envelope")
    created_at = _moment(inner, "createdAt")
    if created_at is None:
        raise ProtocolError("an event without createdAt")
    return Event(
        run_id=_text(body, "runId"),
        sequence=body["sequence"],
        type=_text(inner, "type"),
        event_id=_text(inner, "eventId"),
        created_at=created_at,
        data={name: value for name, value in inner.items() if name not in {"type", "eventId", "createdAt"}},
        thread_id=body.get("threadId"),
        raw=body,
    )


def tool(body: Any) -> Tool:
    """Read a tool."""
    return Tool(
        name=_text(body, "name"),
        description=body.get("description") or "",
        input_schema=body.get("inputSchema") or {},
        mode=body.get("mode") or "job",
        raw=body,
    )


def change(body: Any) -> Change:
    """Read one line of an apply's answer."""
    return Change(
        name=_text(body, "name"),
        change=_text(body, "change"),
        revision_id=body.get("revisionId"),
        previous_revision_id=body.get("previousRevisionId"),
        diff=body.get("diff"),
        raw=body,
    )


def _text(body: Any, name: str) -> str:
    value = body.get(name) if isinstance(body, Mapping) else None
    if not isinstance(value, str):
        raise ProtocolError(f"the answer has no text member {name!r}")
    return value


def _moment(body: Mapping[str, Any], name: str) -> datetime | None:
    value = body.get(name)
    if value is None:
        return None
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise ProtocolError(f"{name!r} is not a moment") from None


def _progress(body: Mapping[str, Any]) -> Progress:
    return Progress(body.get("done"), body.get("total"), body.get("message"))
