"""Calls across organizations: a project lets another one call a resource, and says what the caller may see of its runs.

The run belongs to the provider, which has the work, the costs and the whole view. The caller sees what the grant shows; once the
grant is over, the run is as unknown to it as one that never was. Both sides find it in their audit logs.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from ringback.domain.errors import Flaw, InvalidInputError, NotFoundError
from ringback.domain.ids import ProjectId, RunId
from ringback.domain.moments import Moment, parse_moment
from ringback.ports.clock import Clock, Ids
from ringback.ports.store import Desk, Row, Store
from ringback.services.audit import Deed, record
from ringback.services.resources import STABLE, Resource, Resources

PREFIX = "grant:"
STATUS = "status"
ASPECTS = (STATUS, "events", "output", "input", "attempts", "links", "interactions")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """One permission to call. `aspects` is what the caller may see of the runs, the status always among them."""

    grant_id: str
    project_id: ProjectId
    resource_id: str
    resource_type: str
    name: str
    channel: str
    grantee_id: ProjectId
    aspects: frozenset[str]
    created_at: Moment
    created_by: str
    expires_at: Moment | None
    revoked_at: Moment | None

    def is_good(self, now: Moment) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantRequest:
    """What a provider gives. `expires_at` is RFC 3339 text."""

    kind: str
    name: str
    grantee_id: str
    aspects: Sequence[str] = ()
    channel: str = STABLE
    expires_at: str | None = None


@dataclass(slots=True, kw_only=True)
class Grants:
    """Gives, ends and uses grants. They stand in memory, because each look at a shared run asks for one."""

    store: Store
    clock: Clock
    ids: Ids
    resources: Resources
    _known: dict[str, Grant] | None = None
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def give(self, project_id: ProjectId, request: GrantRequest, *, actor: str, known: Collection[str]) -> Grant:
        """Let another project call a resource of this one.

        Args:
            known: the ids of the projects of the installation.

        Raises:
            InvalidInputError: what is wrong with the request.
            NotFoundError: no such resource.
        """
        resource = await self.resources.resolve(project_id, request.name, kind=request.kind, channel=request.channel)
        _check(project_id, request, known)
        grant = Grant(
            grant_id=f"{PREFIX}{self.ids.new()}",
            project_id=project_id,
            resource_id=resource.resource_id,
            resource_type=resource.type,
            name=resource.name,
            channel=request.channel,
            grantee_id=ProjectId(request.grantee_id),
            aspects=frozenset({STATUS, *request.aspects}),
            created_at=self.clock.now(),
            created_by=actor,
            expires_at=None if request.expires_at is None else parse_moment(request.expires_at),
            revoked_at=None,
        )

        def work(desk: Desk) -> None:
            desk.write("insert_grant", _values(grant))
            _record(desk, grant, "grant.given", actor)

        async with self._turn:
            await self.store.commit(work)
            self._known = None
        return grant

    async def revoke(self, project_id: ProjectId, grant_id: str, *, actor: str) -> Grant:
        """End a grant at once; ending it again changes nothing.

        Raises:
            NotFoundError: this project gave no such grant.
        """
        grant = (await self._all()).get(grant_id)
        if grant is None or grant.project_id != project_id:
            raise NotFoundError("grant", grant_id)
        if grant.revoked_at is None:

            def work(desk: Desk) -> None:
                desk.write("revoke_grant", {"grant_id": grant_id, "revoked_at": desk.now})
                _record(desk, grant, "grant.revoked", actor)

            async with self._turn:
                await self.store.commit(work)
                self._known = None
        return (await self._all())[grant_id]

    async def given(self, project_id: ProjectId) -> list[Grant]:
        """Those that the project gave, oldest first."""
        return [grant for grant in (await self._all()).values() if grant.project_id == project_id]

    async def received(self, project_id: ProjectId) -> list[Grant]:
        """Those that the project was given and that are good, oldest first."""
        now = self.clock.now()
        return [each for each in (await self._all()).values() if each.grantee_id == project_id and each.is_good(now)]

    async def good(self, caller: ProjectId, grant_id: str) -> Grant:
        """A grant by which `caller` may call.

        Raises:
            NotFoundError: none, or it is over: both look the same.
        """
        grant = (await self._all()).get(grant_id)
        if grant is None or grant.grantee_id != caller or not grant.is_good(self.clock.now()):
            raise NotFoundError("grant", grant_id)
        return grant

    async def callable(self, grant: Grant, channel: str | None) -> Resource:
        """What the grant lets call, by the provider's present revision; another channel than the granted one is unknown."""
        if channel not in (None, grant.channel):
            raise NotFoundError("channel", channel or "")
        return await self.resources.resolve(
            grant.project_id, grant.name, kind=grant.resource_type, channel=grant.channel
        )

    async def lets_see(self, caller: ProjectId, run_id: RunId) -> frozenset[str]:
        """What `caller` may see of a run of another project; nothing, unless it started the run by a grant that is still good."""
        rows = await self.store.reads.rows("shared_run", {"run_id": run_id, "project_id": caller})
        grant = (await self._all()).get(rows[0]["grant_id"]) if rows else None
        return grant.aspects if grant is not None and grant.is_good(self.clock.now()) else frozenset()

    async def _all(self) -> dict[str, Grant]:
        if (known := self._known) is None:
            rows = await self.store.reads.rows("grants", {})
            known = self._known = {row["grant_id"]: _grant_of(row) for row in rows}
        return known


def note_use(desk: Desk, grant: Grant, run_id: RunId, actor: str) -> None:
    """Put down which project may look at the run, and that the grant was used."""
    desk.write("insert_shared_run", {"run_id": run_id, "grant_id": grant.grant_id, "project_id": grant.grantee_id})
    _record(desk, grant, "grant.used", actor, run_id=run_id)


def _check(project_id: ProjectId, request: GrantRequest, known: Collection[str]) -> None:
    flaws = []
    if request.grantee_id == project_id:
        flaws.append(Flaw("/granteeProjectId", "is the project itself, which needs no grant"))
    elif request.grantee_id not in known:
        flaws.append(Flaw("/granteeProjectId", "no such project"))
    if any(aspect not in ASPECTS for aspect in request.aspects):
        flaws.append(Flaw("/visibilityScopes", f"must be a list of {', '.join(ASPECTS)}"))
    if request.expires_at is not None:
        try:
            parse_moment(request.expires_at)
        except ValueError as error:
            flaws.append(Flaw("/expiresAt", str(error)))
    if flaws:
        raise InvalidInputError(*flaws)


def _record(desk: Desk, grant: Grant, action: str, actor: str, *, run_id: RunId | None = None) -> None:
    facts: dict[str, Any] = {"resourceId": grant.resource_id, "provider": grant.project_id, "grantee": grant.grantee_id}
    facts |= {"visibilityScopes": sorted(grant.aspects)} if run_id is None else {"runId": run_id}
    for side in (grant.project_id, grant.grantee_id):
        record(desk, Deed(actor=actor, action=action, subject=grant.grant_id, project_id=side, facts=facts))


def _values(grant: Grant) -> Row:
    return {
        "grant_id": grant.grant_id,
        "project_id": grant.project_id,
        "resource_id": grant.resource_id,
        "resource_type": grant.resource_type,
        "name": grant.name,
        "channel": grant.channel,
        "grantee_id": grant.grantee_id,
        "visibility_scopes": json.dumps(sorted(grant.aspects)),
        "created_at": grant.created_at,
        "created_by": grant.created_by,
        "expires_at": grant.expires_at,
    }


def _grant_of(row: Row) -> Grant:
    fields = dict(row)
    return Grant(aspects=frozenset(json.loads(fields.pop("visibility_scopes"))), **fields)
