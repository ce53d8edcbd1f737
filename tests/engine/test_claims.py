"""Claims: the right runs, in the right order, never above a limit."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from ringback.domain.errors import SessionExpiredError
from ringback.domain.moments import SECOND
from ringback.domain.states import Status
from tests.installed import PROJECT, Installed, tool


async def test_a_claim_takes_the_oldest_first_and_no_more_than_asked(here: Installed) -> None:
    runs = [await here.start() for _ in range(3)]
    session = await here.attach()

    claims = await here.claim(session, 2)

    assert [claim["runId"] for claim in claims] == [run.run_id for run in runs[:2]]
    assert (await here.look(runs[2].run_id)).status is Status.QUEUED


async def test_a_higher_priority_goes_first(here: Installed) -> None:
    await here.start()
    urgent = await here.start(priority=5)

    (claim,) = await here.claim(await here.attach(), 1)

    assert claim["runId"] == urgent.run_id


async def test_a_worker_gets_only_what_it_offers(here: Installed) -> None:
    """O77: a run whose function nobody has waits, with a reason, and is not harmed by a worker that lacks it."""
    await here.apply(tool("f", runtime="function", profile={"function": "m:app/f"}, inputSchema={"type": "object"}))
    run = await here.start("f", arguments={})
    lacking = await here.attach("default/command")
    assert await here.claim(lacking) == []
    details = await here.core.runs.describe(run)
    assert details.waiting_for == {"kind": "no_worker", "offer": "default/function:f"}

    (claim,) = await here.claim(await here.attach("default/function:f"))

    assert claim["runId"] == run.run_id


async def test_parallel_claims_never_exceed_a_concurrency_limit(here: Installed) -> None:
    """O60 in its SQLite form, and O49: the place of an attempt that ended is free at once."""
    await here.apply(tool("deploy", policy={"concurrencyKey": "k", "concurrencyLimit": 2}))
    for _ in range(6):
        await here.start("deploy")
    sessions = [await here.attach() for _ in range(5)]

    taken = await asyncio.gather(*(here.claim(session) for session in sessions))

    claims = [(session, claim) for session, batch in zip(sessions, taken, strict=True) for claim in batch]
    assert len(claims) == 2
    await here.begin(*claims[0])
    await here.settle(*claims[0])
    assert len(await here.claim(sessions[0])) == 1


async def test_a_full_key_holds_up_nobody_else(here: Installed) -> None:
    await here.apply(tool("deploy", policy={"concurrencyKey": "k"}))
    for _ in range(3):
        await here.start("deploy", priority=9)
    other = await here.start()
    session = await here.attach()

    claims = await here.claim(session)

    assert Counter(claim["tool"] for claim in claims) == {"deploy": 1, "echo": 1}
    assert other.run_id in {claim["runId"] for claim in claims}


async def test_a_paused_queue_hands_out_nothing_until_it_is_resumed(here: Installed) -> None:
    run = await here.start()
    session = await here.attach()
    await here.core.queues.pause(PROJECT, "default", by="me")
    assert await here.claim(session) == []
    assert (await here.core.runs.describe(run)).waiting_for == {"kind": "paused", "pool": "default"}

    await here.core.queues.resume(PROJECT, "default", by="me")

    assert [claim["runId"] for claim in await here.claim(session)] == [run.run_id]


async def test_a_waiting_claim_is_woken_by_new_work(here: Installed) -> None:
    session = await here.attach()
    waiting = asyncio.create_task(here.core.workers.handing_out.claim(session, slots=1, wait_s=20))
    run = await here.start()

    async with asyncio.timeout(15):
        work = await waiting

    assert [claim["runId"] for claim in work.claims] == [run.run_id]


async def test_a_session_past_its_lease_claims_nothing(here: Installed) -> None:
    await here.start()
    session = await here.attach()
    here.clock.advance(16 * SECOND)

    with pytest.raises(SessionExpiredError):
        await here.claim(session)


async def test_many_keys_are_all_served_in_turn(here: Installed) -> None:
    """More lanes than one claim looks at: each gets its turn."""
    definitions = [tool(f"t{n}", policy={"concurrencyKey": f"k{n}"}) for n in range(300)]
    await here.apply(*definitions)
    for n in range(300):
        await here.start(f"t{n}")
    session = await here.attach()

    claimed = [claim["tool"] for _ in range(3) for claim in await here.claim(session, 256)]

    assert len(set(claimed)) == 300


async def test_work_that_is_safe_to_repeat_begins_with_its_claim(here: Installed) -> None:
    """And work that is not begins only when its worker asked."""
    await here.apply(tool("safe", policy={"idempotent": True}))
    await here.start()
    await here.start("safe")

    claims = {claim["tool"]: claim for claim in await here.claim(await here.attach())}

    assert (claims["safe"]["started"], claims["echo"]["started"]) == (True, False)
    assert (await here.look(claims["safe"]["runId"])).status is Status.RUNNING
    assert (await here.look(claims["echo"]["runId"])).status is Status.SUBMITTED
