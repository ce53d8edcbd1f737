"""Stored scripts: Python kept in the catalogue, each change a revision, each run started with the revision that was current.

A script is a tool of the runtime `script`, so it is started, limited, retried and stopped like any other; what is added here is
keeping it by its name and trying it out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ringback.domain.errors import Flaw, InvalidInputError, NotFoundError
from ringback.domain.ids import ProjectId
from ringback.ports.store import Store
from ringback.services.resources import Resource, ResourceChange, Resources
from ringback.services.start_request import StartRequest
from ringback.services.starting import Started, Starting

RUNTIME = "script"
TIMEOUT_DEFAULT_S = 300.0
MEMORY_DEFAULT_BYTES = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What a caller keeps under a name.

    Attributes:
        timeout_s: limit of one attempt, in seconds.
        memory_bytes: limit of the address space.
        cpu_s: limit of processor time, in seconds; None is no limit but `timeout_s`.
    """

    name: str
    source: str
    description: str = ""
    input_schema: Mapping[str, Any] | None = None
    timeout_s: float = TIMEOUT_DEFAULT_S
    memory_bytes: int = MEMORY_DEFAULT_BYTES
    cpu_s: int | None = None
    pool: str = "default"

    def definition(self) -> dict[str, Any]:
        """The script as a tool's definition."""
        limits = {"memoryBytes": self.memory_bytes}
        return {
            "name": self.name,
            "description": self.description,
            "runtime": RUNTIME,
            "inputSchema": self.input_schema or {"type": "object"},
            "profile": {
                "pool": self.pool,
                "source": self.source,
                "limits": limits if self.cpu_s is None else {**limits, "cpuSeconds": self.cpu_s},
            },
            "policy": {"timeouts": {"attemptS": self.timeout_s}},
        }


@dataclass(slots=True, kw_only=True)
class Scripts:
    """Keeps scripts and starts tests of them."""

    store: Store
    resources: Resources
    starting: Starting

    async def list(self, project_id: ProjectId) -> list[Resource]:
        """The scripts of a project by name."""
        released = await self.resources.released(project_id)
        return [released[name] for name in sorted(released) if released[name].definition["runtime"] == RUNTIME]

    async def get(self, project_id: ProjectId, name: str) -> Resource:
        """The current revision of a script.

        Raises:
            NotFoundError: no script of that name in the project.
        """
        tool = (await self.resources.released(project_id)).get(name)
        if tool is None or tool.definition["runtime"] != RUNTIME:
            raise NotFoundError("script", name)
        return tool

    async def put(self, project_id: ProjectId, script: Script, *, actor: str) -> ResourceChange:
        """Make `script` the current revision under its name; the same again changes nothing.

        Raises:
            InvalidInputError: what is wrong with it, or the name belongs to a tool that is no script.
        """
        known = (await self.resources.released(project_id)).get(script.name)
        if known is not None and known.definition["runtime"] != RUNTIME:
            raise InvalidInputError(Flaw("/name", "is the name of a tool that is no script"))
        (change,) = await self.resources.apply(project_id, [script.definition()], actor=actor)
        return change

    async def delete(self, project_id: ProjectId, name: str, *, actor: str) -> None:
        """Take a script back; see `Resources.withdraw`."""
        await self.get(project_id, name)
        await self.resources.withdraw(project_id, name, actor=actor)

    async def revisions(self, project_id: ProjectId, name: str) -> Sequence[Mapping[str, Any]]:
        """Every revision of a script, newest first: revision_id and created_at."""
        tool = await self.get(project_id, name)
        return await self.store.reads.rows("revisions_of_resource", {"resource_id": tool.resource_id})

    async def test(
        self,
        project_id: ProjectId,
        owner: str,
        name: str,
        arguments: Mapping[str, Any],
        *,
        request_id: str,
        idempotency_key: str | None = None,
    ) -> Started:
        """Start a run of a script whose way in is shown as a test. See `Starting.start`."""
        tool = await self.get(project_id, name)
        request = StartRequest(
            tool=tool.name,
            arguments=arguments,
            arguments_pointer="/args",
            idempotency_key=idempotency_key,
            caller_context={"request": {"method": "TEST", "path": name}},
            source="test",
        )
        return await self.starting.start(project_id, owner, request, request_id=request_id)
