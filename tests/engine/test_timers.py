"""Timers: start times, back-offs and limits, each once and none forgotten."""

from __future__ import annotations

import asyncio

from ringback.domain.moments import SECOND, rfc3339
from ringback.domain.runs import AttemptOutcome
from ringback.domain.states import FailureKind, Status, TimeLimit
from tests.builders import NOON
from tests.installed import Installed, tool


async def test_a_delayed_run_is_claimed_at_its_time_and_not_before(here: Installed) -> None:
    """O04."""
    run = await here.start(not_before=rfc3339(NOON + 60 * SECOND))
    session = await here.attach()
    timers = here.core.engine.timers
    assert await here.claim(session) == []
    here.clock.advance(59 * SECOND)
    await timers.fire()
    session = await here.attach()
    assert await here.claim(session) == []

    here.clock.advance(1 * SECOND)
    await timers.fire()

    assert [claim["runId"] for claim in await here.claim(session)] == [run.run_id]
    assert await here.claim(session) == []


async def test_a_retry_waits_its_back_off(here: Installed) -> None:
    """O51: never shorter than asked for."""
    await here.apply(tool("flaky", policy={"retry": {"attemptsMax": 2, "delayS": 10, "jitterS": 4}}))
    run = await here.start("flaky")
    session = await here.attach()
    await here.run_once(session, AttemptOutcome.FAILED)
    here.clock.advance(12 * SECOND - 1)
    await here.core.engine.timers.fire()
    assert await here.claim(session) == []

    here.clock.advance(1)
    await here.core.engine.timers.fire()

    (claim,) = await here.claim(session)
    assert (claim["runId"], claim["attemptNo"]) == (run.run_id, 2)


async def test_a_run_that_waits_too_long_expires_with_the_limit_that_fired(here: Installed) -> None:
    """O22."""
    await here.apply(tool("hasty", policy={"timeouts": {"queueS": 5}}))
    run = await here.start("hasty")

    here.clock.advance(5 * SECOND)
    await here.core.engine.timers.fire()

    after = await here.look(run.run_id)
    assert (after.status, after.failure_kind, after.time_limit) == (Status.FAILED, FailureKind.EXPIRED, TimeLimit.QUEUE)


async def test_the_loop_sleeps_until_the_next_timer_and_wakes_for_an_earlier_one(here: Installed) -> None:
    engine = here.core.engine
    engine.bells.timer_set = engine.timers.expect
    engine.timers.fired.arm()
    task = asyncio.create_task(engine.timers.run())
    assert await engine.timers.fired.next() == 0
    here.clock.advance(-SECOND)  # the timer is due as soon as it is set
    run = await here.start(total_timeout_s=0.001)
    here.clock.advance(SECOND)

    while await engine.timers.fired.next() == 0:
        pass
    task.cancel()

    assert (await here.look(run.run_id)).failure_kind is FailureKind.EXPIRED
