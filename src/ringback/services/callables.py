"""What a name stands for when something is started: a resource of the project, an alias, a grant, or a revision itself.

A resource wins over an alias of the same name. What was found is frozen on the run; a later switch changes no run.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ringback.domain.definitions import NAME
from ringback.domain.errors import Flaw, InvalidInputError, NotFoundError
from ringback.domain.ids import ProjectId
from ringback.ports.clock import Clock
from ringback.ports.store import Desk, Row, Store
from ringback.services.audit import Deed, record
from ringback.services.grants import PREFIX, Grant, Grants
from ringback.services.resources import STABLE, Resource, Resources
from ringback.services.start_request import StartRequest


@dataclass(frozen=True, slots=True)
class Target:
    """What is to run, whose it is, and the grant by which somebody else may start it."""

    resource: Resource
    project_id: ProjectId
    grant: Grant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """A name that stands for a resource of the project, or for a granted one."""

    alias: str
    kind: str
    target: str
    channel: str | None = None
    grant_id: str | None = None
    created_by: str = ""


@dataclass(slots=True, kw_only=True)
class Callables:
    """Finds what names stand for, and keeps the aliases."""

    store: Store
    clock: Clock
    resources: Resources
    grants: Grants
    _aliases: dict[ProjectId, dict[str, Alias]] = field(default_factory=dict)

    async def find(self, project_id: ProjectId, request: StartRequest) -> Target:
        """What the request is for.

        Raises:
            NotFoundError: nothing of that kind and name.
        """
        name, kind, channel = request.tool, request.kind, request.channel
        if request.revision_id is not None:
            return Target(await self._pinned(project_id, request), project_id)
        found = (await self.resources.released(project_id, kind=kind, channel=channel or STABLE)).get(name)
        if found is not None:
            return Target(found, project_id)
        if name.startswith(PREFIX):
            return await self._granted(project_id, name, kind, channel)
        alias = (await self.aliases(project_id)).get(name)
        if alias is None or alias.kind != kind:
            raise NotFoundError(kind, name)
        if alias.grant_id is not None:
            return await self._granted(project_id, alias.grant_id, kind, channel or alias.channel)
        channel = channel or alias.channel or STABLE
        return Target(await self.resources.resolve(project_id, alias.target, kind=kind, channel=channel), project_id)

    async def _pinned(self, project_id: ProjectId, request: StartRequest) -> Resource:
        assert request.revision_id is not None
        found = await self.resources.pinned(project_id, request.revision_id)
        if found.type != request.kind or request.tool not in ("", found.name):
            raise NotFoundError(request.kind, request.tool or request.revision_id)
        return found

    async def _granted(self, caller: ProjectId, grant_id: str, kind: str, channel: str | None) -> Target:
        grant = await self.grants.good(caller, grant_id)
        if grant.resource_type != kind:
            raise NotFoundError(kind, grant_id)
        return Target(await self.grants.callable(grant, channel), grant.project_id, grant)

    # --- aliases

    async def aliases(self, project_id: ProjectId) -> dict[str, Alias]:
        """The project's aliases by name."""
        if (known := self._aliases.get(project_id)) is None:
            rows = await self.store.reads.rows("aliases", {"project_id": project_id})
            known = self._aliases[project_id] = {row["alias"]: _alias_of(row) for row in rows}
        return known

    async def put(self, project_id: ProjectId, alias: Alias, *, actor: str) -> Alias:
        """Make a name stand for something, or for something else than before.

        Raises:
            InvalidInputError: the name is none, or it is a resource's.
            NotFoundError: what it is to stand for is not there.
        """
        if not NAME.fullmatch(alias.alias):
            raise InvalidInputError(Flaw("/alias", "must match [a-z][a-z0-9_]{0,63}"))
        if alias.alias in await self.resources.released(project_id, kind=alias.kind):
            raise InvalidInputError(Flaw("/alias", f"is the name of a resource of type {alias.kind}"))
        if alias.grant_id is not None:
            grant = await self.grants.good(project_id, alias.grant_id)
            alias = Alias(
                alias=alias.alias,
                kind=grant.resource_type,
                target=grant.name,
                grant_id=grant.grant_id,
                created_by=actor,
            )
        else:
            channel = alias.channel or STABLE
            await self.resources.resolve(project_id, alias.target, kind=alias.kind, channel=channel)

        def work(desk: Desk) -> None:
            facts = {
                "resourceType": alias.kind,
                "target": alias.target,
                "channel": alias.channel,
                "grant": alias.grant_id,
            }
            values = {
                "alias": alias.alias,
                "resource_type": alias.kind,
                "target": alias.target,
                "channel": alias.channel,
            }
            more = {"project_id": project_id, "grant_id": alias.grant_id, "created_at": desk.now, "created_by": actor}
            desk.write("put_alias", values | more)
            _record(desk, project_id, alias.alias, "alias.put", actor, facts)

        await self.store.commit(work)
        self._aliases.pop(project_id, None)
        return alias

    async def remove(self, project_id: ProjectId, alias: str, *, actor: str) -> None:
        """Take a name back.

        Raises:
            NotFoundError: no such alias.
        """
        if alias not in await self.aliases(project_id):
            raise NotFoundError("alias", alias)

        def work(desk: Desk) -> None:
            desk.write("delete_alias", {"project_id": project_id, "alias": alias})
            _record(desk, project_id, alias, "alias.removed", actor, {})

        await self.store.commit(work)
        self._aliases.pop(project_id, None)


def _record(desk: Desk, project_id: ProjectId, alias: str, action: str, actor: str, facts: Row) -> None:
    record(desk, Deed(actor=actor, action=action, subject=f"alias:{alias}", project_id=project_id, facts=facts))


def _alias_of(row: Row) -> Alias:
    return Alias(
        alias=row["alias"],
        kind=row["resource_type"],
        target=row["target"],
        channel=row["channel"],
        grant_id=row["grant_id"],
        created_by=row["created_by"],
    )
