"""One key, one run: O23 to O27, at both doors."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.api.door import BOUND_TOKEN, Door


async def post(door: Door, body: Any, key: str | None = None, path: str = "/jobs", **headers: str) -> Any:
    named = headers if key is None else {**headers, "idempotency-key": key}
    return await door.client.post(path, json=body, headers=named)


@pytest.mark.parametrize("path", ["/jobs", "/v1/runs"])
async def test_fifty_racing_starts_make_one_run(door: Door, path: str) -> None:
    """O23: one job, fifty equal answers."""
    answers = await asyncio.gather(*(post(door, {"tool": "echo"}, "same", path) for _ in range(50)))
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.content for answer in answers}) == 1
    assert sorted(answer.headers.get("idempotency-replayed", "") for answer in answers) == ["", *["true"] * 49]
    assert len((await door.get("/v1/runs"))["items"]) == 1


@pytest.mark.parametrize("outcome", ["failed", "cancelled", "timed_out"])
async def test_a_key_stands_for_its_run_whatever_became_of_it(door: Door, outcome: str) -> None:
    """O24: a replay is marked, names the first job, and `rerun` gives a fresh one."""
    first = await post(door, {"tool": "echo"}, "k")
    job_id = first.json()["job_id"]
    if outcome == "cancelled":
        await door.client.delete(f"/jobs/{job_id}")
    else:
        worker = await door.worker()
        await worker.finish(outcome=outcome, **({"limit": "attempt"} if outcome == "timed_out" else {}))
    again = await post(door, {"tool": "echo"}, "k")
    assert (again.status_code, again.content) == (202, first.content)
    assert again.headers["idempotency-replayed"] == "true"
    assert again.headers["location"] == first.headers["location"]
    fresh = await door.client.post(f"/v1/runs/{job_id}/rerun", headers={"idempotency-key": "k2"})
    assert fresh.json()["jobId"] != job_id


async def test_the_run_door_repeats_its_first_answer_byte_for_byte(door: Door) -> None:
    """O24: also when the run has long ended."""
    body = {"tool": "echo", "input": {"mode": "tool", "arguments": {"n": 1}}, "tags": ["a"], "totalTimeoutSeconds": 60}
    first = await post(door, body, "k", "/v1/runs")
    await (await door.worker()).finish(b"out", summary="done")
    again = await post(door, body, "k", "/v1/runs")
    assert again.content == first.content
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"


async def test_a_refused_duplicate_changes_nothing(door: Door) -> None:
    """O25: another payload is refused, and the first run keeps its own arguments."""
    job_id = (await post(door, {"tool": "echo", "arguments": {"n": 1}}, "k")).json()["job_id"]
    before = await door.run(job_id)
    refused = await post(door, {"tool": "echo", "arguments": {"n": 2}}, "k")
    assert (refused.status_code, refused.json()["code"]) == (422, "idempotency_key_reused")
    assert refused.headers["content-type"] == "application/problem+json"
    assert await door.run(job_id) == before
    assert (await (await door.worker()).finish())["arguments"] == {"n": 1}


async def test_payloads_are_compared_as_values(door: Door) -> None:
    """O26: order, white space and escapes don't count; a default that is spelled out does."""
    raw = [
        '{"tool":"echo","arguments":{"a":1,"b":"\\u00e9"}}',
        '{ "arguments" : { "b" : "é" , "a" : 1.0 } ,\n "tool" : "echo" }',
    ]
    first, again = [await door.client.post("/jobs", content=text, headers={"idempotency-key": "k"}) for text in raw]
    assert again.content == first.content
    assert again.headers["idempotency-replayed"] == "true"
    spelled = await post(door, {"tool": "echo", "arguments": {"a": 1, "b": "é", "c": None}}, "k")
    assert spelled.json()["code"] == "idempotency_key_reused"


async def test_both_doors_and_all_places_of_the_key_share_one_store(door: Door) -> None:
    """O26: header or body, flat or nested arguments, jobs or runs: the same request is the same run."""
    first = (await post(door, {"tool": "echo", "n": 1}, "k")).json()["job_id"]
    others = [
        await post(door, {"type": "echo", "arguments": {"n": 1}, "idempotency_key": "k"}),
        await post(door, {"tool": "echo", "n": 1}, '"k"'),
        await post(door, {"tool": "echo", "n": 1, "idempotency_key": "k"}, "k"),
    ]
    assert {answer.json()["job_id"] for answer in others} == {first}
    run = {"tool": "echo", "input": {"mode": "tool", "arguments": {"n": 1}}, "idempotencyKey": "k"}
    assert (await post(door, run, path="/v1/runs")).json()["jobId"] == first


async def test_header_and_body_that_differ_are_refused(door: Door) -> None:
    answer = await post(door, {"tool": "echo", "idempotency_key": "a"}, "b")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_idempotency_key")


async def test_malformed_keys_are_refused(door: Door) -> None:
    """O27: empty, too long, not visible ASCII."""
    for key in ("", "x" * 256, "x" * 100_000, "\N{SNOWMAN}", "k\n", " k", "a b", "\x7f"):
        answer = await post(door, {"tool": "echo", "idempotency_key": key})
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_idempotency_key"), key
    assert (await door.get("/v1/runs"))["items"] == []


async def test_keys_are_compared_exactly(door: Door) -> None:
    """O27: by case, and to the last of 255 characters."""
    keys = ["k", "K", "x" * 254 + "a", "x" * 254 + "b", "x"]
    ids = [(await post(door, {"tool": "echo", "idempotency_key": key})).json()["job_id"] for key in keys]
    assert len(set(ids)) == len(keys)


async def test_keys_belong_to_the_owner_of_the_token(door: Door) -> None:
    """Another caller's key is another key, and so is another project's."""
    mine = (await post(door, {"tool": "echo"}, "k")).json()
    theirs = (await post(door, {"tool": "echo"}, "k", authorization=f"Bearer {BOUND_TOKEN}")).json()
    elsewhere = await door.client.post(
        "/jobs", json={"tool": "echo"}, headers={"idempotency-key": "k", "ringback-project": "other"}
    )
    assert len({mine["job_id"], theirs["job_id"], elsewhere.json()["job_id"]}) == 3


async def test_a_key_can_be_required(door: Door) -> None:
    """By the caller, and by the tool."""
    tool = {"name": "strict", "runtime": "function", "requiresIdempotencyKey": True}
    await door.client.put("/v1/tools", json={"definitions": [tool]})
    for path, body in (("/jobs?require_key=1", {"tool": "echo"}), ("/jobs", {"tool": "strict"})):
        answer = await post(door, body, path=path)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_idempotency_key")
        assert (await post(door, body, f"key-of-{body['tool']}", path)).status_code == 202
