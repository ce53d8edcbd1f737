"""Questions of runs on the run surface (camelCase). An absent fact is absent, never null."""

from __future__ import annotations

from typing import Any

from ringback.domain.ids import job_id_of
from ringback.domain.moments import rfc3339
from ringback.services.questions import Interaction
from ringback.views.moments import shown


def interaction(each: Interaction) -> dict[str, Any]:
    """A question as it stands."""
    question = each.question
    prompt = {name: question[name] for name in ("title", "description") if name in question}
    facts = {
        "interactionId": each.interaction_id,
        "runId": each.run_id,
        "jobId": job_id_of(each.run_id),
        "kind": each.kind,
        "blocking": each.is_blocking,
        "status": each.status,
        "prompt": prompt,
        "options": question.get("options"),
        "responseSchema": question.get("responseSchema"),
        "respondents": question.get("respondents"),
        "expiresAt": shown(each.expires_at),
        "onExpiry": question.get("onExpiry", "fail") if each.expires_at is not None else None,
        "openedAt": rfc3339(each.opened_at),
        "closedAt": shown(each.closed_at),
        "response": None if each.response is None else dict(each.response),
    }
    return {name: value for name, value in facts.items() if value is not None}
