"""Who calls, and what that caller may do. `authorize` is the one place that says yes.

A token is shown once and kept as a keyed hash; the key lies in the data folder beside the ledger, so a stolen copy of the
ledger alone holds nothing that opens it. Missing, malformed, unknown, expired and revoked tokens are refused alike.

Projects and roles are few and asked about with each request, so all of them stand in memory: this process owns the ledger, and
`Directory`, which alone changes them, puts them here once they are durable. A foreign project and one that does not exist take
the same way through the same lookups.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from ringback.domain.errors import (
    ForbiddenError,
    NotARespondentError,
    NotFoundError,
    ProjectRequiredError,
    StoreUnavailableError,
    UnauthenticatedError,
)
from ringback.domain.ids import ProjectId
from ringback.domain.moments import MINUTE, Moment
from ringback.domain.roles import SCOPES, SCOPES_OF, PlatformRole, Role
from ringback.ports.clock import Clock, Ids
from ringback.ports.store import Desk, Store
from ringback.services.limits import RateLimits

__all__ = ["SCOPES", "Access", "Principal", "Project", "new_token"]
PREFIX = "rbp_"
WORKER_SCOPES = frozenset({"worker:attach"})
_CACHE_MAX = 4096
_NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """An authenticated caller. `owner` is the scope of its idempotency keys.

    Attributes:
        user_id: whose roles count. None: a token of the installation itself (its workers'), whose scopes alone decide.
    """

    token_id: str
    owner: str
    scopes: frozenset[str]
    project_id: ProjectId | None
    user_id: str | None = None


@dataclass(frozen=True, slots=True)
class Respondent:
    """Who answers a question: a name for the record, and the role in the project that the question belongs to.

    Attributes:
        link_id: the link through which it answers.
    """

    name: str
    role: Role | None
    link_id: str | None = None


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
    limits: RateLimits = field(default_factory=RateLimits)
    _projects: dict[str, Project] = field(default_factory=dict)
    _by_id: dict[ProjectId, Project] = field(default_factory=dict)
    _roles: dict[str, dict[ProjectId, Role]] = field(default_factory=dict)
    _platform: dict[str, PlatformRole] = field(default_factory=dict)
    _known: dict[str, tuple[Principal, Moment | None, Moment]] = field(default_factory=dict)

    async def install(self) -> None:
        """Make the org and project that every installation starts with, and read what there is."""
        now = self.clock.now()

        def work(desk: Desk) -> None:
            desk.write("insert_org", {"org_id": "local", "name": "local", "created_at": now})
            values = {"project_id": "default", "org_id": "local", "slug": "default", "name": "default"}
            desk.write("insert_project", {**values, "created_at": now})

        await self.store.commit(work)
        for row in await self.store.reads.rows("projects", {}):
            columns = {name: row[name] for name in ("project_id", "org_id", "slug", "name")}
            self.know_project(Project(**columns))
        for row in await self.store.reads.rows("memberships", {}):
            self.know_role(row["project_id"], row["user_id"], Role(row["role"]))
        for row in await self.store.reads.rows("users", {}):
            self.know_platform_role(row["user_id"], row["platform_role"])

    async def remember(
        self,
        token: str,
        *,
        owner: str,
        scopes: Iterable[str],
        project_id: ProjectId | None = None,
        user_id: str | None = None,
    ) -> None:
        """Let `token` in from now on; remembering it again changes nothing. For whoever starts the installation.

        Args:
            owner: the scope of its idempotency keys, and what the audit log calls it.
            user_id: whose roles count; without one the scopes alone decide.
        """
        values = {
            "token_id": self.ids.new(),
            "digest": self.digest(token),
            "owner": owner,
            "scopes": json.dumps(sorted(scopes)),
            "project_id": project_id,
            "created_at": self.clock.now(),
            "expires_at": None,
            "name": owner,
            "user_id": user_id,
        }

        def work(desk: Desk) -> None:
            desk.write("insert_token", values)
            desk.write("adopt_token", values)

        await self.store.commit(work)

    async def authenticate(self, token: str | None) -> Principal:
        """The caller behind a bearer token.

        Raises:
            UnauthenticatedError: there is none, for whatever reason.
            RateLimitedError: it asks too often. Workers may ask as often as they like.
        """
        digest, (principal, expires_at, used_at) = await self._recognise(token)
        now = self.clock.now()
        if principal.scopes != WORKER_SCOPES:
            self.limits.take(principal.token_id, now)
        if now - used_at > MINUTE:
            self._known[digest] = (principal, expires_at, now)
            values = {"token_id": principal.token_id, "now": now}
            with suppress(StoreUnavailableError):  # who can read while the disk is full may do so
                await self.store.commit(lambda desk: desk.write("touch_token", values))
        return principal

    async def identify(self, token: str | None) -> Principal:
        """The caller behind a token that was let in before, if it still is: not counted, and not noted as a use.

        Raises:
            UnauthenticatedError: it has expired or was revoked.
        """
        _, (principal, _, _) = await self._recognise(token)
        return principal

    async def _recognise(self, token: str | None) -> tuple[str, tuple[Principal, Moment | None, Moment]]:
        if token is None or not token.startswith(PREFIX) or len(token) > 200:
            raise UnauthenticatedError
        digest = self.digest(token)
        found = self._known.get(digest) or await self._look_up(digest)
        expires_at = found[1]
        if expires_at is not None and expires_at <= self.clock.now():
            raise UnauthenticatedError
        return digest, found

    async def owner_of(self, token: str | None) -> str | None:
        """Whose a token is, without counting that as a request; None: nobody's."""
        with suppress(UnauthenticatedError):
            return (await self.identify(token)).owner
        return None

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
            user_id=row["user_id"],
        )
        if len(self._known) >= _CACHE_MAX:
            self._known.clear()
        self._known[digest] = found = (principal, row["expires_at"], row["last_used_at"] or 0)
        return found

    def allow(self, principal: Principal, scope: str) -> None:
        """Raises ForbiddenError: the token lacks the scope. Enough for what a caller does about itself."""
        if scope not in principal.scopes:
            raise ForbiddenError(scope)

    def administer(self, principal: Principal, scope: str) -> None:
        """Decide about what concerns the whole installation and no project.

        Raises:
            ForbiddenError: the token lacks the scope, is bound to a project, or its user has no platform role.
        """
        self.allow(principal, scope)
        if not self.is_operator(principal):
            raise ForbiddenError(scope)

    def is_operator(self, principal: Principal) -> bool:
        """Whether the caller may act on the installation, as far as its scopes go."""
        if principal.user_id is None:
            return principal.project_id is None or principal.scopes == WORKER_SCOPES
        return principal.project_id is None and principal.user_id in self._platform

    def visible(self, principal: Principal) -> list[Project]:
        """The projects that the caller may name, by slug."""
        return [
            self._projects[slug]
            for slug in sorted(self._projects)
            if self._scopes_in(principal, self._projects[slug].project_id)
        ]

    def authorize(self, principal: Principal, scope: str, project: str | None = None) -> Project:
        """The project that the request is about, if the caller may do there what `scope` names.

        The token must have the scope, and so must the role of its user in that project.

        Args:
            project: the slug that the request names, if any; else the token's project, else the only one of the caller.

        Raises:
            ForbiddenError: the token or the role lacks the scope.
            NotFoundError: no such project, or not the caller's.
            ProjectRequiredError: none is named, and not just one is possible.
        """
        self.allow(principal, scope)
        found = self._projects.get(project) if project is not None else self._unnamed(principal)
        scopes = self._scopes_in(principal, found.project_id if found is not None else None)
        if found is None or not scopes:
            raise NotFoundError("project", project or "the token's")
        if scope not in scopes:
            raise ForbiddenError(scope)
        return found

    def role_in(self, principal: Principal, project_id: ProjectId | None) -> Role | None:
        """The caller's role in a project; None: not a member, or the token is bound to another project."""
        if principal.project_id not in (None, project_id) or project_id is None:
            return None
        if principal.user_id is None:
            return Role.OWNER
        return self._roles.get(principal.user_id, {}).get(project_id)

    def respondent(self, principal: Principal, project_id: ProjectId) -> Respondent:
        """The caller as one who answers questions of a project."""
        return Respondent(principal.owner, self.role_in(principal, project_id))

    def role_of(self, user_id: str | None, project_id: ProjectId) -> Role | None:
        """A user's role in a project now; without a user it is that of the installation's own tokens."""
        return Role.OWNER if user_id is None else self._roles.get(user_id, {}).get(project_id)

    def _scopes_in(self, principal: Principal, project_id: ProjectId | None) -> frozenset[str]:
        role = self.role_in(principal, project_id)
        return _NOTHING if role is None else SCOPES_OF[role]

    def _unnamed(self, principal: Principal) -> Project:
        """The token's project, else the only one of its user, else (a token of the installation) the only one there is."""
        possible: Collection[ProjectId] = self._by_id
        if principal.project_id is not None:
            possible = (principal.project_id,)
        elif principal.user_id is not None:
            possible = self._roles.get(principal.user_id, ())
        if len(possible) != 1:
            raise ProjectRequiredError
        return self._by_id[next(iter(possible))]

    def project(self, project_id: ProjectId) -> Project:
        return self._by_id[project_id]

    def project_ids(self) -> Collection[ProjectId]:
        """Every project of the installation; not for a caller's eyes."""
        return self._by_id.keys()

    def has_project(self, slug: str) -> bool:
        return slug in self._projects

    # --- what `Directory` and `Tokens` made durable

    def know_project(self, project: Project) -> None:
        self._projects[project.slug] = self._by_id[project.project_id] = project

    def know_role(self, project_id: ProjectId, user_id: str, role: Role | None) -> None:
        if role is None:
            self._roles.get(user_id, {}).pop(project_id, None)
        else:
            self._roles.setdefault(user_id, {})[project_id] = role

    def know_platform_role(self, user_id: str, role: str | None) -> None:
        if role is None:
            self._platform.pop(user_id, None)
        else:
            self._platform[user_id] = PlatformRole(role)

    def members(self, project_id: ProjectId) -> dict[str, Role]:
        """Users with their roles, by name."""
        found = {user: roles[project_id] for user, roles in self._roles.items() if project_id in roles}
        return dict(sorted(found.items()))

    def forget(self, token_id: str) -> None:
        """Drop a token that was revoked: the next request with it is refused."""
        self._known = {digest: found for digest, found in self._known.items() if found[0].token_id != token_id}

    def digest(self, token: str) -> str:
        """The keyed hash under which a token is kept."""
        return hashlib.blake2b(token.encode(errors="replace"), key=self.pepper[:64], digest_size=32).hexdigest()


def admit_respondent(who: Respondent, respondents: Sequence[str]) -> None:
    """Decide whether `who` may answer a question that is put to `respondents`: those with the least of these roles, or more.

    Nobody answers whose role doesn't answer questions at all.

    Raises:
        NotARespondentError: the role is too low. A respondent that is no role stands for owners alone.
    """
    ranks = {role.value: role.rank for role in Role}
    asked = min((ranks.get(each, Role.OWNER.rank) for each in respondents), default=0)
    needed = max(asked, min(role.rank for role, scopes in SCOPES_OF.items() if "interactions:answer" in scopes))
    if who.role is None or who.role.rank < needed:
        raise NotARespondentError(tuple(Role)[needed], who.role or "")


def new_token() -> str:
    """A token with 256 random bits."""
    return PREFIX + secrets.token_urlsafe(32)
