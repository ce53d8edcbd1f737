"""Lists in pages: O89 and O90."""

from __future__ import annotations

import asyncio

import pytest

from tests.api.door import OTHER_TOKEN, Door


async def walk(door: Door, path: str, size: int) -> list[str]:
    """All ids of a list, page by page."""
    name, cursor_name = ("jobs", "next_cursor") if path.startswith("/jobs") else ("items", "nextCursor")
    found: list[str] = []
    query: dict[str, str | int] = {"limit": size}
    while True:
        page = (await door.client.get(path, params=query)).json()
        assert 0 < len(page[name]) <= size
        found.extend(item["runId"] if name == "items" else item["job_id"] for item in page[name])
        if cursor_name not in page:
            return found
        query["cursor"] = page[cursor_name]


@pytest.mark.parametrize("path", ["/jobs", "/v1/runs"])
async def test_runs_of_one_moment_are_each_on_one_page(door: Door, path: str) -> None:
    """O89: 120 starts in one batch, pages of 50 and of 1."""
    await asyncio.gather(*(door.start() for _ in range(120)))
    for size in (50, 1):
        found = await walk(door, path, size)
        assert len(found) == len(set(found)) == 120
        assert found == sorted(found, reverse=True)


async def test_paging_is_stable_while_runs_come_and_change(door: Door) -> None:
    """O90: each run that was there at the start is seen once; with and without a filter."""
    there = set(await asyncio.gather(*(door.start() for _ in range(60))))
    worker = await door.worker()
    seen: list[str] = []
    query: dict[str, str | int] = {"limit": 7}
    while True:
        page = (await door.client.get("/v1/runs", params=query)).json()
        seen.extend(item["runId"] for item in page["items"])
        await asyncio.gather(*(door.start() for _ in range(3)), worker.finish())
        if "nextCursor" not in page:
            break
        query["cursor"] = page["nextCursor"]
    assert len(seen) == len(set(seen))
    assert there <= set(seen)


CURSORS = ("x", "", "e30", "W10", "bnVsbA", "\N{SNOWMAN}", "A" * 10_000, "%00", "WzEsMl0")


async def test_garbage_cursors_are_refused(door: Door) -> None:
    """O90: on every list."""
    run_id = await door.start()
    await (await door.worker()).finish()
    for cursor in CURSORS:
        for path in ("/jobs", "/v1/runs", "/v1/events", f"/jobs/{run_id}/result", f"/v1/runs/{run_id}/result"):
            answer = await door.client.get(path, params={"cursor": cursor})
            assert (answer.status_code, answer.json()["code"]) == (400, "invalid_cursor"), (path, answer.text)


async def test_cursors_belong_to_their_query_and_project(door: Door) -> None:
    """O90: cut, of another query, of another project: refused, and nothing is revealed."""
    await asyncio.gather(*(door.start() for _ in range(3)))
    cursor = (await door.get("/v1/runs?limit=1"))["nextCursor"]
    events = (await door.get("/v1/events?limit=1"))["nextCursor"]
    stranger = {"authorization": f"Bearer {OTHER_TOKEN}", "ringback-project": "other"}
    for path, sent, headers in (
        ("/v1/runs", cursor[:-2], {}),
        ("/v1/runs?status=queued", cursor, {}),
        ("/v1/runs?tool=echo", cursor, {}),
        ("/v1/runs", cursor, stranger),
        ("/v1/runs", events, {}),
        ("/v1/events", cursor, {}),
        ("/v1/events", events, stranger),
    ):
        answer = await door.client.get(path, params={"cursor": sent} | _query(path), headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_cursor"), (path, sent)
    assert len((await door.get(f"/jobs?cursor={cursor}"))["jobs"]) == 2


def _query(path: str) -> dict[str, str]:
    return dict(part.split("=") for part in path.partition("?")[2].split("&") if part)
