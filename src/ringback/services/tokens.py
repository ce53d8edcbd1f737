"""Makes and ends tokens. Nobody gets more by a token than its maker has: a token's scopes, its project and its user are each
within those of the caller.

Three kinds: one's own; a member's, made by who administers the project and bound to it; a worker's, of no user, made by who
administers the installation.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ringback.domain.errors import Flaw, ForbiddenError, InvalidInputError, NotFoundError
from ringback.domain.json_values import text_flaw
from ringback.domain.moments import Moment, parse_moment
from ringback.domain.roles import SCOPES, SCOPES_OF
from ringback.ports.clock import Clock, Ids
from ringback.ports.store import Desk, Row, Store
from ringback.services.access import WORKER_SCOPES, Access, Principal, Project, new_token
from ringback.services.audit import Deed, record

NAME_MAX = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A token to make. `project` is a slug; `user` None: the caller's own; `expires_at` in RFC 3339."""

    name: str
    scopes: Sequence[str]
    project: str | None = None
    user: str | None = None
    expires_at: str | None = None
    is_worker: bool = False


@dataclass(slots=True, kw_only=True)
class Tokens:
    """Tokens as their owners and administrators see them; the tokens themselves are never kept."""

    store: Store
    clock: Clock
    ids: Ids
    access: Access

    async def create(self, principal: Principal, wanted: Wanted) -> tuple[Row, str]:
        """The new token's row, and the token, which is shown this once.

        Raises:
            InvalidInputError: names what is wrong with it.
            ForbiddenError: it would allow more than the caller may, or is for somebody else.
            NotFoundError: no such project, or not the caller's; no such member.
        """
        row = {**self._row(principal, wanted), "created_at": self.clock.now()}
        token = new_token()
        action = "token.created"
        facts = {"name": row["name"], "user": row["user_id"], "scopes": json.loads(row["scopes"])}
        deed = Deed(
            actor=principal.owner, action=action, subject=row["token_id"], project_id=row["project_id"], facts=facts
        )

        def work(desk: Desk) -> None:
            desk.write("insert_token", {**row, "digest": self.access.digest(token)})
            record(desk, deed)

        await self.store.commit(work)
        return {**row, "revoked_at": None, "last_used_at": None}, token

    def _row(self, principal: Principal, wanted: Wanted) -> dict[str, Any]:
        project = self._project(principal, wanted)
        user_id = self._user(principal, wanted, project)
        return {
            "token_id": self.ids.new(),
            "owner": f"worker {wanted.name}" if wanted.is_worker else user_id or principal.owner,
            "scopes": json.dumps(sorted(_scopes(principal, wanted))),
            "project_id": None if project is None else project.project_id,
            "expires_at": self._expiry(wanted.expires_at),
            "name": _name(wanted.name),
            "user_id": user_id,
        }

    def _project(self, principal: Principal, wanted: Wanted) -> Project | None:
        if wanted.is_worker:
            self.access.administer(principal, "access:admin")
        if wanted.project is None:
            if principal.project_id is None:
                return None
            return self.access.project(principal.project_id)
        if wanted.is_worker:
            raise InvalidInputError(Flaw("/project", "a worker serves all projects"))
        return self.access.authorize(principal, "access:admin" if wanted.user else "runs:read", wanted.project)

    def _user(self, principal: Principal, wanted: Wanted, project: Project | None) -> str | None:
        if wanted.is_worker:
            return None
        if wanted.user is None or wanted.user == principal.user_id:
            return principal.user_id
        if project is None:
            raise InvalidInputError(Flaw("/project", "a token for somebody else is bound to a project"))
        own = self.access.role_in(principal, self.access.authorize(principal, "access:admin", project.slug).project_id)
        role = self.access.members(project.project_id).get(wanted.user)
        if role is None:
            raise NotFoundError("member", wanted.user)
        if own is None or own.rank < role.rank:
            raise ForbiddenError(f"the role {role}")
        return wanted.user

    def _expiry(self, text: str | None) -> Moment | None:
        if text is None:
            return None
        try:
            moment = parse_moment(text)
        except ValueError as error:
            raise InvalidInputError(Flaw("/expiresAt", str(error))) from None
        if moment <= self.clock.now():
            raise InvalidInputError(Flaw("/expiresAt", "is in the past"))
        return moment

    async def listed(self, principal: Principal) -> list[Row]:
        """The caller's own; those bound to a project that the caller administers; an operator's list has all."""
        rows = await self.store.reads.rows("tokens", {})
        return [row for row in rows if self._may_see(principal, row)]

    def _may_see(self, principal: Principal, row: Row) -> bool:
        if principal.project_id is not None and row["project_id"] != principal.project_id:
            return False
        if self.access.is_operator(principal):
            return True
        role = self.access.role_in(principal, row["project_id"])
        return row["owner"] == principal.owner or (role is not None and "access:admin" in SCOPES_OF[role])

    async def revoke(self, principal: Principal, token_id: str) -> Row:
        """End a token at once; the row as it is then. A repetition changes nothing.

        Raises:
            NotFoundError: no such token, or not one that the caller may see.
        """
        row = next((each for each in await self.listed(principal) if each["token_id"] == token_id), None)
        if row is None:
            raise NotFoundError("token", token_id)
        if row["revoked_at"] is not None:
            return row
        facts = {"name": row["name"], "user": row["user_id"]}
        deed = Deed(
            actor=principal.owner,
            action="token.revoked",
            subject=token_id,
            project_id=row["project_id"],
            facts=facts,
        )

        def work(desk: Desk) -> Row:
            desk.write("revoke_token", {"token_id": token_id, "now": desk.now})
            record(desk, deed)
            desk.then(lambda: self.access.forget(token_id))
            return {**row, "revoked_at": desk.now}

        return await self.store.commit(work)


def _scopes(principal: Principal, wanted: Wanted) -> frozenset[str]:
    """What the token allows.

    Raises:
        InvalidInputError: a scope that does not exist.
        ForbiddenError: more than the caller's own token allows.
    """
    if wanted.is_worker:
        if set(wanted.scopes) - WORKER_SCOPES:
            raise InvalidInputError(Flaw("/scopes", "a worker's token has the scope worker:attach alone"))
        return WORKER_SCOPES
    scopes = frozenset(wanted.scopes)
    if not scopes:
        raise InvalidInputError(Flaw("/scopes", "name at least one scope"))
    if unknown := sorted(scopes - SCOPES):
        raise InvalidInputError(Flaw("/scopes", f"no such scope: {unknown[0][:80]!r}"))
    if beyond := sorted(scopes - principal.scopes):
        raise ForbiddenError(beyond[0])
    return scopes


def _name(text: str) -> str:
    flaw = text_flaw(text) or (
        "has 1 to 100 printable characters" if not 1 <= len(text) <= NAME_MAX or not text.isprintable() else None
    )
    if flaw is not None:
        raise InvalidInputError(Flaw("/name", flaw))
    return text
