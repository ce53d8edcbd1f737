"""The runtime protocol over HTTP: what is refused at the door, and what a worker is told."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from ringback.domain.ids import SessionId
from tests.api.door import Door, chunk_event

HELLO: dict[str, Any] = {
    "name": "w",
    "incarnation": "i",
    "protocolVersion": 1,
    "slots": 2,
    "offers": ["default/function:echo"],
}


async def test_attach_says_how_long_the_lease_is(door: Door) -> None:
    answer = await door.client.post("/v1/workers/attach", json=HELLO | {"labels": {"zone": "a"}})
    told = answer.json()
    assert (told["epoch"], told["protocolVersion"]) == (0, 1)
    assert (told["heartbeatIntervalMs"], told["leaseMs"]) == (5_000, 15_000)
    (worker,) = (await door.get("/v1/workers"))["items"]
    assert (worker["sessionId"], worker["labels"], worker["held"]) == (told["sessionId"], {"zone": "a"}, 0)
    assert (await door.get("/readyz"))["workers"] == 1


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"protocolVersion": 2}, "/protocolVersion"),
    ({"slots": 0}, "/slots"),
    ({"slots": 5_000}, "/slots"),
    ({"offers": ["nix"]}, "/offers"),
    ({"offers": ["a/b|c"]}, "/offers"),
    ({"name": ""}, "/name"),
    ({"incarnation": "x" * 201}, "/name"),
    ({"labels": {"a": 1}}, "/labels"),
]


async def test_attach_refuses(door: Door) -> None:
    for wrong, pointer in WRONG:
        answer = await door.client.post("/v1/workers/attach", json=HELLO | wrong)
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["pointer"] == pointer
    assert (await door.get("/v1/workers"))["items"] == []


async def test_function_tools_come_with_their_worker(door: Door) -> None:
    tool = {"name": "added", "runtime": "function"}
    await door.client.post("/v1/workers/attach", json=HELLO | {"tools": [tool], "offers": ["default/function:added"]})
    shown = await door.get("/v1/tools/added")
    assert (shown["runtime"], shown["inputSchema"], shown["mode"]) == ("function", {"type": "object"}, "job")


async def test_a_claim_waits_for_work_and_ends_without(door: Door) -> None:
    worker = await door.worker()
    assert await worker.claim(wait_ms=0) == []
    claiming = asyncio.create_task(worker.claim())
    run_id = await door.start({"a": 1})
    async with asyncio.timeout(15):
        (claim,) = await claiming
    assert (claim["runId"], claim["arguments"], claim["tool"]) == (run_id, {"a": 1}, "echo")
    assert (claim["attemptNo"], claim["fence"], claim["runtime"]) == (1, 1, "function")
    (shown,) = (await door.get("/v1/workers"))["items"]
    assert shown["held"] == 1


async def test_a_report_may_bring_the_next_claims(door: Door) -> None:
    worker = await door.worker()
    first, second = await door.start(), await door.start()
    claim = await worker.begin()
    settle = {"kind": "settle", "outcome": "succeeded", "runId": first, "fence": claim["fence"]}
    answer = await worker.post("report", {"reports": [settle], "slots": 1})
    assert answer["results"] == [{"ok": True}]
    assert [each["runId"] for each in answer["claims"]] == [second]


async def test_refused_reports_stand_in_no_others_way(door: Door) -> None:
    worker, _ = await door.worker(), await door.start()
    claim = await worker.begin()
    mark = {"runId": claim["runId"], "fence": claim["fence"]}
    reports = [
        {"kind": "events", "events": [chunk_event(b"stale")], "runId": claim["runId"], "fence": 99},
        {"kind": "events", "events": [chunk_event(b"good")], **mark},
        {"kind": "start", "runId": "nix", "fence": 1},
        {"kind": "settle", "outcome": "succeeded", **mark},
        {"kind": "settle", "outcome": "failed", **mark},
    ]
    results = (await worker.post("report", {"reports": reports}))["results"]
    assert [each.get("code", "ok") for each in results] == ["stale_fence", "ok", "not_found", "ok", "stale_fence"]
    assert (await door.client.get(f"/v1/runs/{claim['runId']}/output")).content == b"good"


async def test_a_stop_before_the_start_refuses_it(door: Door) -> None:
    worker, run_id = await door.worker(), await door.start()
    (claim,) = await worker.claim(1)
    await door.client.delete(f"/jobs/{run_id}")
    (refused,) = await worker.report(claim, {"kind": "start"})
    assert (refused["ok"], refused["code"]) == (False, "cancel_requested")


DEEP = json.loads("[" * 400 + "]" * 400)
REPORTS: list[dict[str, Any]] = [
    {"kind": "nix"},
    {"kind": "settle"},
    {"kind": "settle", "outcome": "lost"},
    {"kind": "child", "tool": "echo"},
    {"kind": "events", "events": [{"type": "run.status.changed"}]},
    {"kind": "events", "events": [{"type": "output.chunk", "stream": "stdin"}]},
    {"kind": "events", "events": [{"type": "output.chunk", "stream": "stdout", "data": "*"}]},
    {"kind": "events", "events": [chunk_event(b"x" * (256 * 1024 + 1))]},
    {"kind": "events", "events": [{"type": "page"}]},
    {"kind": "events", "events": [{"type": "page", "items": DEEP}]},
    {"kind": "events", "events": [{"type": "checkpoint", "value": {"a": DEEP}}]},
    {"kind": "settle", "outcome": "succeeded", "result": DEEP},
]


async def test_reports_that_are_none(door: Door) -> None:
    worker, _ = await door.worker(), await door.start()
    claim = await worker.begin()
    mark = {"runId": claim["runId"], "fence": claim["fence"]}
    for report in REPORTS:
        body = {"reports": [{**report, **mark}]}
        answer = await door.client.post(f"/v1/workers/{worker.session_id}/report", json=body)
        assert answer.status_code == 422, report
        assert answer.json()["errors"][0]["pointer"].startswith("/reports/0")
    assert (await door.run(claim["runId"]))["eventSequence"] == 4


async def test_progress_pages_and_a_checkpoint(door: Door) -> None:
    worker, run_id = await door.worker(), await door.start()
    claim = await worker.begin()
    events = [
        {"type": "progress", "done": 3, "total": 7, "message": "half\nway " + "x" * 300},
        {"type": "page", "items": [1, {"a": 2}]},
        {"type": "checkpoint", "value": {"at": 3}},
    ]
    assert await worker.report(claim, {"kind": "events", "events": events}) == [{"ok": True}]
    progress = (await door.get(f"/jobs/{run_id}"))["progress"]
    assert (progress["done"], progress["total"]) == (3, 7)
    assert progress["message"].startswith("half way x")
    assert len(progress["message"]) == 200
    await worker.settle(claim)
    assert (await door.get(f"/jobs/{run_id}/result"))["items"] == [1, {"a": 2}]
    assert await door.core.store.reads.checkpoint(claim["runId"]) == {"at": 3}


async def test_a_heartbeat_tells_what_is_no_longer_held(door: Door) -> None:
    worker, run_id = await door.worker(), await door.start()
    claim = await worker.begin()
    held = [{"runId": run_id, "fence": claim["fence"]}, {"runId": run_id, "fence": 7}, {"runId": "nix", "fence": 1}]
    told = await worker.post("heartbeat", {"held": held})
    assert told["lost"] == held[1:]
    assert told["cancels"] == []
    await door.client.delete(f"/jobs/{run_id}?reason=enough")
    (order,) = (await worker.post("heartbeat", {"held": held[:1]}))["cancels"]
    assert (order["runId"], order["reason"], order["graceMs"]) == (run_id, "enough", 5_000)


async def test_a_session_that_is_over_is_gone(door: Door) -> None:
    worker, run_id = await door.worker(), await door.start()
    await worker.begin()
    answer = await door.client.post(f"/v1/workers/{worker.session_id}/detach", json={})
    assert (answer.status_code, answer.content) == (204, b"")
    assert (await door.run(run_id))["failureKind"] == "lost"
    for verb in ("claim", "report", "heartbeat", "detach"):
        for session_id in (worker.session_id, "nix", "%00"):
            answer = await door.client.post(f"/v1/workers/{session_id}/{verb}", json={})
            assert (answer.status_code, answer.json()["code"]) == (410, "session_expired")
    assert (await door.get("/v1/workers"))["items"] == []


async def test_a_worker_that_goes_away_takes_no_claim_along(door: Door) -> None:
    worker = await door.worker()
    claiming = asyncio.create_task(worker.claim(1, wait_ms=20_000))
    async with asyncio.timeout(15):
        while not door.core.engine.bells.known(SessionId(worker.session_id)):
            await asyncio.sleep(0)
    claiming.cancel()
    run_id = await door.start()
    other = await door.worker("w2")
    async with asyncio.timeout(15):
        assert [claim["runId"] for claim in await other.claim(1)] == [run_id]
