"""Requests to sessions on the run surface (camelCase). An absent fact is absent, never null."""

from __future__ import annotations

from typing import Any

from ringback.domain.moments import rfc3339
from ringback.services.continuations import Continuation
from ringback.views.moments import shown


def continuation(each: Continuation) -> dict[str, Any]:
    """A request as it stands. The response is a JSON-RPC result or error, with the caller's own id where there is one."""
    facts = {
        "runId": each.run.run_id,
        "number": each.number,
        "status": each.status,
        "request": dict(each.request),
        "askedBy": each.asked_by,
        "askedAt": rfc3339(each.asked_at),
        "answeredAt": shown(each.answered_at),
        "response": None if each.response is None else _response(each),
    }
    return {name: value for name, value in facts.items() if value is not None}


def _response(each: Continuation) -> dict[str, Any]:
    assert each.response is not None
    named = {"id": each.request["id"]} if "id" in each.request else {}
    return {**named, **each.response}
