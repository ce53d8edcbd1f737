"""What every store must do."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ringback.domain.decide import create, decide
from ringback.domain.errors import ConflictError, NotFoundError, StoreUnavailableError
from ringback.domain.idempotency import KeyRecord, KeyRef
from ringback.domain.ids import RunId
from ringback.domain.records import replace
from ringback.domain.runs import Append, Cancel, NewEvent, Run, Start
from ringback.domain.states import Status
from ringback.ports.store import Desk
from tests.builders import NOON, PROJECT, claim, facts, policy, queued, run_id, session, settle
from tests.contract.conftest import Ledger


async def add(ledger: Ledger, number: int = 1, **changes: Any) -> Run:
    run = queued(number, event_sequence=0, **changes)
    return await ledger.store.commit(lambda desk: desk.add(facts(number), create(run, {}, now=desk.now)))


async def attach(ledger: Ledger) -> None:
    await ledger.store.commit(lambda desk: desk.save_session(session(), is_new=True))


async def test_a_run_comes_back_as_it_was_saved(ledger: Ledger) -> None:
    run = await add(ledger)

    assert await ledger.store.reads.run(run.run_id) == run


async def test_every_field_of_a_run_survives_the_way_through_a_row(ledger: Ledger) -> None:
    await attach(ledger)
    run = await add(ledger, waiting_on=(), deadline_at=NOON + 10**9)
    seen: list[Run] = []

    def live(desk: Desk) -> None:
        held = desk.save(decide(desk.run(run.run_id), claim(), now=desk.now))
        held = desk.save(decide(held, Start(1), now=desk.now))
        held = desk.save(decide(held, Append(1, (), progress={"done": 1, "total": 3}), now=desk.now))
        held = desk.save(decide(held, Cancel(by="me", reason="why"), now=desk.now))
        seen.append(desk.save(decide(held, Append(1, (), cancel_delivered=True), now=desk.now)))

    await ledger.store.commit(live, runs=(run.run_id,))

    assert await ledger.store.reads.run(run.run_id) == seen[0]
    assert seen[0].status is Status.CANCELING


async def test_a_unit_that_raises_leaves_nothing_and_disturbs_no_other(ledger: Ledger) -> None:
    def broken(desk: Desk) -> None:
        desk.add(facts(2), create(queued(2), {}, now=desk.now))
        raise RuntimeError("after writing")

    results = await asyncio.gather(add(ledger, 1), ledger.store.commit(broken), add(ledger, 3), return_exceptions=True)

    assert isinstance(results[1], RuntimeError)
    assert [await ledger.store.reads.run(run_id(n)) is not None for n in (1, 2, 3)] == [True, False, True]
    assert await ledger.store.reads.events(run_id(2), after=0, limit=9) == []


async def test_a_unit_that_breaks_a_constraint_fails_alone(ledger: Ledger) -> None:
    await add(ledger, 1)

    results = await asyncio.gather(add(ledger, 2), add(ledger, 1), add(ledger, 3), return_exceptions=True)

    assert isinstance(results[1], StoreUnavailableError)
    assert [await ledger.store.reads.run(run_id(n)) is not None for n in (1, 2, 3)] == [True, True, True]


async def test_units_of_one_transaction_see_each_other_in_order(ledger: Ledger) -> None:
    run = await add(ledger)
    seen: list[int] = []

    def step(desk: Desk) -> None:
        before = desk.run(run.run_id)
        seen.append(before.event_sequence)
        desk.save(decide(before, Cancel(), now=desk.now))

    await asyncio.gather(*(ledger.store.commit(step, runs=(run.run_id,)) for _ in range(3)))

    after = await ledger.store.reads.run(run.run_id)
    assert after is not None
    assert after.status is Status.CANCELED
    assert seen == [1, after.event_sequence, after.event_sequence]


async def test_events_have_no_gap_and_keep_their_bytes(ledger: Ledger) -> None:
    await attach(ledger)
    run = await add(ledger)
    chunk = NewEvent("output.chunk", {"stream": "stdout", "offset": 0, "length": 3}, b"\x00\xff\n")

    def live(desk: Desk) -> None:
        held = desk.save(decide(desk.run(run.run_id), claim(), now=desk.now))
        held = desk.save(decide(held, Start(1), now=desk.now))
        held = desk.save(decide(held, Append(1, (chunk,)), now=desk.now))
        desk.save(decide(held, settle(), now=desk.now))

    await ledger.store.commit(live, runs=(run.run_id,))

    events = await ledger.store.reads.events(run.run_id, after=0, limit=100)
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert [event.data for event in events if event.type == "output.chunk"] == [b"\x00\xff\n"]
    after = await ledger.store.reads.run(run.run_id)
    assert after is not None
    assert after.event_sequence == len(events)


async def test_a_session_or_run_that_is_not_there_is_named(ledger: Ledger) -> None:
    with pytest.raises(NotFoundError, match="no such run"):
        await ledger.store.commit(lambda desk: desk.run(run_id(9)), runs=(run_id(9),))
    with pytest.raises(NotFoundError, match="no such session"):
        await ledger.store.commit(lambda desk: desk.session(session().session_id), sessions=(session().session_id,))


async def test_a_run_that_moved_meanwhile_is_not_overwritten(ledger: Ledger) -> None:
    """A writer beside us (another release, a hand at the file) moved the row: the version no longer matches."""
    run = await add(ledger)

    def stale(desk: Desk) -> None:
        old = desk.run(run.run_id)
        desk.lay_run(at_version(old, 7))  # type: ignore[attr-defined]
        desk.save(decide(desk.run(run.run_id), Cancel(), now=desk.now))

    with pytest.raises(ConflictError):
        await ledger.store.commit(stale, runs=(run.run_id,))
    assert await ledger.store.reads.run(run.run_id) == run


def at_version(run: Run, version: int) -> Run:
    return replace(run, version=version)


async def test_a_key_is_found_by_the_next_unit_of_the_same_transaction(ledger: Ledger) -> None:
    ref = KeyRef(PROJECT, "me", "k")

    def use(desk: Desk) -> RunId:
        if (found := desk.key(ref)) is not None:
            return found.run_id
        desk.put_key(KeyRecord(ref=ref, fingerprint="f", run_id=run_id(1), created_at=desk.now))
        return RunId("first")

    answers = await asyncio.gather(*(ledger.store.commit(use, keys=(ref,)) for _ in range(3)))

    assert answers == ["first", run_id(1), run_id(1)]


async def test_a_commit_is_announced_after_it_is_durable(ledger: Ledger) -> None:
    run = await add(ledger)

    (change,) = [each for each in ledger.announced if each.run_id == run.run_id]
    assert (change.sequence, change.is_ready, change.is_terminal) == (1, True, False)


async def test_lists_are_newest_first_and_pages_do_not_overlap(ledger: Ledger) -> None:
    """O89: many rows of one moment."""
    for number in range(1, 121):
        await add(ledger, number)

    found: list[str] = []
    before: RunId | None = None
    while page := await ledger.store.reads.runs(PROJECT, statuses=(), tool=None, before=before, limit=50):
        found += [run.run_id for run in page]
        before = page[-1].run_id

    assert found == [run_id(number) for number in range(120, 0, -1)]


async def test_heads_go_by_priority_then_age(ledger: Ledger) -> None:
    await add(ledger, 1)
    await add(ledger, 2, policy=policy(priority=5))
    await add(ledger, 3)
    ((project_id, lane),) = await ledger.store.reads.lanes()

    heads = await ledger.store.reads.heads(project_id, lane, limit=10)

    assert [head.run_id for head in heads] == [run_id(2), run_id(1), run_id(3)]


async def test_a_settled_attempt_is_kept_and_late_evidence_changes_nothing_else(ledger: Ledger) -> None:
    await attach(ledger)
    run = await add(ledger)

    def live(desk: Desk) -> Run:
        held = desk.save(decide(desk.run(run.run_id), claim(), now=desk.now))
        held = desk.save(decide(held, Start(1), now=desk.now))
        return desk.save(decide(held, settle(), now=desk.now))

    after = await ledger.store.commit(live, runs=(run.run_id,))
    late = {"run_id": run.run_id, "fence": 1, "late": "{}"}
    await ledger.store.commit(lambda desk: desk.write("note_late_outcome", late))

    (ended,) = await ledger.store.reads.attempts(run.run_id)
    assert ended.attempt.fence == 1
    assert await ledger.store.reads.run(run.run_id) == after
