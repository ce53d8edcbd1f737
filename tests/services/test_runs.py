"""Runs as callers see them: found, listed, waited for, followed, stopped."""

from __future__ import annotations

import asyncio

import pytest

from ringback.domain.errors import InvalidCursorError, NotFoundError
from ringback.domain.ids import ProjectId, job_id_of
from ringback.domain.moments import SECOND, rfc3339
from ringback.domain.runs import AttemptOutcome
from ringback.domain.states import Status
from ringback.services import runs as runs_module
from tests.builders import NOON, run_id
from tests.installed import PROJECT, Installed, tool


async def test_every_spelling_names_the_same_run(here: Installed) -> None:
    run = await here.start()

    for name in (run.run_id, run.run_id.upper(), job_id_of(run.run_id)):
        assert await here.core.runs.get(PROJECT, name) == run


@pytest.mark.parametrize("name", [run_id(9), "nonsense", "job_zzz", "../../x", ""])
async def test_unknown_and_malformed_names_look_alike(here: Installed, name: str) -> None:
    with pytest.raises(NotFoundError):
        await here.core.runs.get(PROJECT, name)


async def test_another_projects_run_is_as_unknown_as_a_missing_one(here: Installed) -> None:
    """O68."""
    run = await here.start()

    with pytest.raises(NotFoundError) as foreign:
        await here.core.runs.get(ProjectId("other"), run.run_id)
    with pytest.raises(NotFoundError) as missing:
        await here.core.runs.get(ProjectId("other"), run_id(9))

    assert str(foreign.value).replace(run.run_id, "") == str(missing.value).replace(run_id(9), "")


async def test_a_list_is_stable_while_runs_come_and_change(here: Installed) -> None:
    """O90: what was there when the first page was read is seen once."""
    there = {(await here.start()).run_id for _ in range(25)}
    session = await here.attach()
    seen: list[str] = []
    page = await here.core.runs.page(PROJECT, limit=10)
    seen += [run.run_id for run in page.items]
    while page.next_cursor is not None:
        await here.start()
        await here.run_once(session)
        page = await here.core.runs.page(PROJECT, limit=10, cursor=page.next_cursor)
        seen += [run.run_id for run in page.items]

    assert len(seen) == len(set(seen))
    assert there <= set(seen)


@pytest.mark.parametrize("cursor", ["garbage", "", "W10", "é", "a" * 1000])
async def test_a_cursor_that_was_never_given_out_is_refused(here: Installed, cursor: str) -> None:
    with pytest.raises(InvalidCursorError):
        await here.core.runs.page(PROJECT, cursor=cursor)


async def test_a_cursor_of_another_query_is_refused(here: Installed) -> None:
    for _ in range(3):
        await here.start()
    page = await here.core.runs.page(PROJECT, limit=1)

    for query in ({"tool": "echo"}, {"statuses": [Status.QUEUED]}):
        with pytest.raises(InvalidCursorError, match="another"):
            await here.core.runs.page(PROJECT, cursor=page.next_cursor, **query)
    with pytest.raises(InvalidCursorError, match="another"):
        await here.core.runs.page(ProjectId("other"), cursor=page.next_cursor)


async def test_a_list_can_be_narrowed_by_status_and_tool(here: Installed) -> None:
    """O88."""
    await here.apply(tool("other"))
    first, second, third = await here.start(), await here.start("other"), await here.start()
    await here.core.runs.cancel(PROJECT, third.run_id, by="me")
    await here.run_once(await here.attach())
    assert (await here.look(first.run_id)).status is Status.SUCCEEDED

    async def found(**query: object) -> list[str]:
        return [run.run_id for run in (await here.core.runs.page(PROJECT, **query)).items]  # type: ignore[arg-type]

    assert await found(statuses=[Status.QUEUED]) == [second.run_id]
    assert await found(statuses=[Status.CANCELED, Status.SUCCEEDED]) == [third.run_id, first.run_id]
    assert await found(tool="other") == [second.run_id]


async def test_waiting_ends_with_the_run(here: Installed) -> None:
    run = await here.start()
    waiting = asyncio.create_task(here.core.runs.wait(run, within_s=20))
    await here.run_once(await here.attach())

    async with asyncio.timeout(15):
        assert (await waiting).status is Status.SUCCEEDED


async def test_waiting_ends_with_its_time(here: Installed) -> None:
    run = await here.start()

    assert (await here.core.runs.wait(run, within_s=0.01)).status is Status.QUEUED
    assert await here.core.runs.wait(run, within_s=0) is run


async def test_waiting_for_what_ended_meanwhile_needs_no_bell(here: Installed) -> None:
    run = await here.start()
    done = await here.run_once(await here.attach())

    assert await here.core.runs.wait(run, within_s=20) == done
    assert await here.core.runs.wait(done, within_s=20) is done


async def follow(here: Installed, name: str, after: int = 0, types: tuple[str, ...] = ()) -> list[int]:
    run = await here.core.runs.get(PROJECT, name)
    return [event.sequence async for page in here.core.runs.follow(run, after=after, types=types) for event in page]


async def test_a_stream_opened_at_any_time_delivers_the_end_once_and_closes(here: Installed) -> None:
    """O36."""
    run = await here.start()
    before = asyncio.create_task(follow(here, run.run_id))
    session = await here.attach()
    (claim,) = await here.claim(session)
    await here.begin(session, claim)
    during = asyncio.create_task(follow(here, run.run_id, after=2))
    await here.settle(session, claim)
    after = asyncio.create_task(follow(here, run.run_id))

    async with asyncio.timeout(15):
        whole, rest, late = await before, await during, await after

    assert whole == late == list(range(1, len(whole) + 1))
    assert rest == whole[2:]


async def test_a_long_stream_comes_in_pages(here: Installed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs_module, "EVENTS_PAGE", 2)
    run = await here.start()
    await here.run_once(await here.attach())

    assert len(await follow(here, run.run_id)) == (await here.look(run.run_id)).event_sequence


async def test_a_filter_gives_the_same_events_on_rejoining(here: Installed) -> None:
    """O39."""
    run = await here.start()
    await here.run_once(await here.attach())
    only = ("run.status.changed",)

    whole = await follow(here, run.run_id, types=only)
    joined = [whole[0], *await follow(here, run.run_id, after=whole[0], types=only)]

    assert joined == whole


async def test_a_quiet_stream_shows_signs_of_life(here: Installed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs_module, "SIGN_OF_LIFE_S", 0.01)
    run = await here.start()
    stream = here.core.runs.follow(run, after=1)

    assert await anext(stream) == []
    await stream.aclose()


@pytest.mark.parametrize("after", [-1, 2, 999_999])
async def test_a_position_that_does_not_exist_is_refused(here: Installed, after: int) -> None:
    """O38."""
    run = await here.start()

    with pytest.raises(InvalidCursorError, match="positions 0 to 1"):
        await here.core.runs.events(run, after=after)
    assert [event.sequence for event in await here.core.runs.events(run, after=0)] == [1]


async def test_closing_ends_waits_and_streams(here: Installed) -> None:
    """O76."""
    run = await here.start()
    waiting = asyncio.create_task(here.core.runs.wait(run, within_s=60))
    following = asyncio.create_task(follow(here, run.run_id))
    session = await here.attach()
    await here.core.queues.pause(PROJECT, "default", by="me")
    claiming = asyncio.create_task(here.core.workers.handing_out.claim(session, slots=1, wait_s=20))
    await asyncio.sleep(0)

    here.core.close_doors()

    async with asyncio.timeout(15):
        assert (await waiting).status is Status.QUEUED
        assert await following == [1]
        assert (await claiming).claims == []


async def test_a_stop_of_a_queued_run_is_immediate_and_final(here: Installed) -> None:
    """O15."""
    run = await here.start()

    stopped = await here.core.runs.cancel(PROJECT, run.run_id, by="me", reason="not needed")

    assert stopped.status is Status.CANCELED
    assert await here.claim(await here.attach()) == []
    assert stopped.cancellation is not None
    assert (stopped.cancellation.requested_by, stopped.cancellation.reason) == ("me", "not needed")


async def test_a_stop_of_a_finished_run_changes_nothing(here: Installed) -> None:
    """O18."""
    await here.start()
    done = await here.run_once(await here.attach())

    assert await here.core.runs.cancel(PROJECT, done.run_id, by="me") == done
    assert await here.core.runs.cancel(PROJECT, done.run_id, by="me") == done


async def test_why_a_run_waits_is_always_said(here: Installed) -> None:
    await here.apply(
        tool("keyed", policy={"concurrencyKey": "k"}), tool("flaky", policy={"retry": {"attemptsMax": 2, "delayS": 10}})
    )

    async def why(run_id: str) -> object:
        details = await here.core.runs.details(PROJECT, run_id)
        return details.waiting_for

    later = await here.start(not_before=rfc3339(NOON + SECOND))
    assert await why(later.run_id) == {"kind": "not_before", "until": rfc3339(NOON + SECOND)}
    flaky = await here.start("flaky")
    assert await why(flaky.run_id) == {"kind": "no_worker", "offer": "default/command"}
    session = await here.attach()
    assert await why(flaky.run_id) == {"kind": "slot"}
    await here.run_once(session, AttemptOutcome.FAILED)
    waiting = await why(flaky.run_id)
    assert isinstance(waiting, dict)
    assert waiting["kind"] == "backoff"
    first, second = await here.start("keyed"), await here.start("keyed")
    (claim,) = await here.claim(session, 1)
    assert await why(second.run_id) == {"kind": "concurrency_key", "key": "k", "limit": 1, "held": 1}
    assert await why(first.run_id) is None
    assert claim["runId"] == first.run_id


async def test_the_place_in_the_queue_counts_from_one(here: Installed) -> None:
    runs = [await here.start() for _ in range(3)]

    places = [(await here.core.runs.details(PROJECT, run.run_id)).queue_position for run in runs]

    assert places == [1, 2, 3]


async def test_attempts_show_what_ended_and_what_is_under_way(here: Installed) -> None:
    await here.apply(tool("flaky", policy={"retry": {"attemptsMax": 2, "delayS": 0}}))
    run = await here.start("flaky")
    session = await here.attach()
    await here.run_once(session, AttemptOutcome.FAILED)
    await here.core.engine.timers.fire()
    await here.claim(session)

    ended, current = await here.core.runs.attempts(await here.look(run.run_id))

    assert [each.outcome for each in ended] == [AttemptOutcome.FAILED]
    assert current is not None
    assert current.attempt_no == 2


async def test_the_end_is_in_the_events_of_the_project(here: Installed) -> None:
    run = await here.start()
    await here.run_once(await here.attach())

    events = await here.core.store.reads.project_events(PROJECT, after=0, limit=100)

    assert [event.sequence for event in events if event.run_id == run.run_id] == list(range(1, len(events) + 1))
    assert [event.position for event in events] == sorted(event.position for event in events)
