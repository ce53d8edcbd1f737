"""What is rare: a fault of the server, signs of life, bounds that are reached."""

from __future__ import annotations

import asyncio
import logging

import pytest

from ringback.domain.ids import ProjectId, RunId
from ringback.ports.store import Desk, Link
from ringback.services import family, feed, runs
from tests.api.door import OTHER_TOKEN, Door


async def test_a_fault_is_answered_and_logged_under_its_request_id(
    door: Door, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(runs.Runs, "get", broken)
    answer = await door.client.get("/jobs/x", headers={"x-request-id": "r-7"})
    assert (answer.status_code, answer.json()["code"], answer.json()["requestId"]) == (500, "internal", "r-7")
    assert "secret" not in answer.text
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "r-7" in record.getMessage()


async def test_silent_streams_give_signs_of_life(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "SIGN_OF_LIFE_S", 0.01)
    monkeypatch.setattr(feed, "SIGN_OF_LIFE_S", 0.01)
    run_id = await door.start()
    headers = {"accept": "text/event-stream"}
    for path, sign in ((f"/v1/runs/{run_id}/events", ": "), ("/v1/events?types=output.chunk", "id: ")):
        async with asyncio.timeout(15), door.client.stream("GET", path, headers=headers) as answer:
            signs = 0
            async for line in answer.aiter_lines():
                signs += line.startswith(sign)
                if signs == 4:
                    break


async def test_a_stream_whose_last_announcement_was_lost_ends_with_the_next_sign_of_life(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "SIGN_OF_LIFE_S", 0.01)
    run_id = await door.start()
    async with asyncio.timeout(15), door.stream(f"/v1/runs/{run_id}/events") as messages:
        await anext(messages)
        door.core.engine.bells._watchers.clear()
        await door.client.delete(f"/jobs/{run_id}")
        assert [message.is_final async for message in messages][-1]


async def test_a_large_family_is_cut_and_strangers_are_left_out(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(family, "NODES_MAX", 3)
    stranger = {"authorization": f"Bearer {OTHER_TOKEN}", "ringback-project": "other"}
    foreign = (await door.client.post("/v1/runs", json={"tool": "echo"}, headers=stranger)).json()["runId"]
    parent, *children = [await door.start() for _ in range(5)]
    edges = [("delegation", foreign), ("rerun_of", children[0]), *(("tool_subrun", child) for child in children)]

    def work(desk: Desk) -> None:
        for relation, child in edges:
            desk.link(Link(from_run_id=RunId(parent), to_run_id=RunId(child), relation=relation, created_at=0))

    await door.core.store.commit(work)
    tree = await door.get(f"/v1/runs/{parent}/tree")
    assert [branch["run"]["runId"] for branch in tree["children"]] == children[:2]
    assert tree["truncated"] is True


async def test_threads_are_remembered_up_to_a_bound(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "THREADS_KEPT", 2)
    for number in range(4):
        await door.start(threadId=f"t{number}")
    items = (await door.get("/v1/events"))["items"]
    assert [item["threadId"] for item in items] == ["t0", "t1", "t2", "t3"]
    assert await door.core.feed.thread_of(RunId("nix")) is None
    assert len(door.core.feed._threads) <= 2


async def test_a_cursor_beyond_the_ledgers_end_is_refused(door: Door) -> None:
    """O38: a ledger that was restored from an older copy does not know what the reader has seen."""
    beyond = door.core.feed.cursor(ProjectId("default"), 10**6)
    answer = await door.client.get(f"/v1/events?after={beyond}")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_cursor")


async def test_redrawn_output_that_never_ends_its_line_is_shown_in_parts(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ringback.api.run_output.LINE_BYTES_MAX", 10)
    run_id = await door.start()
    await (await door.worker()).finish(b"x" * 8, b"y" * 8, b"z")
    assert (await door.client.get(f"/v1/runs/{run_id}/output?text=1")).text == "x" * 8 + "y" * 8 + "z"


async def test_a_page_of_items_that_is_full(door: Door) -> None:
    worker, run_id = await door.worker(), await door.start()
    claim = await worker.begin()
    pages = [{"type": "page", "items": ["x" * 50, number]} for number in range(3)]
    await worker.report(claim, {"kind": "events", "events": pages})
    await worker.settle(claim)
    found, path = [], f"/v1/runs/{run_id}/result?maxBytes=100"
    page = await door.get(path)
    found += page["items"]
    while "nextCursor" in page:
        page = await door.get(f"{path}&cursor={page['nextCursor']}")
        found += page["items"]
    assert [item for item in found if isinstance(item, int)] == [0, 1, 2]
