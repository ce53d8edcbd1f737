"""Resources, workers, queues and projects on the run surface (camelCase)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ringback.domain.json_values import escape, fingerprint
from ringback.domain.moments import rfc3339
from ringback.domain.sessions import Session
from ringback.services.resources import Resource, ResourceChange
from ringback.views.runs import profile_shown

HIDDEN = "***"
_OPERATORS = ("/profile/env", "/profile/server/env", "/profile/server/headers")


def tool(each: Resource) -> dict[str, Any]:
    """A tool as its released definition has it. Environment values are the operator's and are shown by name only."""
    return {
        "resourceId": each.resource_id,
        "revisionId": each.revision_id,
        "channel": each.channel,
        "description": "",
        "inputSchema": {"type": "object"},
        "mode": "job",
        **each.definition,
        "profile": profile_shown(each.definition.get("profile") or {}),
    }


def change(each: ResourceChange) -> dict[str, Any]:
    """What applying a definition did; a changed one with what differs, by JSON pointer."""
    body: dict[str, Any] = {
        "resourceType": each.type,
        "name": each.name,
        "change": each.change,
        "revisionId": each.revision_id,
    }
    if each.previous_revision_id is not None:
        body["previousRevisionId"] = each.previous_revision_id
    if each.change == "changed" and each.previous is not None:
        found = _difference(each.previous, each.definition, "")
        body["diff"] = {at: {side: _veiled(value, at) for side, value in sides.items()} for at, sides in found.items()}
    return body


def _veiled(value: Any, pointer: str) -> Any:
    """The value at `pointer`, without those of environments and headers, which are the operator's."""
    if pointer.rpartition("/")[0] in _OPERATORS:
        return HIDDEN
    if isinstance(value, Mapping):
        return {name: _veiled(inner, f"{pointer}/{escape(name)}") for name, inner in value.items()}
    return value


def _difference(before: Any, after: Any, pointer: str) -> dict[str, Any]:
    """`{pointer: {"from"?, "to"?}}` for each place that differs; lists are compared whole."""
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return {} if fingerprint(before) == fingerprint(after) else {pointer: {"from": before, "to": after}}
    found: dict[str, Any] = {}
    for name in sorted(before.keys() | after.keys()):
        at = f"{pointer}/{escape(name)}"
        if name not in before:
            found[at] = {"to": after[name]}
        elif name not in after:
            found[at] = {"from": before[name]}
        else:
            found |= _difference(before[name], after[name], at)
    return found


def worker(session: Session, capabilities: Sequence[Mapping[str, Any]], held: int) -> dict[str, Any]:
    """An attached worker, what was agreed with it, and how many attempts it holds."""
    return {
        "sessionId": session.session_id,
        "name": session.name,
        "incarnation": session.incarnation,
        "status": "attached" if session.ended_at is None else "detached",
        "slots": session.slots,
        "held": held,
        "offers": sorted(session.offers),
        "labels": session.labels,
        "capabilities": list(capabilities),
        "attachedAt": rfc3339(session.attached_at),
        "lastHeartbeatAt": rfc3339(session.heartbeat_at),
        "leaseExpiresAt": rfc3339(session.lease_until),
        "runtimeConnectionId": session.connection_id,
        "epoch": session.epoch,
    }


def queue(pool: str, pause: Mapping[str, Any] | None, waiting: int, held: int) -> dict[str, Any]:
    """A pool of a project: runs that wait for a slot, attempts under way, and since when nothing is handed out."""
    body: dict[str, Any] = {"pool": pool, "paused": pause is not None, "waiting": waiting, "held": held}
    if pause is not None:
        body["pausedSince"] = rfc3339(pause["since"])
        if pause["paused_by"] is not None:
            body["pausedBy"] = pause["paused_by"]
    return body
