"""Connections of runtimes on the run surface (camelCase)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ringback.domain.moments import rfc3339
from ringback.domain.runs import Run
from ringback.domain.sessions import Session
from ringback.services.access import Project
from ringback.services.connections import SUPERSEDED, Connected
from ringback.views.moments import shown

_STATUS: Mapping[str | None, str] = {
    None: "attached",
    "detached": "detached",
    "lease_expired": "lost",
    SUPERSEDED: "superseded",
}


def connection(each: Connected, project: Project) -> dict[str, Any]:
    """One attach of a runtime as somebody of `project` sees it: what it holds of other projects is only counted."""
    own = [run for run in each.runs if run.project_id == project.project_id]
    return {
        **ended_connection(each.session),
        "orgId": project.org_id,
        "effectiveSdkCapabilities": list(each.capabilities),
        "attempts": [_held(run) for run in own],
        "heldByOthers": len(each.runs) - len(own),
    }


def ended_connection(session: Session) -> dict[str, Any]:
    """One attach of a runtime, without what it holds."""
    facts = {
        "runtimeConnectionId": session.connection_id,
        "connectionEpoch": session.epoch,
        "sessionId": session.session_id,
        "status": _STATUS.get(session.end_reason, "reconnecting"),
        "name": session.name,
        "incarnation": session.incarnation,
        "protocolVersion": session.protocol_version,
        "capabilitySnapshotId": session.capability_set,
        "slots": session.slots,
        "attachedAt": rfc3339(session.attached_at),
        "lastHeartbeatAt": rfc3339(session.heartbeat_at),
        "leaseExpiresAt": rfc3339(session.lease_until),
        "endedAt": shown(session.ended_at),
        "endReason": session.end_reason,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _held(run: Run) -> dict[str, Any]:
    attempt = run.attempt
    assert attempt is not None
    return {"runId": run.run_id, "attemptId": attempt.attempt_id, "fence": attempt.fence}
