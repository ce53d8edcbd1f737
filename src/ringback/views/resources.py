"""The catalogue on the run surface (camelCase): resources, revisions, channels, aliases, grants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ringback.domain.moments import rfc3339
from ringback.services.callables import Alias
from ringback.services.grants import Grant
from ringback.services.resources import Resource
from ringback.views.moments import shown
from ringback.views.runs import profile_shown


def resource(row: Mapping[str, Any], released: Mapping[str, str]) -> dict[str, Any]:
    """A resource by its names, and the revisions that are released by channel."""
    return {
        "resourceId": row["resource_id"],
        "resourceType": row["resource_type"],
        "name": row["name"],
        "createdAt": rfc3339(row["created_at"]),
        "released": dict(sorted(released.items())),
    }


def revision(each: Resource) -> dict[str, Any]:
    """A revision with its definition. Environment values are the operator's and are shown by name only."""
    definition = {**each.definition, "profile": profile_shown(each.definition.get("profile") or {})}
    return {
        "revisionId": each.revision_id,
        "resourceId": each.resource_id,
        "resourceType": each.type,
        "definition": definition,
    }


def revision_in_list(row: Mapping[str, Any], channels: Mapping[str, str | None]) -> dict[str, Any]:
    """A revision among others, and the channels that point to it."""
    pointing = sorted(name for name, revision_id in channels.items() if revision_id == row["revision_id"])
    return {"revisionId": row["revision_id"], "createdAt": rfc3339(row["created_at"]), "channels": pointing}


def channel(row: Mapping[str, Any]) -> dict[str, Any]:
    """Where a channel points; without `revisionId` nowhere."""
    body = {"channel": row["name"], "version": row["version"], "switchedAt": rfc3339(row["switched_at"])}
    return body if row["revision_id"] is None else {**body, "revisionId": row["revision_id"]}


def switch(row: Mapping[str, Any]) -> dict[str, Any]:
    """One switch of a channel; without `from` it pointed nowhere before, without `to` it does now."""
    body = {"at": rfc3339(row["at"]), "actor": row["actor"], "action": row["action"]}
    return body | {name: row[name] for name in ("from", "to") if row.get(name) is not None}


def alias(each: Alias) -> dict[str, Any]:
    """A name and what it stands for."""
    facts = {
        "alias": each.alias,
        "resourceType": each.kind,
        "name": each.target,
        "releaseChannel": each.channel,
        "grantId": each.grant_id,
        "createdBy": each.created_by,
    }
    return {name: value for name, value in facts.items() if value is not None}


def grant(each: Grant) -> dict[str, Any]:
    """A permission to call across projects."""
    facts = {
        "grantId": each.grant_id,
        "resourceType": each.resource_type,
        "name": each.name,
        "releaseChannel": each.channel,
        "providerProjectId": each.project_id,
        "granteeProjectId": each.grantee_id,
        "visibilityScopes": sorted(each.aspects),
        "createdAt": rfc3339(each.created_at),
        "createdBy": each.created_by,
        "expiresAt": shown(each.expires_at),
        "revokedAt": shown(each.revoked_at),
    }
    return {name: value for name, value in facts.items() if value is not None}
