"""What the doors of access take and give, as the OpenAPI document describes it."""

from __future__ import annotations

from typing import Any, Literal, Required, TypedDict

import msgspec

RoleName = Literal["viewer", "runner", "editor", "admin", "owner"]


class OrgRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """An org to make."""

    org_id: str
    name: str | None = None


class ProjectRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A project to make."""

    slug: str
    name: str | None = None
    org_id: str = "local"


class MemberRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A member's role."""

    role: RoleName


class UserRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A user's platform role; null for none."""

    platform_role: Literal["admin"] | None


class TokenRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A token to make. `worker` makes one that attaches workers and does nothing else."""

    name: str
    scopes: list[str] = []
    project: str | None = None
    user: str | None = None
    expires_at: str | None = None
    worker: bool = False


class Org(TypedDict):
    orgId: str
    name: str
    createdAt: str


class OrgList(TypedDict):
    items: list[Org]


class Project(TypedDict):
    projectId: str
    orgId: str
    slug: str
    name: str


class ProjectList(TypedDict):
    items: list[Project]


class Member(TypedDict):
    user: str
    role: RoleName


class MemberList(TypedDict):
    items: list[Member]


class User(TypedDict, total=False):
    user: Required[str]
    platformRole: Literal["admin"]
    createdAt: Required[str]


class UserList(TypedDict):
    items: list[User]


class Token(TypedDict, total=False):
    tokenId: Required[str]
    name: Required[str]
    user: str
    scopes: Required[list[str]]
    project: str
    createdAt: Required[str]
    expiresAt: str
    revokedAt: str
    lastUsedAt: str


class NewToken(Token):
    token: Required[str]


class TokenList(TypedDict):
    items: list[Token]


class AuditEntry(TypedDict):
    at: str
    actor: str
    action: str
    subject: str
    facts: dict[str, Any]


class AuditPage(TypedDict, total=False):
    items: Required[list[AuditEntry]]
    nextCursor: str
