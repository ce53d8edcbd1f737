"""The services over a real ledger in this process: what a server holds, without its HTTP door."""

from pathlib import Path
from typing import Self

from ringback.core import Core, Options, assemble
from ringback.domain.ids import ProjectId
from ringback.services.workers import Attach
from ringback.store.clock import SystemChance, SystemClock, UuidIds
from ringback.store.local_notify import LocalNotify
from ringback.store.sqlite import SqliteStore

TOOL = "noop"
DEFINITION = {
    "name": TOOL,
    "runtime": "function",
    "inputSchema": {"type": "object", "properties": {"number": {"type": "integer"}}, "additionalProperties": False},
    "profile": {"function": "bench.noop:app/noop"},
}


class Ledger:
    """A ledger with one tool and one attached worker session."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def __aenter__(self) -> Self:
        clock, notify = SystemClock(), LocalNotify()
        self.store = SqliteStore(self._folder / "ringback.db", clock=clock, notify=notify)
        await self.store.open()
        self.core: Core = assemble(
            store=self.store,
            clock=clock,
            ids=UuidIds(),
            chance=SystemChance(),
            notify=notify,
            pepper=b"bench",
            options=Options(lease=3_600_000_000),
        )
        await self.core.start()
        hello = Attach(
            name="bench",
            incarnation="bench",
            slots=256,
            offers=("default/function:noop",),
            labels={},
            capabilities=(),
            tools=(DEFINITION,),
            protocol_version=1,
        )
        self.session = await self.core.workers.attach(ProjectId("default"), "bench", hello)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.core.stop()
        await self.store.aclose()
