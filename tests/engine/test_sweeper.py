"""The sweeper: silent workers, their attempts, and nobody else's."""

from __future__ import annotations

import asyncio

import pytest

from ringback.domain.errors import SessionExpiredError
from ringback.domain.moments import SECOND
from ringback.domain.runs import AttemptOutcome
from ringback.domain.states import FailureKind, Status
from tests.installed import Installed, tool

SAFE = {"idempotent": True}


async def lose_worker(here: Installed) -> None:
    here.clock.advance(16 * SECOND)
    await here.core.engine.sweeper.sweep()


async def test_a_silent_worker_loses_its_attempts_after_one_lease(here: Installed) -> None:
    """O01, O03."""
    await here.apply(tool("safe", policy=SAFE))
    run = await here.start("safe")
    session = await here.attach()
    (claim,) = await here.claim(session)
    await here.begin(session, claim)

    await lose_worker(here)

    after = await here.look(run.run_id)
    assert after.status is Status.RETRYING
    (lost,) = await here.core.store.reads.attempts(run.run_id)
    assert lost.outcome is AttemptOutcome.LOST


async def test_work_that_may_have_begun_is_not_begun_again_unless_it_is_safe(here: Installed) -> None:
    run = await here.start()
    session = await here.attach()
    (claim,) = await here.claim(session)
    await here.begin(session, claim)

    await lose_worker(here)

    after = await here.look(run.run_id)
    assert (after.status, after.failure_kind) == (Status.FAILED, FailureKind.LOST)
    assert "unknown" in (after.error or "")


async def test_a_new_process_of_the_same_name_keeps_nothing_alive(here: Installed) -> None:
    """O01: the lease belongs to the session; heartbeats of the next one don't count."""
    run = await here.start()
    old = await here.attach()
    (claim,) = await here.claim(old)
    await here.begin(old, claim)
    new = await here.attach()
    for _ in range(4):
        here.clock.advance(5 * SECOND)
        await here.core.workers.heartbeat(new.session_id, [])

    await here.core.engine.sweeper.sweep()

    assert (await here.look(run.run_id)).status is Status.FAILED
    with pytest.raises(SessionExpiredError):
        await here.core.workers.heartbeat(old.session_id, [])


async def test_concurrent_sweeps_count_a_loss_once(here: Installed) -> None:
    """O08."""
    await here.apply(tool("safe", policy=SAFE))
    runs = [await here.start("safe") for _ in range(20)]
    session = await here.attach(slots=20)
    for claim in await here.claim(session, 20):
        await here.begin(session, claim)
    here.clock.advance(16 * SECOND)

    await asyncio.gather(*(here.core.engine.sweeper.sweep() for _ in range(3)))

    for run in runs:
        after = await here.look(run.run_id)
        assert after.attempts_done == 1
        events = await here.core.store.reads.events(run.run_id, after=0, limit=100)
        assert [event.body["outcome"] for event in events if event.type == "attempt.ended"] == ["lost"]


async def test_a_superseded_worker_changes_nothing_and_leaves_evidence(here: Installed) -> None:
    """O06."""
    await here.apply(tool("safe", policy=SAFE))
    run = await here.start("safe")
    old = await here.attach()
    (stale,) = await here.claim(old)
    await here.begin(old, stale)
    await lose_worker(here)
    here.clock.advance(10 * SECOND)
    await here.core.engine.timers.fire()
    new = await here.attach()
    done = await here.run_once(new, summary="by the second")

    answer = await here.settle(old, stale, summary="by the first")

    assert answer["code"] == "stale_fence"
    assert await here.look(run.run_id) == done
    first, second = await here.core.store.reads.attempts(run.run_id)
    assert first.late is not None
    assert (first.late["outcome"], second.late) == ("succeeded", None)


async def test_heartbeats_keep_a_slow_worker_alive(here: Installed) -> None:
    run = await here.start()
    session = await here.attach()
    (claim,) = await here.claim(session)
    await here.begin(session, claim)
    for _ in range(10):
        here.clock.advance(10 * SECOND)
        await here.core.workers.heartbeat(session.session_id, [(claim["runId"], claim["fence"])])
        await here.core.engine.sweeper.sweep()

    assert (await here.look(run.run_id)).status is Status.RUNNING


async def test_a_claim_that_its_worker_never_heard_of_is_given_to_another(here: Installed) -> None:
    """The answer to a claim was lost on the way: the worker lives, and does not hold what the ledger says it does."""
    run = await here.start()
    session = await here.attach()
    await here.claim(session)
    for _ in range(4):
        here.clock.advance(5 * SECOND)
        await here.core.workers.heartbeat(session.session_id, [])

    after = await here.look(run.run_id)

    assert after.status is Status.RETRYING
    assert after.attempts_done == 1


async def test_a_heartbeat_says_what_is_no_longer_held(here: Installed) -> None:
    run = await here.start()
    session = await here.attach()

    _, lost = await here.core.workers.heartbeat(session.session_id, [(run.run_id, 1)])

    assert lost == [(run.run_id, 1)]


async def test_a_detached_worker_gives_everything_back_at_once(here: Installed) -> None:
    """O75."""
    run = await here.start()
    session = await here.attach()
    await here.claim(session)

    await here.core.workers.detach(session.session_id)

    after = await here.look(run.run_id)
    assert (after.status, after.ready_at is not None) == (Status.RETRYING, True)


async def test_the_loop_sweeps_by_itself(here: Installed) -> None:
    sweeper = here.core.engine.sweeper
    sweeper.every = SECOND // 1000
    run = await here.start()
    session = await here.attach()
    (claim,) = await here.claim(session)
    await here.begin(session, claim)
    sweeper.swept.arm()
    here.clock.advance(16 * SECOND)
    task = asyncio.create_task(sweeper.run())

    while await sweeper.swept.next() == 0:
        pass
    task.cancel()

    assert (await here.look(run.run_id)).status is Status.FAILED
