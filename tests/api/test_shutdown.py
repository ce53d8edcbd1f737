"""Going down: O76. Everything that waits ends at once, and nothing new is taken."""

from __future__ import annotations

import asyncio

from tests.api.door import Door


async def test_streams_and_waits_end_when_the_doors_close(door: Door) -> None:
    """O76: three streams, a stream of the project, waiting readers and a waiting worker; then resume without a gap."""
    run_id, worker = await door.start(), await door.worker()
    claim = await worker.begin()
    path = f"/v1/runs/{run_id}"
    waits = [
        asyncio.create_task(door.client.get(path, headers={"prefer": "wait=30"})),
        asyncio.create_task(door.client.get(f"/jobs/{run_id}", headers={"prefer": "wait=30"})),
    ]
    claiming = asyncio.create_task(worker.claim(1, wait_ms=20_000))
    seen: list[list[int]] = [[], [], []]
    opened = [asyncio.Event() for _ in range(4)]

    async def follow(number: int) -> None:
        async with door.stream(f"{path}/events") as messages:
            async for message in messages:
                seen[number].append(message.sequence)
                if message.sequence == 4:
                    opened[number].set()

    async def follow_project() -> None:
        async with door.stream("/v1/events") as messages:
            async for _ in messages:
                opened[3].set()

    streams = [*(asyncio.create_task(follow(number)) for number in range(3)), asyncio.create_task(follow_project())]
    async with asyncio.timeout(15):
        await asyncio.gather(*(each.wait() for each in opened))
        door.core.close_doors()
        await asyncio.gather(*streams, *waits)
        assert await claiming == []
    assert seen == [[1, 2, 3, 4]] * 3
    assert [wait.result().json()["status"] for wait in waits] == ["running", "running"]
    await worker.settle(claim)
    page = await door.get(f"{path}/events?after=4")
    assert [each["sequence"] for each in page["items"]] == [5, 6, 7]


async def test_nothing_new_is_taken_while_going_down(door: Door) -> None:
    """O76: 503 that may be retried, from both doors; what is there can still be read and stopped."""
    run_id = await door.start()
    door.core.close_doors()
    for path in ("/jobs", "/v1/runs", f"/v1/runs/{run_id}/rerun"):
        answer = await door.client.post(path, json={} if path.endswith("rerun") else {"tool": "echo"})
        assert (answer.status_code, answer.json()["code"]) == (503, "shutting_down")
        assert (answer.json()["retryable"], answer.headers["retry-after"]) == (True, "1")
    assert len((await door.get("/jobs"))["jobs"]) == 1
    assert (await door.client.delete(f"/jobs/{run_id}")).status_code == 200
    assert (await door.events(run_id)) == []


async def test_a_server_with_open_streams_is_gone_promptly(door: Door) -> None:
    """O76: the server itself ends, not only the streams."""
    run_id = await door.start()

    async def follow() -> None:
        async with door.stream(f"/v1/runs/{run_id}/events") as messages:
            async for _ in messages:
                opened.set()

    opened = asyncio.Event()
    following = asyncio.create_task(follow())
    async with asyncio.timeout(15):
        await opened.wait()
        door.core.close_doors()
        await door.server.shutdown()
        await following
    assert not door.server.server_state.tasks
