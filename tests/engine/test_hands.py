"""Handing a new run to a worker that waits, in the transaction that creates it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ringback.domain.errors import StoreUnavailableError
from ringback.domain.runs import AttemptOutcome
from ringback.domain.sessions import Session
from ringback.domain.states import Status
from ringback.services.handing_out import Work
from tests.installed import PROJECT, Installed, tool


async def _waiting(here: Installed, session: Session, slots: int = 10, wait_s: float = 20) -> asyncio.Task[Work]:
    """A claim that has looked, found nothing, and waits."""
    hands = here.core.engine.bells.hands
    before = len(hands.of(session.session_id))
    claim = asyncio.create_task(here.core.workers.handing_out.claim(session, slots=slots, wait_s=wait_s))
    while len(waiting := hands.of(session.session_id)) <= before or not all(hand.is_waiting for hand in waiting):
        await asyncio.sleep(0)
    return claim


async def _events(here: Installed, run_id: str) -> list[tuple[str, Any]]:
    run = await here.look(run_id)
    return [
        (event.type, event.body.get("to"))
        for event in await here.core.store.reads.events(run.run_id, after=0, limit=100)
    ]


@pytest.mark.parametrize("policy", [{}, {"idempotent": True}])
async def test_a_new_run_goes_to_a_waiting_worker_with_the_same_events(here: Installed, policy: dict[str, Any]) -> None:
    await here.apply(tool("once", policy=policy))
    queued = await here.start("once")
    first = await here.attach()
    await here.claim(first)
    waiting = await _waiting(here, await here.attach())

    run = await here.start("once")
    work = await waiting

    assert [claim["runId"] for claim in work.claims] == [run.run_id]
    assert await _events(here, run.run_id) == await _events(here, queued.run_id)
    assert run.status is Status.QUEUED  # what the caller is told is the run as it was created


async def test_a_hand_takes_no_more_than_its_slots(here: Installed) -> None:
    waiting = await _waiting(here, await here.attach(), slots=2)

    runs = await asyncio.gather(*(here.start() for _ in range(5)))

    given = {claim["runId"] for claim in (await waiting).claims}
    assert len(given) == 2
    statuses = [(await here.look(run.run_id)).status for run in runs]
    assert statuses.count(Status.QUEUED) == 3


async def test_what_waits_already_goes_first(here: Installed) -> None:
    """A worker that was rung for older work takes nothing on the short way."""
    session = await here.attach()
    waiting = await _waiting(here, session, slots=1)
    here.core.queues.claims.paused.add((PROJECT, "default"))
    older = await here.start()
    here.core.queues.claims.paused.clear()
    here.core.engine.bells.hands.ring_all()

    newer = await here.start()

    assert [claim["runId"] for claim in (await waiting).claims] == [older.run_id]
    assert (await here.look(newer.run_id)).status is Status.QUEUED


async def test_a_keyed_lane_and_a_paused_pool_take_the_way_through_the_queue(here: Installed) -> None:
    await here.apply(tool("deploy", policy={"concurrencyKey": "k"}))
    await here.core.queues.pause(PROJECT, "default", by="me")
    waiting = await _waiting(here, await here.attach())
    paused = await here.start()
    assert (await here.look(paused.run_id)).status is Status.QUEUED
    await here.core.queues.resume(PROJECT, "default", by="me")
    assert [claim["runId"] for claim in (await waiting).claims] == [paused.run_id]

    waiting = await _waiting(here, await here.attach())
    await here.start("deploy")
    second = await here.start("deploy")

    assert len((await waiting).claims) == 1
    assert (await here.look(second.run_id)).status is Status.QUEUED


async def test_a_worker_that_left_gives_back_what_it_was_handed(
    here: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its poll broke while the claim was being committed: the next worker gets the run at once, not after a lease."""
    waiting = await _waiting(here, await here.attach())
    store: Any = here.core.store
    flush, may_flush = store._flush_to_disk, asyncio.Event()

    async def held_up(units: int) -> None:
        waiting.cancel()
        await may_flush.wait()
        await flush(units)

    with monkeypatch.context() as patch:
        patch.setattr(store, "_flush_to_disk", held_up)
        starting = asyncio.create_task(here.start())
        while not waiting.cancelling():
            await asyncio.sleep(0)
        may_flush.set()
        run = await starting
        with pytest.raises(asyncio.CancelledError):
            await waiting

    while (await here.look(run.run_id)).ready_at is None:
        await asyncio.sleep(0)
    (claim,) = await here.claim(await here.attach())

    assert claim["runId"] == run.run_id
    assert claim["attemptNo"] == 2


async def test_a_poll_that_left_takes_nothing(here: Installed) -> None:
    session = await here.attach()
    waiting = await _waiting(here, session)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    run = await here.start()

    assert run.attempts_done == 0
    assert (await here.look(run.run_id)).status is Status.QUEUED


async def test_one_poll_of_a_session_does_not_hear_for_another(here: Installed) -> None:
    """One that listens for stops alone opens while one that wants work waits: the work still arrives at once."""
    await here.apply(tool("deploy", policy={"concurrencyKey": "k"}))
    session = await here.attach()
    working = await _waiting(here, session)
    listening = await _waiting(here, session, slots=0)

    run = await here.start("deploy")

    assert [claim["runId"] for claim in (await working).claims] == [run.run_id]
    listening.cancel()


async def test_a_transaction_that_fails_hands_over_nothing_and_the_next_one_does(
    here: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await here.attach()
    waiting = await _waiting(here, session, slots=1, wait_s=0.2)
    store: Any = here.core.store

    def broken(desk: object) -> None:
        raise StoreUnavailableError

    with monkeypatch.context() as patch:
        patch.setattr(store, "_flush", broken)
        with pytest.raises(StoreUnavailableError):
            await here.start()
    assert (await waiting).claims == []

    waiting = await _waiting(here, session, slots=1)
    run = await here.start()

    assert [claim["runId"] for claim in (await waiting).claims] == [run.run_id]


async def test_a_session_that_is_over_is_handed_nothing(here: Installed) -> None:
    session = await here.attach()
    waiting = await _waiting(here, session, wait_s=0.2)
    here.clock.advance(60_000_000)

    run = await here.start()

    assert (await here.look(run.run_id)).status is Status.QUEUED
    waiting.cancel()


async def test_what_a_session_gives_back_does_not_go_to_a_claim_of_its_own_that_waits(here: Installed) -> None:
    """A worker that leaves has given up its claim; until the server notices, nothing may be lost in it."""
    await here.apply(tool("safe", policy={"retryOnLost": True}))
    run = await here.start("safe")
    leaving = await here.attach()
    (claim,) = await here.claim(leaving, 1)
    waiting = await _waiting(here, leaving)
    await here.settle(leaving, claim, AttemptOutcome.RELEASED)

    assert (await waiting).claims == []
    assert (await here.look(run.run_id)).attempt is None
    (again,) = await here.claim(await here.attach(), 1)
    assert again["runId"] == run.run_id
