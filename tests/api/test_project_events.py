"""All events of a project: one sequence, resumable, that skips nothing."""

from __future__ import annotations

import asyncio

from tests.api.door import OTHER_TOKEN, Door


async def test_pages_and_stream_deliver_the_same(door: Door) -> None:
    worker = await door.worker()
    runs = [await door.start(threadId=f"t{n}") for n in range(3)]
    for _ in runs:
        await worker.finish(b"x")
    items, cursor = [], ""
    while True:
        page = await door.get(f"/v1/events?limit=4{cursor}")
        items += page["items"]
        if "nextCursor" not in page:
            break
        cursor = f"&cursor={page['nextCursor']}"
    assert {(item["runId"], item["threadId"]) for item in items} == {(run, f"t{n}") for n, run in enumerate(runs)}
    for run in runs:
        own = [item["sequence"] for item in items if item["runId"] == run]
        assert own == list(range(1, len(own) + 1))
    async with asyncio.timeout(15), door.stream("/v1/events") as messages:
        assert [(await anext(messages)).body for _ in items] == items


async def test_a_stream_goes_on_behind_its_last_id_while_work_goes_on(door: Door) -> None:
    """Cut after every third event; each event is seen exactly once."""
    worker = await door.worker()

    async def work() -> None:
        for _ in range(5):
            await door.start()
            await worker.finish(b"x")

    working = asyncio.create_task(work())
    seen: list[str] = []
    last: dict[str, str] = {}
    async with asyncio.timeout(15):
        while len(seen) < 35:
            async with door.stream("/v1/events", **last) as messages:
                for _ in range(3):
                    message = await anext(messages)
                    seen.append(message.body["event"]["eventId"])
                    last = {"last_event_id": message.id}
                    if len(seen) == 35:
                        break
        await working
    whole = [item["event"]["eventId"] for item in (await door.get("/v1/events"))["items"]]
    assert seen == whole[:35]
    assert len(set(seen)) == 35


async def test_latest_begins_at_the_present_end(door: Door) -> None:
    await door.start()
    async with asyncio.timeout(15), door.stream("/v1/events?after=latest") as messages:
        run_id = await door.start()
        assert (await anext(messages)).body["runId"] == run_id


async def test_types_filter_without_losing_the_place(door: Door) -> None:
    worker = await door.worker()
    for _ in range(2):
        await door.start()
        await worker.finish(b"x")
    page = await door.get("/v1/events?types=output.chunk&limit=5")
    assert [item["event"]["type"] for item in page["items"]] == ["output.chunk"]
    rest = await door.get(f"/v1/events?types=output.chunk&after={page['nextAfter']}")
    assert [item["event"]["type"] for item in rest["items"]] == ["output.chunk"]
    async with asyncio.timeout(15), door.stream("/v1/events?types=output.chunk") as messages:
        assert [(await anext(messages)).body for _ in range(2)] == page["items"] + rest["items"]


async def test_another_project_sees_its_own(door: Door) -> None:
    stranger = {"authorization": f"Bearer {OTHER_TOKEN}", "ringback-project": "other"}
    await door.start()
    theirs = (await door.client.post("/jobs", json={"tool": "echo"}, headers=stranger)).json()["job_id"]
    items = (await door.client.get("/v1/events", headers=stranger)).json()["items"]
    assert [item["runId"] for item in items] == [
        (await door.client.get(f"/v1/runs/{theirs}", headers=stranger)).json()["runId"]
    ]
