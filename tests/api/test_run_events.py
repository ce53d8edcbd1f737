"""A run's events, as pages and as streams: O36 to O40."""

from __future__ import annotations

import asyncio

import pytest

from tests.api.door import Door, Worker

ACCEPT = {"accept": "text/event-stream"}


async def ended(door: Door, worker: Worker) -> str:
    """A run of nine events that has ended."""
    run_id = await door.start()
    claim = await worker.begin()
    await worker.write(claim, b"one\n", b"two\n")
    await worker.settle(claim)
    assert (await door.run(run_id))["eventSequence"] == 9
    return run_id


@pytest.mark.parametrize("moment", range(6))
async def test_a_stream_opened_at_any_moment_delivers_the_end_and_closes(door: Door, moment: int) -> None:
    """O36: before the claim, while it runs, and long after."""
    worker, run_id = await door.worker(), await door.start()

    async def work() -> None:
        claim = await worker.begin()
        await worker.write(claim, b"x")
        await worker.settle(claim)

    async def read() -> None:
        events = await door.events(run_id)
        assert [event.sequence for event in events] == list(range(1, len(events) + 1))
        assert [event.is_final for event in events] == [False] * (len(events) - 1) + [True]

    working = asyncio.create_task(work())
    for _ in range(moment * 3):
        await asyncio.sleep(0)
    if moment == 5:
        await working
    await asyncio.gather(*(read() for _ in range(4)), working)


async def test_replay_from_one_position_is_repeatable(door: Door) -> None:
    """O37: cut after the headers three times, then read on: 6 to 9, once."""
    run_id = await ended(door, await door.worker())
    for _ in range(3):
        async with door.stream(f"/v1/runs/{run_id}/events", last_event_id="5"):
            pass
    events = await door.events(run_id, last_event_id="5")
    assert [event.sequence for event in events] == [6, 7, 8, 9]
    assert [event.id for event in events] == ["6", "7", "8", "9"]
    assert [event.body["event"]["eventId"] for event in events] == [f"{run_id}:{n}" for n in (6, 7, 8, 9)]
    by_event_id = await door.events(run_id, last_event_id=f"{run_id}:5")
    assert [event.body for event in by_event_id] == [event.body for event in events]


POSITIONS = ("999999", "-1", "abc", "", "1" * 10_000, "10", "1.5", "٣")


async def test_a_position_that_cannot_be_honoured_is_refused(door: Door) -> None:
    """O38: never a hang, a 500 or a silent gap; on the stream and on the page."""
    run_id = await ended(door, await door.worker())
    path = f"/v1/runs/{run_id}/events"
    for position in POSITIONS:
        for headers in (ACCEPT, {}):
            answers = [await door.client.get(path, params={"after": position}, headers=headers)]
            if position.isascii():
                answers.append(await door.client.get(path, headers={**headers, "last-event-id": position}))
            for answer in answers:
                assert (answer.status_code, answer.json()["code"]) == (400, "invalid_cursor"), position
                assert answer.headers["content-type"] == "application/problem+json"


async def test_a_position_of_another_run_is_refused(door: Door) -> None:
    """O38: an event id names its run; one of a run that was removed answers like any unknown run."""
    worker = await door.worker()
    first, second = await ended(door, worker), await ended(door, worker)
    answer = await door.client.get(f"/v1/runs/{first}/events", headers={**ACCEPT, "last-event-id": f"{second}:3"})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_cursor")
    gone = await door.client.get(f"/v1/runs/{first[:-1]}0/events", headers={**ACCEPT, "last-event-id": "3"})
    assert gone.status_code == 404 or first.endswith("0")


@pytest.mark.parametrize("types", ["", "output.chunk", "run.status.changed,attempt.ended"])
async def test_joined_parts_equal_the_uninterrupted_read(door: Door, types: str) -> None:
    """O39: with filters, cut at three points, the same events with the same ids."""
    run_id = await ended(door, await door.worker())
    query = f"?types={types}" if types else ""
    whole = [event.body for event in await door.events(run_id, query)]
    parts, position = [], "0"
    for _ in range(3):
        async with door.stream(f"/v1/runs/{run_id}/events{query}", last_event_id=position) as messages:
            event = await anext(messages, None)
            if event is not None:
                parts.append(event.body)
                position = event.id
    answer = await door.client.get(f"/v1/runs/{run_id}/events{query}", headers={"last-event-id": position})
    assert parts + answer.json()["items"] == whole
    assert {body["event"]["type"] for body in whole} <= set(types.split(",")) or not types


async def test_unknown_types_are_refused(door: Door) -> None:
    run_id = await door.start()
    answer = await door.client.get(f"/v1/runs/{run_id}/events?types=run.status.changed,nonsense")
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/types")


async def test_a_failure_before_the_first_byte_ends_the_stream(door: Door) -> None:
    """O40: missing program, missing folder, unknown function: a failed event with the reason, then the stream closes."""
    worker, run_id = await door.worker(), await door.start()
    reading = asyncio.create_task(door.events(run_id))
    claim = await worker.begin()
    error = {"kind": "tool_error", "message": "no such program: nix"}
    await worker.settle(claim, "failed", error=error, retryable=False)
    last = (await reading)[-1].body["event"]
    assert (last["status"], last["failureKind"], last["error"]) == ("failed", "tool_error", "no such program: nix")


async def test_a_reader_of_everything_is_told_not_to_come_back(door: Door) -> None:
    """A browser reconnects when a stream closes; 204 ends that (WHATWG HTML, server-sent events)."""
    run_id = await ended(door, await door.worker())
    answer = await door.client.get(f"/v1/runs/{run_id}/events", headers={**ACCEPT, "last-event-id": "9"})
    assert (answer.status_code, answer.content) == (204, b"")


async def test_pages_of_events_go_on_where_the_last_one_ended(door: Door) -> None:
    run_id = await ended(door, await door.worker())
    path = f"/v1/runs/{run_id}/events"
    first = await door.get(f"{path}?limit=4")
    assert (first["nextAfter"], first["nextCursor"]) == ("4", "4")
    rest = await door.get(f"{path}?limit=100&cursor={first['nextCursor']}")
    assert [each["sequence"] for each in first["items"] + rest["items"]] == list(range(1, 10))
    assert rest["nextAfter"] == "9"
    assert "nextCursor" not in rest
    assert (await door.get(f"{path}?after=9"))["items"] == []


async def test_the_envelope_and_the_output(door: Door) -> None:
    """Text is shown as text, other bytes as base64, and `encoding` says which."""
    worker, run_id = await door.worker(), await door.start(threadId="th")
    await worker.finish("grün\n".encode(), b"\xff\x00")
    events = await door.events(run_id, "?types=output.chunk")
    assert [event.body["threadId"] for event in events] == ["th", "th"]
    text, raw = (event.body["event"] for event in events)
    assert (text["stream"], text["encoding"], text["data"], text["length"]) == ("stdout", "utf-8", "grün\n", 6)
    assert (raw["encoding"], raw["data"]) == ("base64", "/wA=")
    assert text["eventId"] == f"{run_id}:5"
    assert text["createdAt"].endswith("Z")


async def test_a_reader_that_goes_away_leaves_nothing_behind(door: Door) -> None:
    run_id = await door.start()
    async with door.stream(f"/v1/runs/{run_id}/events") as messages:
        await anext(messages)
        assert "ringback_open_streams 1.0" in (await door.client.get("/metrics")).text
    async with asyncio.timeout(15):
        while "ringback_open_streams 0.0" not in (await door.client.get("/metrics")).text:
            await asyncio.sleep(0)
    assert not door.core.engine.bells._watchers


async def test_head_opens_no_stream(door: Door) -> None:
    run_id = await door.start()
    answer = await door.client.head(f"/v1/runs/{run_id}/events", headers=ACCEPT)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream")
