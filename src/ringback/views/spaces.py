"""Run spaces on the run surface (camelCase)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ringback.domain.moments import rfc3339
from ringback.domain.spaces import shared_space_of
from ringback.services.access import Project
from ringback.services.connections import Connected
from ringback.views.moments import shown

_HELD = ("ready", "occupied")


def run_space(row: Mapping[str, Any], project: Project, steps: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """A space that an attempt had for itself; looked at alone with the steps of its life."""
    is_held = row["status"] in _HELD and not row["kept"]
    facts = {
        "runSpaceId": row["run_space_id"],
        "orgId": project.org_id,
        "providerType": row["provider_type"],
        "kind": row["kind"],
        "status": row["status"],
        "runId": row["run_id"],
        "attemptId": row["attempt_id"],
        "sessionId": row["session_id"],
        "currentRunId": row["run_id"] if is_held else None,
        "currentAttemptId": row["attempt_id"] if is_held else None,
        "locator": row["locator"],
        "reason": row["reason"],
        "kept": bool(row["kept"]) or None,
        "createdAt": rfc3339(row["created_at"]),
        "changedAt": rfc3339(row["changed_at"]),
        "history": [{"status": each["status"], "at": rfc3339(each["at"])} for each in steps] or None,
    }
    return {name: value for name, value in facts.items() if value is not None}


def shared_space(each: Connected, project: Project) -> dict[str, Any]:
    """The space that the attempts of a session share; it lives as long as the session."""
    session = each.session
    status = "terminated" if session.ended_at is not None else "occupied" if each.runs else "ready"
    facts = {
        "runSpaceId": shared_space_of(session.session_id),
        "orgId": project.org_id,
        "providerType": "directory",
        "kind": "workspace",
        "status": status,
        "sessionId": session.session_id,
        "locator": session.name,
        "createdAt": rfc3339(session.attached_at),
        "changedAt": shown(session.ended_at) or rfc3339(session.heartbeat_at),
    }
    return {name: value for name, value in facts.items() if value is not None}
