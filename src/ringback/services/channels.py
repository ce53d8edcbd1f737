"""Release channels: which revision each points to, switching them, and the way back.

A channel is switched from where its switcher saw it. Every switch is on record, which is also where `rollback` finds the way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ringback.domain.errors import ChannelMovedError, ConflictError, Flaw, InvalidInputError, NotFoundError
from ringback.domain.ids import ProjectId
from ringback.ports.store import Row, Store
from ringback.services.resources import Resource, ResourceChange, Resources, Switch, carry_out, resource_id_of

NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
SWITCHES_SEEN = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A resource of a project by kind and name."""

    project_id: ProjectId
    kind: str
    name: str

    @property
    def resource_id(self) -> str:
        return resource_id_of(self.project_id, self.kind, self.name)


@dataclass(slots=True, kw_only=True)
class Channels:
    """Reads and switches the channels of a project's resources."""

    store: Store
    resources: Resources

    async def resources_of(self, project_id: ProjectId) -> Sequence[Row]:
        """Every resource, by kind and name, released or not."""
        return await self.store.reads.rows("resources_of_project", {"project_id": project_id})

    async def channels(self, of: Reference) -> Sequence[Row]:
        """Where each channel points: name, revision_id (None: nowhere), version, switched_at.

        Raises:
            NotFoundError: no such resource.
        """
        values = {"project_id": of.project_id, "resource_type": of.kind, "name": of.name}
        if not await self.store.reads.rows("resource_named", values):
            raise NotFoundError(of.kind, of.name)
        return await self.store.reads.rows("channels_of_resource", {"resource_id": of.resource_id})

    async def revisions(self, of: Reference) -> Sequence[Row]:
        """Every revision, newest first: revision_id and created_at."""
        await self.channels(of)
        return await self.store.reads.rows("revisions_of_resource", {"resource_id": of.resource_id})

    async def revision(self, of: Reference, revision_id: str) -> Resource:
        """One revision. Its id may be given without the resource's before the `@`.

        Raises:
            NotFoundError: none of this resource.
        """
        whole = revision_id if "@" in revision_id else f"{of.resource_id}@{revision_id}"
        found = await self.resources.pinned(of.project_id, whole)
        if found.resource_id != of.resource_id:
            raise NotFoundError("revision", revision_id)
        return found

    async def switch(
        self, of: Reference, channel: str, revision_id: str | None, *, actor: str, expected: str | None = None
    ) -> Row:
        """Point a channel at a revision, or nowhere; where it points now.

        Args:
            expected: the revision that it must point to before; None takes it from wherever it points.

        Raises:
            InvalidInputError: no name that a channel may have.
            NotFoundError: no such resource or revision.
            ChannelMovedError: it points elsewhere than expected.
        """
        _check_name(channel, "/channel")
        after = None if revision_id is None else (await self.revision(of, revision_id)).revision_id
        before = next((row["revision_id"] for row in await self.channels(of) if row["name"] == channel), None)
        if expected is not None and before != (await self.revision(of, expected)).revision_id:
            raise ChannelMovedError(channel, before)
        if before != after:
            switch = Switch(
                project_id=of.project_id,
                resource_id=of.resource_id,
                channel=channel,
                before=before,
                after=after,
                actor=actor,
            )
            try:
                await self.store.commit(lambda desk: carry_out(desk, switch))
            except ConflictError:
                now = {row["name"]: row["revision_id"] for row in await self.channels(of)}
                raise ChannelMovedError(channel, now.get(channel)) from None
            finally:
                self.resources.forget(of.project_id)
        return next(row for row in [*await self.channels(of), _nowhere(channel)] if row["name"] == channel)

    async def apply(
        self,
        project_id: ProjectId,
        definitions: Sequence[Mapping[str, Any]],
        *,
        channel: str,
        actor: str,
        is_dry_run: bool = False,
    ) -> list[ResourceChange]:
        """Release definitions on a channel; see `Resources.apply`.

        Raises:
            InvalidInputError: no name that a channel may have, or what is wrong with a definition.
        """
        _check_name(channel, "/releaseChannel")
        return await self.resources.apply(project_id, definitions, actor=actor, channel=channel, is_dry_run=is_dry_run)

    async def switches(self, of: Reference, channel: str) -> Sequence[Row]:
        """How a channel came to point where it points, newest first: at, actor, action, from, to."""
        await self.channels(of)
        values = {"project_id": of.project_id, "subject": of.resource_id, "limit": SWITCHES_SEEN}
        rows = await self.store.reads.rows("audit_of_subject", values)
        read = [{**row, "facts": json.loads(row["facts"])} for row in rows]
        return [
            {"at": row["at"], "actor": row["actor"], "action": row["action"], **row["facts"]}
            for row in read
            if row["facts"].get("channel") == channel
        ]

    async def rollback(self, of: Reference, channel: str, *, actor: str) -> Row:
        """Take back the last switch of a channel; taking that back again undoes it.

        Raises:
            NotFoundError: the channel was never switched from one revision to another.
        """
        last = next(iter(await self.switches(of, channel)), None)
        if last is None or last["from"] is None:
            raise NotFoundError("earlier revision on channel", channel)
        return await self.switch(of, channel, last["from"], actor=actor, expected=last["to"])


def _check_name(channel: str, pointer: str) -> None:
    if not NAME.fullmatch(channel):
        raise InvalidInputError(Flaw(pointer, "must match [a-z][a-z0-9_-]{0,31}"))


def _nowhere(channel: str) -> Row:
    return {"name": channel, "revision_id": None, "version": 0, "switched_at": 0}
