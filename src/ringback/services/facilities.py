"""What an attempt may use through its runtime: small values kept for its tool, secrets by name, its frozen configuration.

Each is a capability that was agreed when the runtime attached; what was not agreed is refused. The session that asks must hold
the run. A value belongs to a tool of a project and outlives runs; it has a version, so that two runs that change it notice each
other. Secrets are never stored: the server has those of its own environment, and gives the ones that the run's revision names.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ringback.domain.decide import check_held
from ringback.domain.errors import Flaw, InvalidInputError, UnsupportedCapabilityError
from ringback.domain.json_values import text_flaw
from ringback.domain.runs import Run
from ringback.ports.store import Desk, Row, Store
from ringback.services.connections import Connections
from ringback.services.reports import UseReport

KEY_MAX = 200
VALUE_BYTES_MAX = 64 * 1024
VALUES_MAX = 1_000
NOTHING: Mapping[str, Any] = {"value": None, "version": 0, "request_id": None}


@dataclass(slots=True, kw_only=True)
class Facilities:
    """Serves the capabilities that need the server."""

    store: Store
    connections: Connections
    secret_of: Callable[[str], str | None]
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def use(self, run: Run, report: UseReport) -> dict[str, Any]:
        """What was asked for.

        Raises:
            StaleFenceError: the attempt no longer holds the run.
            UnsupportedCapabilityError: it was not agreed on.
            InvalidInputError: what is wrong with the key, the value or the name.
        """
        check_held(run, report.fence)
        await self._check_agreed(run, report.capability)
        match report.capability:
            case "kv.read":
                return shown(await self._row(run, _sound(report.key)))
            case "kv.write":
                return await self._write(run, report)
            case "secrets.read":
                return {"value": await self._secret(run, report.key)}
            case _:
                return await self._config(run)

    async def _check_agreed(self, run: Run, capability: str) -> None:
        name = None if run.attempt is None else run.attempt.capability_set
        agreed = (await self.connections.sets((name,))).get(name or "", ())
        if not any(each["name"] == capability and each["supportLevel"] != "unsupported" for each in agreed):
            raise UnsupportedCapabilityError(capability)

    async def _write(self, run: Run, report: UseReport) -> dict[str, Any]:
        """Keep a value, unless it is of another version than the one expected; `written` says which."""
        key = _sound(report.key)
        if report.value is not None and len(report.value.encode()) > VALUE_BYTES_MAX:
            raise InvalidInputError(Flaw("/value", f"has more than {VALUE_BYTES_MAX} bytes of JSON"))
        async with self._one_at_a_time:  # between the question and the commit nobody else writes
            before = await self._row(run, key)
            if report.request_id and before["request_id"] == report.request_id:
                return {**shown(before), "written": True}  # said twice
            if report.if_version not in (None, before["version"]):
                return {**shown(before), "written": False}
            await self._check_room(run, before, report)
            after = {"value": report.value, "version": before["version"] + 1, "request_id": report.request_id}
            await self.store.commit(lambda desk: _put(desk, run, report, key, before["version"]), runs=(run.run_id,))
            return {**shown(after), "written": True}

    async def _check_room(self, run: Run, before: Row, report: UseReport) -> None:
        if report.value is None or before["value"] is not None:
            return
        (row,) = await self.store.reads.rows("count_tool_values", {"project_id": run.project_id, "tool": run.tool})
        if row["kept"] >= VALUES_MAX:
            raise InvalidInputError(Flaw("/key", f"the tool keeps {VALUES_MAX} values already"))

    async def _row(self, run: Run, key: str) -> Row:
        values = {"project_id": run.project_id, "tool": run.tool, "key": key}
        return next(iter(await self.store.reads.rows("tool_value", values)), NOTHING)

    async def _secret(self, run: Run, name: str) -> str:
        facts = (await self.store.reads.facts([run.run_id]))[run.run_id]
        value = self.secret_of(name) if name in (facts.profile.get("secrets") or ()) else None
        if value is None:
            raise InvalidInputError(Flaw("/name", "the revision names no such secret, or the server has none"))
        return value

    async def _config(self, run: Run) -> dict[str, Any]:
        facts = (await self.store.reads.facts([run.run_id]))[run.run_id]
        profile = {name: value for name, value in facts.profile.items() if name != "source"}
        return {"value": {"profile": profile, "policy": facts.policy, "revisionId": facts.revision_id}}


def shown(row: Mapping[str, Any]) -> dict[str, Any]:
    """A value with its version; 0 means that there never was one."""
    told: dict[str, Any] = {"version": row["version"]}
    return told if row["value"] is None else {**told, "value": json.loads(row["value"])}


def _sound(key: str) -> str:
    flaw = text_flaw(key) or (None if 1 <= len(key) <= KEY_MAX else f"must have 1 to {KEY_MAX} characters")
    if flaw is not None:
        raise InvalidInputError(Flaw("/key", flaw))
    return key


def _put(desk: Desk, run: Run, report: UseReport, key: str, before: int) -> None:
    check_held(desk.run(run.run_id), report.fence)
    values = {
        "project_id": run.project_id,
        "tool": run.tool,
        "key": key,
        "value": report.value,
        "before": before,
        "request_id": report.request_id,
        "run_id": run.run_id,
        "now": desk.now,
    }
    desk.write("put_tool_value", values)
