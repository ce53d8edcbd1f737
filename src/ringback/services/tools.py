"""The catalogue of tools: definitions in, immutable revisions kept, one of them released on each channel.

Applying the same definition again changes nothing, because a revision is named by its content.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jsonschema_rs

from ringback.domain.admission import lane_of
from ringback.domain.commands import CommandTemplateError, check_template, render
from ringback.domain.definitions import definition_flaws, need_of, revision_digest
from ringback.domain.errors import Flaw, InvalidInputError, NotFoundError
from ringback.domain.ids import ProjectId
from ringback.domain.json_values import escape
from ringback.domain.policy import Policy, policy_of
from ringback.ports.clock import Clock, Ids
from ringback.ports.store import Desk, Store
from ringback.services.audit import Deed, record
from ringback.summaries import parse_spec

STABLE = "stable"
DEFINITIONS_MAX = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A released revision, ready to check arguments against."""

    name: str
    resource_id: str
    revision_id: str
    channel: str
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
            raise InvalidInputError(*(_flaw_of(error, pointer) for error in self.validator.iter_errors(arguments)))
        if self.definition["runtime"] == "command" and arguments:  # without any, the template alone decides
            try:
                render(self.definition["profile"], arguments)
            except CommandTemplateError as error:
                raise InvalidInputError(Flaw(pointer + error.pointer, error.rule)) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolChange:
    """What applying a definition does, or would do."""

    name: str
    change: str  # added, changed, unchanged
    revision_id: str
    previous_revision_id: str | None
    previous: Mapping[str, Any] | None
    definition: Mapping[str, Any]


@dataclass(slots=True, kw_only=True)
class Tools:
    """Resolves names to revisions and applies definitions."""

    store: Store
    clock: Clock
    ids: Ids
    _released: dict[ProjectId, dict[str, Tool]] = field(default_factory=dict)

    async def resolve(self, project_id: ProjectId, name: str) -> Tool:
        """The stable revision of a tool.

        Raises:
            NotFoundError: no tool of that name in the project.
        """
        tool = (await self.released(project_id)).get(name)
        if tool is None:
            raise NotFoundError("tool", name)
        return tool

    async def released(self, project_id: ProjectId) -> Mapping[str, Tool]:
        """The tools of a project by name."""
        if (known := self._released.get(project_id)) is None:
            rows = await self.store.reads.rows("released_tools", {"project_id": project_id})
            known = {row["name"]: _tool_of(row) for row in rows if row["channel"] == STABLE}
            self._released[project_id] = known
        return known

    async def apply(
        self, project_id: ProjectId, definitions: Sequence[Mapping[str, Any]], *, actor: str, is_dry_run: bool = False
    ) -> list[ToolChange]:
        """Release each definition on the stable channel; what that changes, in the order given.

        Raises:
            InvalidInputError: some definition is wrong; nothing is changed.
        """
        _check(definitions)
        released = await self.released(project_id)
        changes = [_change(released.get(each["name"]), project_id, each) for each in definitions]
        news = [change for change in changes if change.change != "unchanged"]
        if news and not is_dry_run:
            now = self.clock.now()

            def work(desk: Desk) -> None:
                for change in news:
                    _release(desk, project_id, change, now, actor)

            await self.store.commit(work)
            self._released.pop(project_id, None)
        return changes

    async def withdraw(self, project_id: ProjectId, name: str, *, actor: str) -> None:
        """Take a tool back: nothing new is started of it. Its revisions stay, and its runs go on.

        Raises:
            NotFoundError: no tool of that name in the project.
        """
        tool, now = await self.resolve(project_id, name), self.clock.now()

        def work(desk: Desk) -> None:
            channel = {"resource_id": tool.resource_id, "name": STABLE, "revision_id": None, "switched_at": now}
            desk.write("switch_channel", channel)
            facts = {"from": tool.revision_id, "to": None}
            deed = Deed(
                actor=actor, action="tool.withdrawn", subject=tool.resource_id, project_id=project_id, facts=facts
            )
            record(desk, deed)

        await self.store.commit(work)
        self._released.pop(project_id, None)


def _check(definitions: Sequence[Mapping[str, Any]]) -> None:
    flaws: list[Flaw] = []
    if len(definitions) > DEFINITIONS_MAX:
        flaws.append(Flaw("/definitions", f"at most {DEFINITIONS_MAX} at a time"))
    seen: set[str] = set()
    for index, definition in enumerate(definitions):
        at = f"/definitions/{index}"
        found = list(definition_flaws(definition))
        if not found:
            found = [*_schema_flaws(definition), *_template_flaws(definition), *_summary_flaws(definition)]
        flaws.extend(Flaw(at + flaw.pointer, flaw.detail) for flaw in found)
        name = str(definition.get("name"))
        if name in seen:
            flaws.append(Flaw(f"{at}/name", "named twice"))
        seen.add(name)
    if flaws:
        raise InvalidInputError(*flaws[:100])


def _schema_flaws(definition: Mapping[str, Any]) -> list[Flaw]:
    try:
        _validator(definition)
    except (jsonschema_rs.ValidationError, ValueError) as error:
        return [Flaw("/inputSchema", f"not a JSON Schema (2020-12): {str(error).splitlines()[0][:300]}")]
    return []


def _template_flaws(definition: Mapping[str, Any]) -> list[Flaw]:
    if definition["runtime"] != "command":
        return []
    problems = check_template(definition["profile"], definition.get("inputSchema") or {})
    return [Flaw(f"/profile{problem.pointer}", problem.rule) for problem in problems]


def _summary_flaws(definition: Mapping[str, Any]) -> list[Flaw]:
    try:
        parse_spec(definition.get("summary", "auto"))
    except ValueError as error:
        return [Flaw("/summary", str(error))]
    return []


def _validator(definition: Mapping[str, Any]) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(dict(definition.get("inputSchema") or {"type": "object"}))


def _flaw_of(error: jsonschema_rs.ValidationError, pointer: str) -> Flaw:
    where = "".join(f"/{escape(str(part))}" for part in error.instance_path)
    return Flaw(pointer + where, error.message[:300])


def _resource_id(project_id: ProjectId, name: str) -> str:
    return f"tool:{project_id}:{name}"


def _change(before: Tool | None, project_id: ProjectId, definition: Mapping[str, Any]) -> ToolChange:
    revision_id = f"{_resource_id(project_id, definition['name'])}@{revision_digest(definition)}"
    word = "added" if before is None else "unchanged" if before.revision_id == revision_id else "changed"
    return ToolChange(
        name=definition["name"],
        change=word,
        revision_id=revision_id,
        previous_revision_id=None if before is None else before.revision_id,
        previous=None if before is None else before.definition,
        definition=definition,
    )


def _release(desk: Desk, project_id: ProjectId, change: ToolChange, now: int, actor: str) -> None:
    resource_id = _resource_id(project_id, change.name)
    resource = {"resource_id": resource_id, "project_id": project_id, "resource_type": "tool", "name": change.name}
    desk.write("insert_resource", {**resource, "created_at": now})
    revision = {
        "revision_id": change.revision_id,
        "resource_id": resource_id,
        "definition": json.dumps(change.definition),
    }
    desk.write("insert_revision", {**revision, "created_at": now})
    channel = {"resource_id": resource_id, "name": STABLE, "revision_id": change.revision_id, "switched_at": now}
    desk.write("switch_channel", channel)
    facts = {"from": change.previous_revision_id, "to": change.revision_id}
    action = f"tool.{change.change}"
    record(desk, Deed(actor=actor, action=action, subject=resource_id, project_id=project_id, facts=facts))


def _tool_of(row: Mapping[str, Any]) -> Tool:
    definition = json.loads(row["definition"])
    pool = definition.get("profile", {}).get("pool", "default")
    policy = definition.get("policy", {})
    key = policy.get("concurrencyKey")
    return Tool(
        name=row["name"],
        resource_id=row["resource_id"],
        revision_id=row["revision_id"],
        channel=row["channel"],
        definition=definition,
        lane=lane_of(pool, need_of(definition), key),
        profile_snapshot={"runtime": definition["runtime"], **definition.get("profile", {})},
        policy_snapshot=policy,
        policy=policy_of(policy),
        validator=_validator(definition),
    )
