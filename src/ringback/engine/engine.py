"""The loops of one server process, started and stopped together by their owner."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ringback.domain.moments import Micros
from ringback.engine.bells import Bells
from ringback.engine.outbox import Outbox
from ringback.engine.retention import Retention
from ringback.engine.sweeper import Sweeper
from ringback.engine.timers import Timers
from ringback.ports.clock import Clock
from ringback.ports.store import Store


@dataclass(slots=True, kw_only=True)
class Engine:
    """What goes on without being asked."""

    store: Store
    clock: Clock
    bells: Bells
    sweeper: Sweeper
    timers: Timers
    outbox: Outbox
    retention: Retention
    lease: Micros
    others: list[Callable[[], Coroutine[Any, Any, None]]] = field(default_factory=list)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)
    _unlisten: Callable[[], None] | None = None

    async def start(self) -> None:
        """Give living workers a full lease to come back in, then start the loops."""
        values = {"lease_until": self.clock.now() + self.lease}
        await self.store.commit(lambda desk: desk.write("extend_leases", values))
        self.bells.timer_set = self.timers.expect
        self._unlisten = self.bells.start()
        loops = (self.sweeper.run, self.timers.run, self.outbox.run, self.retention.run, *self.others)
        self._tasks = [asyncio.create_task(loop(), name=loop.__qualname__) for loop in loops]

    async def stop(self) -> None:
        """Stop the loops; what they had begun is finished or undone by its transaction."""
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task
        if self._unlisten is not None:
            self._unlisten()
