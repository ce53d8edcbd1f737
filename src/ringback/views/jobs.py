"""The job surface (snake_case): what a job looks like to whoever started it. An absent fact is absent, never null."""

from __future__ import annotations

from typing import Any

from ringback.domain.ids import job_id_of
from ringback.domain.moments import rfc3339
from ringback.domain.runs import Run, RunFacts
from ringback.domain.states import job_word
from ringback.services.results import ResultPage
from ringback.services.runs import Details
from ringback.summaries.text import clean_text
from ringback.views.moments import shown


def accepted(run: Run) -> dict[str, str]:
    """The answer to a start: always this one shape, however often it is asked for."""
    return {"job_id": job_id_of(run.run_id), "status": "queued"}


def job(run: Run) -> dict[str, Any]:
    """A job in a list."""
    cancellation = run.cancellation
    facts = {
        "job_id": job_id_of(run.run_id),
        "status": job_word(run.status, run.attempt_no),
        "tool": run.tool,
        "progress": run.progress,
        "summary": run.summary,
        "error_kind": run.failure_kind and run.failure_kind.value,
        "error_message": run.error if run.failure_kind else None,
        "time_limit": run.time_limit and run.time_limit.value,
        "end_reason": run.end_reason and run.end_reason.value,
        "cancel_requested_at": shown(cancellation.requested_at) if cancellation else None,
        "attempts": run.attempt_no,
        "thread_id": run.thread_id,
        "created_at": rfc3339(run.created_at),
        "started_at": shown(run.started_at),
        "finished_at": shown(run.ended_at),
        "deadline_at": shown(run.deadline_at),
    }
    return {name: value for name, value in facts.items() if value is not None}


def job_in_full(details: Details) -> dict[str, Any]:
    """A job looked at by itself."""
    body = job(details.run)
    facts: RunFacts = details.facts
    more = {
        "queue_position": details.queue_position,
        "waiting_for": details.waiting_for,
        "tags": list(facts.tags) or None,
        "depends_on": [job_id_of(each) for each in facts.depends_on] or None,
        "parent_job_id": job_id_of(facts.parent_id) if facts.parent_id else None,
        "request_id": facts.request_id,
        "expires_at": shown(details.expires_at),
    }
    return body | {name: value for name, value in more.items() if value is not None}


def job_result(page: ResultPage) -> dict[str, Any]:
    """A part of a result. Output is shown as text: bytes that are no UTF-8 become U+FFFD, terminal codes are left out."""
    run = page.run
    body: dict[str, Any] = {
        "job_id": job_id_of(run.run_id),
        "status": job_word(run.status, run.attempt_no),
        "complete": run.is_terminal and page.next_cursor is None,
    }
    if page.items is not None:
        body["items"] = page.items
    if page.output or page.items is None:
        body["output"] = clean_text(page.output)
    if page.dropped:
        body["output_dropped_bytes"] = page.dropped
    value = page.value or {}
    for name, key in (("result", "result"), ("exit_code", "exitCode"), ("signal", "signal"), ("error", "error")):
        if key in value:
            body[name] = value[key]
    if run.is_terminal and page.next_cursor is None and run.summary is not None:
        body["summary"] = run.summary
    if page.next_cursor is not None:
        body["next_cursor"] = page.next_cursor
    return body
