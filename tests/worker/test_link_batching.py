"""The outbox by itself: order, bounds, repetition, muting; the slots' one invariant; the back-off's promise."""

import asyncio
from collections import defaultdict

import pytest
from hypothesis import given, settings, strategies as st

from ringback.worker.backoff import Backoff
from ringback.worker.batching import BATCH_BYTES, BATCH_REPORTS, MUTED, Outbox
from ringback.worker.messages import DecodeError, Key, Result
from ringback.worker.slots import Slots

A, B = Key("a", 1), Key("b", 1)
OK = Result(ok=True)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 400_000)), max_size=60), st.integers(1, 10))
@settings(max_examples=60, deadline=None)
def test_every_report_leaves_once_in_the_order_of_its_attempt(reports: list[tuple[int, int]], every: int) -> None:
    async def run() -> None:
        outbox = Outbox()
        sent: defaultdict[Key, list[bytes]] = defaultdict(list)
        put: defaultdict[Key, list[bytes]] = defaultdict(list)
        for number, (attempt, size) in enumerate(reports):
            key = Key(str(attempt), 1)
            body = b"%d" % number + b"x" * size
            put[key].append(body)
            outbox.note(key, body)
            if number % every == 0:
                await _send(outbox, sent)
        while not outbox.is_idle:
            await _send(outbox, sent)
        assert sent == put
        assert outbox.size == 0

    asyncio.run(run())


async def _send(outbox: Outbox, sent: defaultdict[Key, list[bytes]]) -> None:
    batch = await outbox.batch()
    assert batch is await outbox.batch()
    assert len(batch) <= BATCH_REPORTS
    assert len(batch) == 1 or sum(len(each.body) for each in batch) <= BATCH_BYTES + 400_100
    for each in batch:
        sent[each.key].append(each.body)
    outbox.answered([OK] * len(batch))


async def test_put_waits_for_room_and_goes_on_in_turn() -> None:
    outbox = Outbox(lane_bytes=10)
    await outbox.put(A, b"x" * 10)
    waiting = asyncio.create_task(outbox.put(A, b"y"))
    await outbox.put(B, b"z")
    await asyncio.sleep(0)
    assert not waiting.done()
    batch = await outbox.batch()
    await asyncio.wait_for(waiting, 5)
    assert [each.body for each in batch] == [b"x" * 10, b"z"]


async def test_a_muted_attempt_reports_nothing_and_lets_its_waiters_go() -> None:
    outbox = Outbox(lane_bytes=1)
    await outbox.put(A, b"x")
    waiting = asyncio.create_task(outbox.put(A, b"y"))
    posted = outbox.post(A, b"settle")
    await asyncio.sleep(0)
    outbox.mute(A, discard=True)
    await asyncio.wait_for(waiting, 5)
    assert await posted is MUTED
    assert await outbox.post(A, b"more") is MUTED
    assert (outbox.is_idle, outbox.size) == (True, 0)
    outbox.forget(A)
    outbox.note(A, b"again")
    assert not outbox.is_idle


async def test_a_muted_attempt_keeps_what_it_said_before_unless_that_is_discarded() -> None:
    outbox = Outbox()
    outbox.note(A, b"before")
    outbox.mute(A, discard=False)
    outbox.note(A, b"after")
    assert [each.body for each in await outbox.batch()] == [b"before"]


async def test_a_split_batch_is_sent_one_by_one_in_order() -> None:
    outbox = Outbox()
    for body in (b"1", b"2", b"3"):
        outbox.note(A, body)
    number = (await outbox.batch(), outbox.number)[1]
    assert outbox.split()
    assert ([each.body for each in await outbox.batch()], outbox.number) == ([b"1"], number + 1)
    assert not outbox.split()
    outbox.answered([OK])
    assert [each.body for each in await outbox.batch()] == [b"2", b"3"]


async def test_another_number_of_answers_leaves_the_batch_where_it_is() -> None:
    outbox = Outbox()
    answer = outbox.post(A, b"1")
    batch = await outbox.batch()
    with pytest.raises(DecodeError):
        outbox.answered([])
    assert await outbox.batch() is batch
    refused = Result(ok=False, code="stale_fence")
    assert outbox.answered([refused]) == [(A, refused)]
    assert await answer is refused


async def test_discarding_all_answers_everybody_with_the_reason() -> None:
    outbox = Outbox(lane_bytes=1)
    under_way = outbox.post(A, b"1")
    await outbox.batch()
    waits = outbox.post(B, b"2")
    blocked = asyncio.create_task(outbox.put(B, b"3"))
    await asyncio.sleep(0)
    reason = Result(ok=False, code="session_expired")
    outbox.discard_all(reason)
    assert (await under_way, await waits) == (reason, reason)
    await asyncio.wait_for(blocked, 5)


@given(st.lists(st.sampled_from(["reserve", "answer", "vacate", "close"]), max_size=60), st.integers(1, 5), st.data())
def test_slots_are_never_offered_twice(steps: list[str], total: int, data: st.DataObject) -> None:
    slots = Slots(total)
    open_offers: list[int] = []
    for step in steps:
        if step == "reserve":
            open_offers.append(slots.reserve())
        elif step == "answer" and open_offers:
            offered = open_offers.pop(0)
            taken = slots.redeem(offered, data.draw(st.integers(0, 9)))
            assert taken <= offered
            assert taken == 0 or not slots.closed.is_set()
        elif step == "vacate" and slots.running:
            slots.vacate()
        elif step == "close":
            slots.close()
            assert slots.reserve() == 0
        assert slots.running + slots.reserved <= total
        assert slots.reserved == sum(open_offers)


def test_slots_refuse_nonsense() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Slots(0)
    with pytest.raises(RuntimeError):
        Slots(1).vacate()


@given(st.floats(0, 10))
def test_backoff_grows_to_its_limit_and_is_never_shorter_than_asked(at_least_s: float) -> None:
    backoff = Backoff(first_s=0.5, most_s=2.0)
    waits = [backoff.wait_s(at_least_s=at_least_s) for _ in range(4)]
    for wait_s, step_s in zip(waits, [0.5, 1.0, 2.0, 2.0], strict=True):
        assert max(step_s, at_least_s) <= wait_s <= 2 * max(step_s, at_least_s)
    backoff.reset()
    assert backoff.wait_s() <= 1.0
