"""A core over a real ledger, with a clock that moves only when told to and no loop running unless a test starts it."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ringback.core import Core, Options, assemble
from ringback.domain.ids import ProjectId, RunId
from ringback.domain.runs import AttemptOutcome, Run
from ringback.domain.sessions import Session
from ringback.domain.states import FailureKind
from ringback.services.births import Parent
from ringback.services.reports import EventsReport, SettleReport, StartReport
from ringback.services.start_request import StartRequest
from ringback.services.starting import Started
from ringback.services.workers import Attach
from ringback.store.clock import UuidIds
from ringback.store.local_notify import LocalNotify
from ringback.store.sqlite import SqliteStore
from tests.builders import FakeClock

PROJECT = ProjectId("default")
ECHO: Mapping[str, Any] = {
    "name": "echo",
    "description": "Print a text.",
    "runtime": "command",
    "inputSchema": {
        "type": "object",
        "properties": {"text": {"type": "string"}, "count": {"type": "integer"}},
        "additionalProperties": False,
    },
    "profile": {"command": ["echo", "{text}", "{count}"]},
    "policy": {},
}


def tool(name: str = "echo", *, policy: Mapping[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """A definition: `echo` under another name, with another policy, or with other members."""
    return {**ECHO, "name": name, "policy": policy or {}, **changes}


class Draws:
    """Chance that always draws the same."""

    value = 0.5

    def draw(self) -> float:
        return self.value


@dataclass(slots=True)
class Installed:
    """The core and short words for what tests do with it."""

    core: Core
    clock: FakeClock
    notify: LocalNotify
    path: Path
    names: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    async def apply(self, *definitions: Mapping[str, Any]) -> None:
        await self.core.catalogue.resources.apply(PROJECT, definitions, actor="tests")

    async def start(self, tool: str = "echo", *, parent: Parent | None = None, **request: Any) -> Run:
        return (await self.started(tool, parent=parent, **request)).run

    async def started(
        self, tool: str = "echo", *, parent: Parent | None = None, owner: str = "me", **request: Any
    ) -> Started:
        request.setdefault("arguments", {"text": "hello"})
        asked = StartRequest(tool=tool, **request)
        return await self.core.starting.start(PROJECT, owner, asked, request_id="req", parent=parent)

    async def attach(self, *offers: str, slots: int = 10) -> Session:
        number = next(self.names)
        hello = Attach(
            name=f"w{number}",
            incarnation=f"i{number}",
            slots=slots,
            offers=offers or ("default/command",),
            labels={},
            capabilities=(),
            tools=(),
            protocol_version=1,
        )
        return await self.core.workers.attach(PROJECT, "worker", hello)

    async def claim(self, session: Session, slots: int = 10) -> list[dict[str, Any]]:
        return (await self.core.workers.handing_out.claim(session, slots=slots, wait_s=0)).claims

    async def begin(self, session: Session, claim: Mapping[str, Any]) -> None:
        report = StartReport(run_id=claim["runId"], fence=claim["fence"])
        assert await self.core.workers.report(session, [report]) == [{"ok": True}]

    async def tell(self, session: Session, claim: Mapping[str, Any], **events: Any) -> dict[str, Any]:
        report = EventsReport(run_id=claim["runId"], fence=claim["fence"], **events)
        return (await self.core.workers.report(session, [report]))[0]

    async def settle(
        self, session: Session, claim: Mapping[str, Any], outcome: AttemptOutcome = AttemptOutcome.SUCCEEDED, **how: Any
    ) -> dict[str, Any]:
        if outcome is AttemptOutcome.FAILED:
            how = {"error_kind": FailureKind.TOOL_ERROR, "error": "exit code 1", **how}
        how.setdefault("result", {})
        report = SettleReport(run_id=claim["runId"], fence=claim["fence"], outcome=outcome, **how)
        return (await self.core.workers.report(session, [report]))[0]

    async def run_once(self, session: Session, outcome: AttemptOutcome = AttemptOutcome.SUCCEEDED, **how: Any) -> Run:
        """Claim one run, start it, settle it."""
        (claim,) = await self.claim(session, 1)
        await self.begin(session, claim)
        assert await self.settle(session, claim, outcome, **how) == {"ok": True}
        return await self.look(claim["runId"])

    async def look(self, run_id: str) -> Run:
        run = await self.core.store.reads.run(RunId(run_id))
        assert run is not None
        return run


@asynccontextmanager
async def installed(folder: Path, options: Options | None = None) -> AsyncIterator[Installed]:
    """An installation in `folder`, with `echo` applied and its loops at rest; bells ring."""
    clock, notify = FakeClock(), LocalNotify()
    store = SqliteStore(folder / "ringback.db", clock=clock, notify=notify)
    await store.open()
    core = assemble(
        store=store,
        clock=clock,
        ids=UuidIds(),
        chance=Draws(),
        notify=notify,
        pepper=b"pepper",
        options=options or Options(),
    )
    await core.access.install()
    await core.queues.load()
    silence = core.engine.bells.start()
    installation = Installed(core, clock, notify, folder / "ringback.db")
    await installation.apply(ECHO)
    yield installation
    silence()
    await store.aclose()
