"""What stands in an inbox: the facts of a notice, and the text that a model reads."""

from __future__ import annotations

from typing import Any

from ringback.domain.ids import job_id_of
from ringback.domain.moments import rfc3339
from ringback.domain.notice_text import event_text
from ringback.domain.notices import NoticeKind
from ringback.domain.states import job_word
from ringback.services.inbox import Notice


def notice(each: Notice) -> dict[str, Any]:
    """One item of an inbox (camelCase). An absent fact is absent, never null."""
    run = each.run
    job_id, status = job_id_of(run.run_id), job_word(run.status, run.attempt_no)
    said = _said(each)
    facts = {
        "itemId": each.item_id,
        "type": each.kind.value,
        "runId": run.run_id,
        "jobId": job_id,
        "tool": run.tool,
        "status": status,
        "eventId": each.item_id,
        "sequence": each.sequence,
        "createdAt": rfc3339(each.created_at),
        "threadId": run.thread_id,
        "interactionId": run.blocking and run.blocking.interaction_id,
        "failureKind": run.failure_kind and run.failure_kind.value,
        "summary": said,
        "text": event_text(
            each.kind.value,
            job_id=job_id,
            tool=run.tool,
            status=status,
            event_id=each.item_id,
            sequence=each.sequence,
            said=said,
        ),
    }
    return {name: value for name, value in facts.items() if value is not None}


def _said(each: Notice) -> str | None:
    """Text from the work, or about it."""
    run = each.run
    if each.kind is NoticeKind.INPUT_REQUIRED:
        return None if run.blocking is None else run.blocking.reason
    return run.summary or (run.error if run.failure_kind else None)
