"""Orgs, projects, members, tokens and the audit log as every surface shows them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ringback.domain.moments import rfc3339
from ringback.domain.roles import Role
from ringback.services.access import Project
from ringback.views.moments import shown


def project(each: Project) -> dict[str, str]:
    """A project that the caller may name."""
    return {"projectId": each.project_id, "orgId": each.org_id, "slug": each.slug, "name": each.name}


def org(row: Mapping[str, Any]) -> dict[str, str]:
    """An org."""
    return {"orgId": row["org_id"], "name": row["name"], "createdAt": rfc3339(row["created_at"])}


def member(user_id: str, role: Role) -> dict[str, str]:
    """A user of a project."""
    return {"user": user_id, "role": role.value}


def user(row: Mapping[str, Any]) -> dict[str, str]:
    """A user of the installation."""
    body = {"user": row["user_id"], "platformRole": row["platform_role"], "createdAt": rfc3339(row["created_at"])}
    return {name: value for name, value in body.items() if value is not None}


def token(row: Mapping[str, Any], slug: str | None) -> dict[str, Any]:
    """What is known about a token; never the token."""
    body = {
        "tokenId": row["token_id"],
        "name": row["name"],
        "user": row["user_id"],
        "scopes": json.loads(row["scopes"]),
        "project": slug,
        "createdAt": rfc3339(row["created_at"]),
        "expiresAt": shown(row["expires_at"]),
        "revokedAt": shown(row["revoked_at"]),
        "lastUsedAt": shown(row["last_used_at"]),
    }
    return {name: value for name, value in body.items() if value is not None}


def deed(row: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of the audit log."""
    body = {name: row[name] for name in ("actor", "action", "subject")}
    return {"at": rfc3339(row["at"]), **body, "facts": json.loads(row["facts"])}
