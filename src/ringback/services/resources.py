"""The catalogue: definitions in, immutable revisions kept, one of them released on each channel.

Applying the same definition again changes nothing, because a revision is named by its content. A channel is switched only from
where its switcher saw it, so of two who switch at once one is told.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jsonschema_rs

from ringback.domain.admission import lane_of
from ringback.domain.commands import CommandTemplateError, render
from ringback.domain.definitions import need_of, revision_digest, type_of
from ringback.domain.errors import ConflictError, Flaw, InvalidInputError, NotFoundError
from ringback.domain.http_request import check_arguments
from ringback.domain.http_template import HttpTemplateError
from ringback.domain.ids import ProjectId
from ringback.domain.policy import POLICY_DEFAULTS, Policy, policy_of
from ringback.ports.clock import Clock
from ringback.ports.store import Desk, Row, Store
from ringback.services.audit import Deed, record
from ringback.services.definition_checks import check_definitions, flaw_of, validator_of

STABLE = "stable"
TOOL = "tool"
AGENT = "agent"
TRIES_MAX = 5
PINNED_MAX = 1_000
Catalogue = dict[tuple[str, str], dict[str, "Resource"]]  # by type and channel, then by name


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A revision, ready to check arguments against. `channel` is None where the revision itself was asked for."""

    type: str
    name: str
    resource_id: str
    revision_id: str
    channel: str | None
    definition: Mapping[str, Any]
    lane: str
    profile_snapshot: Mapping[str, Any]
    policy_snapshot: Mapping[str, Any]
    policy: Policy
    validator: jsonschema_rs.Draft202012Validator

    def check(self, arguments: Mapping[str, Any], pointer: str) -> None:
        """Refuse arguments that the tool does not take.

        Args:
            pointer: where in the caller's document the arguments stand.

        Raises:
            InvalidInputError: names each flaw by its JSON pointer.
        """
        if not self.validator.is_valid(arguments):
            raise InvalidInputError(*(flaw_of(error, pointer) for error in self.validator.iter_errors(arguments)))
        if self.definition["runtime"] == "command" and arguments:  # without any, the template alone decides
            try:
                render(self.definition["profile"], arguments)
            except CommandTemplateError as error:
                raise InvalidInputError(Flaw(pointer + error.pointer, error.rule)) from None
        elif self.definition["runtime"] == "http":
            try:
                check_arguments(self.definition["profile"], arguments)
            except HttpTemplateError as error:
                raise InvalidInputError(Flaw(pointer + error.pointer, error.rule)) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceChange:
    """What applying a definition does, or would do."""

    type: str
    name: str
    change: str  # added, changed, unchanged
    revision_id: str
    previous_revision_id: str | None
    previous: Mapping[str, Any] | None
    definition: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """A channel's way from one revision to another; None is nowhere."""

    project_id: ProjectId
    resource_id: str
    channel: str
    before: str | None
    after: str | None
    actor: str
    action: str = "channel.switched"


@dataclass(slots=True, kw_only=True)
class Resources:
    """Resolves names to revisions and applies definitions."""

    store: Store
    clock: Clock
    _released: dict[ProjectId, Catalogue] = field(default_factory=dict)
    _pinned: dict[str, tuple[str, Resource]] = field(default_factory=dict)

    async def resolve(self, project_id: ProjectId, name: str, *, kind: str = TOOL, channel: str = STABLE) -> Resource:
        """The revision of a resource that a channel points to.

        Raises:
            NotFoundError: no resource of that kind and name in the project, or nothing is released on the channel.
        """
        found = (await self.released(project_id, kind=kind, channel=channel)).get(name)
        if found is None:
            raise NotFoundError(kind, name)
        return found

    async def released(
        self, project_id: ProjectId, *, kind: str = TOOL, channel: str = STABLE
    ) -> Mapping[str, Resource]:
        """The resources of one kind by name, as they are released on a channel."""
        return (await self._catalogue(project_id)).get((kind, channel), {})

    async def pointing(self, project_id: ProjectId) -> Mapping[str, Mapping[str, str]]:
        """What the channels of each resource point to, by its id; one that nothing is released of is absent."""
        found: dict[str, dict[str, str]] = {}
        for (_, channel), named in (await self._catalogue(project_id)).items():
            for resource in named.values():
                found.setdefault(resource.resource_id, {})[channel] = resource.revision_id
        return found

    async def _catalogue(self, project_id: ProjectId) -> Catalogue:
        if (known := self._released.get(project_id)) is None:
            known = {}
            for row in await self.store.reads.rows("released_resources", {"project_id": project_id}):
                named = known.setdefault((row["resource_type"], row["channel"]), {})
                named[row["name"]] = _resource_of(row, row["channel"])
            self._released[project_id] = known
        return known

    async def pinned(self, project_id: ProjectId, revision_id: str) -> Resource:
        """A revision itself, wherever the channels point.

        Raises:
            NotFoundError: none in this project.
        """
        if (known := self._pinned.get(revision_id)) is None:
            rows = await self.store.reads.rows("revision", {"revision_id": revision_id})
            if not rows:
                raise NotFoundError("revision", revision_id)
            known = rows[0]["project_id"], _resource_of(rows[0], None)
            if len(self._pinned) >= PINNED_MAX:
                self._pinned.clear()
            self._pinned[revision_id] = known
        if known[0] != project_id:
            raise NotFoundError("revision", revision_id)
        return known[1]

    async def apply(
        self,
        project_id: ProjectId,
        definitions: Sequence[Mapping[str, Any]],
        *,
        actor: str,
        channel: str = STABLE,
        is_dry_run: bool = False,
    ) -> list[ResourceChange]:
        """Release each definition on a channel; what that changes, in the order given.

        Raises:
            InvalidInputError: some definition is wrong; nothing is changed.
            ConflictError: others keep switching the same channels.
        """
        check_definitions(definitions)
        for tried in range(1, TRIES_MAX + 1):
            changes = [await self._change(project_id, each, channel) for each in definitions]
            news = [change for change in changes if change.change != "unchanged"]
            if news and not is_dry_run:
                try:
                    await self.store.commit(_releasing(project_id, news, channel, actor))
                except ConflictError:
                    self.forget(project_id)
                    if tried == TRIES_MAX:
                        raise
                    continue
                self.forget(project_id)
            break
        return changes

    async def withdraw(self, project_id: ProjectId, name: str, *, actor: str, kind: str = TOOL) -> None:
        """Take a resource back: nothing new is started of it. Its revisions stay, and its runs go on.

        Raises:
            NotFoundError: no resource of that kind and name in the project.
        """
        found = await self.resolve(project_id, name, kind=kind)
        switch = Switch(
            project_id=project_id,
            resource_id=found.resource_id,
            channel=STABLE,
            before=found.revision_id,
            after=None,
            actor=actor,
            action=f"{kind}.withdrawn",
        )
        await self.store.commit(lambda desk: carry_out(desk, switch))
        self.forget(project_id)

    def forget(self, project_id: ProjectId) -> None:
        """Read the project's catalogue anew when it is next asked for."""
        self._released.pop(project_id, None)

    async def _change(self, project_id: ProjectId, definition: Mapping[str, Any], channel: str) -> ResourceChange:
        kind, name = type_of(definition), definition["name"]
        before = (await self.released(project_id, kind=kind, channel=channel)).get(name)
        revision_id = f"{resource_id_of(project_id, kind, name)}@{revision_digest(definition)}"
        word = "added" if before is None else "unchanged" if before.revision_id == revision_id else "changed"
        return ResourceChange(
            type=kind,
            name=name,
            change=word,
            revision_id=revision_id,
            previous_revision_id=None if before is None else before.revision_id,
            previous=None if before is None else before.definition,
            definition=definition,
        )


def carry_out(desk: Desk, switch: Switch) -> None:
    """Switch a channel and put that on record.

    Raises (from the commit):
        ConflictError: the channel points elsewhere than `switch.before` by now.
    """
    where = {"resource_id": switch.resource_id, "name": switch.channel, "switched_at": desk.now}
    desk.write("insert_channel", where)
    desk.guard("switch_channel", {**where, "revision_id": switch.after, "expected": switch.before})
    facts = {"channel": switch.channel, "from": switch.before, "to": switch.after}
    deed = Deed(
        actor=switch.actor,
        action=switch.action,
        subject=switch.resource_id,
        project_id=switch.project_id,
        facts=facts,
    )
    record(desk, deed)


def resource_id_of(project_id: ProjectId, kind: str, name: str) -> str:
    """The id of a resource; the project and the name say all of it."""
    return f"{kind}:{project_id}:{name}"


def _releasing(
    project_id: ProjectId, changes: Sequence[ResourceChange], channel: str, actor: str
) -> Callable[[Desk], None]:
    def work(desk: Desk) -> None:
        for change in changes:
            resource_id = resource_id_of(project_id, change.type, change.name)
            _keep_revision(desk, project_id, resource_id, change)
            switch = Switch(
                project_id=project_id,
                resource_id=resource_id,
                channel=channel,
                before=change.previous_revision_id,
                after=change.revision_id,
                actor=actor,
                action=f"{change.type}.{change.change}",
            )
            carry_out(desk, switch)

    return work


def _keep_revision(desk: Desk, project_id: ProjectId, resource_id: str, change: ResourceChange) -> None:
    resource = {"resource_id": resource_id, "project_id": project_id, "resource_type": change.type, "name": change.name}
    desk.write("insert_resource", {**resource, "created_at": desk.now})
    revision = {"revision_id": change.revision_id, "resource_id": resource_id}
    desk.write("insert_revision", {**revision, "definition": json.dumps(change.definition), "created_at": desk.now})


def _resource_of(row: Row, channel: str | None) -> Resource:
    definition = json.loads(row["definition"])
    pool = definition.get("profile", {}).get("pool", "default")
    policy = {**POLICY_DEFAULTS.get(definition["runtime"], {}), **definition.get("policy", {})}
    key = policy.get("concurrencyKey")
    return Resource(
        type=row["resource_type"],
        name=row["name"],
        resource_id=row["resource_id"],
        revision_id=row["revision_id"],
        channel=channel,
        definition=definition,
        lane=lane_of(pool, need_of(definition), key),
        profile_snapshot={"runtime": definition["runtime"], **definition.get("profile", {})},
        policy_snapshot=policy,
        policy=policy_of(policy),
        validator=validator_of(definition),
    )
