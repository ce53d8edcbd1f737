"""JSON into records: tolerant of what a newer server adds, strict about what every server must say."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from ringback.client.errors import ProtocolError
from ringback.client.records import AnswerLink, Change, Event, Interaction, JobResult, JobSnapshot, Progress, Tool


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


def interaction(body: Any) -> Interaction:
    """Read a question."""
    prompt = body.get("prompt") if isinstance(body, Mapping) else None
    return Interaction(
        interaction_id=_text(body, "interactionId"),
        job_id=_text(body, "jobId"),
        kind=_text(body, "kind"),
        status=_text(body, "status"),
        title=_text(prompt, "title"),
        description=prompt.get("description") if isinstance(prompt, Mapping) else None,
        is_blocking=bool(body.get("blocking", True)),
        options=tuple(body.get("options") or ()),
        response_schema=body.get("responseSchema"),
        expires_at=_moment(body, "expiresAt"),
        response=body.get("response"),
        respondents=tuple(body.get("respondents") or ()),
        raw=body,
    )


def answer_link(body: Any) -> AnswerLink:
    """Read a link to a question."""
    return AnswerLink(
        link_id=_text(body, "linkId"),
        url=_text(body, "url"),
        role=_text(body, "role"),
        expires_at=_moment(body, "expiresAt"),
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
        kind=body.get("resourceType") or "tool",
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
