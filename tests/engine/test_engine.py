"""The loops together: started, stopped, and what a restart means for living workers."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ringback.core import Options
from ringback.domain.errors import StoreUnavailableError
from ringback.domain.moments import DAY, SECOND
from ringback.domain.states import Status
from ringback.engine.retention import Retention
from ringback.engine.sweeper import Sweeper
from ringback.engine.timers import Timers
from tests.installed import PROJECT, Installed, installed


async def test_living_workers_get_a_full_lease_after_a_restart(here: Installed) -> None:
    """Nobody could renew a lease while there was no server."""
    session = await here.attach()
    here.clock.advance(60 * SECOND)

    await here.core.engine.start()
    await here.core.engine.sweeper.sweep()
    await here.core.workers.heartbeat(session.session_id, [])

    await here.core.stop()


async def test_the_loops_carry_a_chain_to_its_end_by_themselves(tmp_path: Path) -> None:
    async with installed(tmp_path, Options(sweep_every=SECOND // 100)) as here:
        await here.core.start()
        first = await here.start()
        second = await here.start(depends_on=(first.run_id,))
        session = await here.attach()
        await here.run_once(session)

        async with asyncio.timeout(15):
            work = await here.core.workers.handing_out.claim(session, slots=1, wait_s=5)

        assert [claim["runId"] for claim in work.claims] == [second.run_id]
        await here.core.stop()


async def test_retention_as_a_loop_and_without_a_limit(here: Installed) -> None:
    run = await here.start()
    await here.core.runs.cancel(PROJECT, run.run_id, by="me")
    here.clock.advance(40 * DAY)
    keeping = Retention(store=here.core.store, clock=here.clock, keep=None)
    assert await keeping.remove() == 0
    retention = here.core.engine.retention
    retention.removed.arm()
    task = asyncio.create_task(retention.run())

    assert await retention.removed.next() == 1
    task.cancel()


class Broken:
    """A store whose reads fail a few times."""

    def __init__(self, here: Installed, times: int) -> None:
        self._here, self._left = here, times
        self.commit = here.core.store.commit

    @property
    def reads(self) -> object:
        if self._left:
            self._left -= 1
            raise StoreUnavailableError
        return self._here.core.store.reads


@pytest.mark.parametrize("name", ["sweeper", "timers", "retention"])
async def test_a_loop_outlives_a_store_that_fails_for_a_while(here: Installed, name: str) -> None:
    engine = here.core.engine
    store = Broken(here, 2)
    loops: dict[str, Sweeper | Timers | Retention] = {
        "sweeper": Sweeper(store=store, clock=here.clock, chance=engine.sweeper.chance, bells=engine.bells, every=1),  # type: ignore[arg-type]
        "timers": Timers(store=store, clock=here.clock),  # type: ignore[arg-type]
        "retention": Retention(store=store, clock=here.clock, keep=DAY, every=1),  # type: ignore[arg-type]
    }
    loop = loops[name]
    probe = getattr(loop, {"sweeper": "swept", "timers": "fired", "retention": "removed"}[name])
    probe.arm()
    task = asyncio.create_task(loop.run())
    if isinstance(loop, Timers):
        loop.expect(0)

    assert await probe.next() == 0
    task.cancel()


async def test_a_stop_between_question_and_claim_is_respected(here: Installed) -> None:
    """O16: the run was ready when it was asked for, and stopped before it was taken."""
    run = await here.start()
    session = await here.attach()
    claims = here.core.workers.handing_out.claims
    reads = here.core.store.reads
    held = reads.held

    async def stopped_meanwhile() -> dict[object, int]:
        await here.core.runs.cancel(PROJECT, run.run_id, by="me")
        return await held()  # type: ignore[return-value]

    reads.held = stopped_meanwhile  # type: ignore[method-assign, assignment]

    assert await claims.claim(session, limit=1) == []
    assert (await here.look(run.run_id)).status is Status.CANCELED
