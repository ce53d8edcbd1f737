"""Who calls, and what that caller may do. `authorize` is the one place that says yes.

A token is shown once and kept as a keyed hash; the key lies in the data folder beside the ledger, so a stolen copy of the
ledger alone holds nothing that opens it. Missing, malformed, unknown, expired and revoked tokens are refused alike.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from ringback.domain.errors import (
    ForbiddenError,
    NotFoundError,
    ProjectRequiredError,
    StoreUnavailableError,
    UnauthenticatedError,
)
from ringback.domain.ids import ProjectId
from ringback.domain.moments import MINUTE, Moment
from ringback.ports.clock import Clock, Ids
from ringback.ports.store import Desk, Store

PREFIX = "rbp_"
SCOPES = frozenset(
    (
        "runs:read",
        "runs:write",
        "interactions:answer",
        "resources:write",
        "threads:write",
        "access:admin",
        "worker:attach",
    )
)
_CACHE_MAX = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """An authenticated caller. `owner` is the scope of its idempotency keys."""

    token_id: str
    owner: str
    scopes: frozenset[str]
    project_id: ProjectId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project by its slug."""

    project_id: ProjectId
    org_id: str
    slug: str
    name: str


@dataclass(slots=True, kw_only=True)
class Access:
    """Tokens, projects and the decision about each request."""

    store: Store
    clock: Clock
    ids: Ids
    pepper: bytes
    _projects: dict[str, Project] = field(default_factory=dict)
    _known: dict[str, tuple[Principal, Moment | None, Moment]] = field(default_factory=dict)

    async def install(self) -> None:
        """Make the org and project that every installation starts with, and read what there is."""
        now = self.clock.now()

        def work(desk: Desk) -> None:
            desk.write("insert_org", {"org_id": "local", "name": "local", "created_at": now})
            values = {"project_id": "default", "org_id": "local", "slug": "default", "name": "default"}
            desk.write("insert_project", {**values, "created_at": now})

        await self.store.commit(work)
        rows = await self.store.reads.rows("projects", {})
        self._projects = {
            row["slug"]: Project(project_id=row["project_id"], org_id=row["org_id"], slug=row["slug"], name=row["name"])
            for row in rows
        }

    async def remember(
        self, token: str, *, owner: str, scopes: Iterable[str], project_id: ProjectId | None = None
    ) -> None:
        """Let `token` in from now on; remembering it again changes nothing."""
        values = {
            "token_id": self.ids.new(),
            "digest": self._digest(token),
            "owner": owner,
            "scopes": json.dumps(sorted(scopes)),
            "project_id": project_id,
            "created_at": self.clock.now(),
            "expires_at": None,
        }
        await self.store.commit(lambda desk: desk.write("insert_token", values))

    async def authenticate(self, token: str | None) -> Principal:
        """The caller behind a bearer token.

        Raises:
            UnauthenticatedError: there is none, for whatever reason.
        """
        if token is None or not token.startswith(PREFIX) or len(token) > 200:
            raise UnauthenticatedError
        digest, now = self._digest(token), self.clock.now()
        principal, expires_at, used_at = self._known.get(digest) or await self._look_up(digest)
        if expires_at is not None and expires_at <= now:
            raise UnauthenticatedError
        if now - used_at > MINUTE:
            self._known[digest] = (principal, expires_at, now)
            values = {"token_id": principal.token_id, "now": now}
            with suppress(StoreUnavailableError):  # who can read while the disk is full may do so
                await self.store.commit(lambda desk: desk.write("touch_token", values))
        return principal

    async def _look_up(self, digest: str) -> tuple[Principal, Moment | None, Moment]:
        rows = await self.store.reads.rows("token_by_digest", {"digest": digest})
        if not rows or rows[0]["revoked_at"] is not None:
            raise UnauthenticatedError
        row = rows[0]
        principal = Principal(
            token_id=row["token_id"],
            owner=row["owner"],
            scopes=frozenset(json.loads(row["scopes"])),
            project_id=row["project_id"],
        )
        if len(self._known) >= _CACHE_MAX:
            self._known.clear()
        self._known[digest] = found = (principal, row["expires_at"], row["last_used_at"] or 0)
        return found

    def allow(self, principal: Principal, scope: str) -> None:
        """Raises ForbiddenError: the token lacks the scope."""
        if scope not in principal.scopes:
            raise ForbiddenError(scope)

    def visible(self, principal: Principal) -> list[Project]:
        """The projects that the caller may name, by slug."""
        return [
            self._projects[slug]
            for slug in sorted(self._projects)
            if principal.project_id in (None, self._projects[slug].project_id)
        ]

    def authorize(self, principal: Principal, scope: str, project: str | None = None) -> Project:
        """The project that the request is about, if the caller may do there what `scope` names.

        Args:
            project: the slug that the request names, if any.

        Raises:
            ForbiddenError: the token lacks the scope.
            NotFoundError: no such project, or not the caller's.
            ProjectRequiredError: none is named, and more than one is possible.
        """
        self.allow(principal, scope)
        if project is not None:
            found = self._projects.get(project)
            if found is None or principal.project_id not in (None, found.project_id):
                raise NotFoundError("project", project)
            return found
        if principal.project_id is not None:
            return next(each for each in self._projects.values() if each.project_id == principal.project_id)
        if len(self._projects) == 1:
            return next(iter(self._projects.values()))
        raise ProjectRequiredError

    def project(self, project_id: ProjectId) -> Project:
        return next(each for each in self._projects.values() if each.project_id == project_id)

    def _digest(self, token: str) -> str:
        return hashlib.blake2b(token.encode(errors="replace"), key=self.pepper[:64], digest_size=32).hexdigest()


def new_token() -> str:
    """A token with 256 random bits."""
    return PREFIX + secrets.token_urlsafe(32)
