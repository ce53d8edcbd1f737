"""Scripts over HTTP: kept with revisions, tried out, read as async runs in R1's shape."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest

from tests.api.door import OTHER_TOKEN, Door

AT = "/api/projects/default/scripts/mcp_demo"
SOURCE = "def main(args): return {'ok': True}"
REQUIRED = {"id", "request_id", "method", "path", "status", "source", "created_at"}


async def keep(door: Door, source: str = SOURCE, **more: Any) -> httpx2.Response:
    return await door.client.put(AT, json={"source": source, **more})


async def detached(door: Door, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Start a detached test; the run as a member reads it."""
    answer = await door.client.post(f"{AT}/test-run", json={"detached": True, **(body or {})})
    assert answer.status_code == 202, answer.text
    assert answer.json()["status"] == "queued"
    assert answer.headers["location"].endswith(f"/async-runs/{answer.json()['run_id']}")
    return await door.get(answer.headers["location"])


async def test_each_change_is_a_revision(door: Door) -> None:
    first = await keep(door)
    same = await keep(door)
    changed = await keep(door, "x = 1", timeout_seconds=5)
    assert [first.status_code, same.status_code, changed.status_code] == [201, 200, 200]
    assert first.json()["revision_id"] == same.json()["revision_id"] != changed.json()["revision_id"]
    found = (await door.get(f"{AT}/revisions"))["items"]
    assert [each["current"] for each in found] == [
        each["revision_id"] == changed.json()["revision_id"] for each in found
    ]
    assert len(found) == 2
    assert (await door.get(AT))["source"] == "x = 1"
    (listed,) = (await door.get("/api/projects/default/scripts"))["items"]
    assert (listed["name"], listed["timeout_seconds"], "source" in listed) == ("mcp_demo", 5, False)


async def test_a_run_keeps_the_revision_it_was_started_with(door: Door) -> None:
    await keep(door)
    await detached(door)
    await keep(door, "raise SystemExit")
    (claim,) = await (await door.worker()).claim(1)
    assert (claim["runtime"], claim["profile"]["source"]) == ("script", SOURCE)
    assert "source" not in (await door.run(claim["runId"]))["executionProfileSnapshot"]


async def test_one_that_was_taken_back_is_gone_and_may_come_again(door: Door) -> None:
    await keep(door)
    assert (await door.client.delete(AT)).status_code == 204
    for method, path in (("GET", AT), ("DELETE", AT), ("POST", f"{AT}/test-run"), ("GET", f"{AT}/revisions")):
        answer = await door.client.request(method, path)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), path
    assert (await keep(door)).status_code == 201


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        pytest.param({"source": ""}, "/source", id="empty"),
        pytest.param({"source": "x" * 65_537}, "/source", id="large"),
        pytest.param({"source": "", "more": 1}, "/more", id="unknown"),
        pytest.param({"source": "x", "timeout_seconds": 0}, "/timeout_seconds", id="timeout"),
        pytest.param({"source": "x", "memory_bytes": 1}, "/memory_bytes", id="memory"),
        pytest.param({"source": "x", "pool": "a/b"}, "/pool", id="pool"),
        pytest.param({"source": "x", "input_schema": {"type": 1}}, "/input_schema", id="schema"),
    ],
)
async def test_what_is_wrong_is_named(door: Door, body: dict[str, Any], pointer: str) -> None:
    answer = await door.client.put(AT, json=body)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)


async def test_a_tool_is_no_script(door: Door) -> None:
    echo = "/api/projects/default/scripts/echo"
    assert (await door.client.get(echo)).status_code == 404
    answer = await door.client.put(echo, json={"source": "x"})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/name")


@pytest.mark.parametrize(
    ("body", "arguments"),
    [
        pytest.param({}, {}, id="omitted"),
        pytest.param({"args": None}, {}, id="null"),
        pytest.param({"args": {"a": None}}, {"a": None}, id="given"),
    ],
)
async def test_args_null_is_args_left_out(door: Door, body: dict[str, Any], arguments: dict[str, Any]) -> None:
    await keep(door)
    await detached(door, body)
    (claim,) = await (await door.worker()).claim(1)
    assert claim["arguments"] == arguments


async def test_a_member_reads_exactly_the_page(door: Door) -> None:
    """R1: required members always, null ones never, a JSON-null output neither; queue positions count from 1."""
    await keep(door)
    first, second = await detached(door), await detached(door)
    assert {**first, "id": "", "request_id": "", "created_at": ""} == {
        "id": "",
        "request_id": "",
        "method": "TEST",
        "path": "mcp_demo",
        "status": "queued",
        "source": "test",
        "created_at": "",
        "target_kind": "script",
        "target_ref": "mcp_demo",
        "queue_position": 1,
    }
    assert second["queue_position"] == 2
    worker = await door.worker()
    for run, result, output in ((first, {"ok": True}, {"output": {"ok": True}}), (second, None, {})):
        (claim,) = await worker.claim(1)
        at = f"/api/projects/default/async-runs/{run['id']}"
        assert (await door.get(at))["status"] == "pending"
        await worker.report(claim, {"kind": "start"})
        assert (await door.get(at))["status"] == "running"
        await worker.settle(claim, result=result)
        seen = await door.get(at)
        assert seen["status"] == "succeeded"
        assert set(seen) == REQUIRED | {"target_kind", "target_ref", "started_at", "finished_at"} | set(output)
        assert {name: seen[name] for name in output} == output


async def test_a_run_that_failed_is_a_successful_read(door: Door) -> None:
    await keep(door)
    run = await detached(door)
    error = {"kind": "tool_error", "message": "broken"}
    await (await door.worker()).finish(outcome="failed", error=error)
    seen = await door.get(f"/api/projects/default/async-runs/{run['id']}")
    assert (seen["status"], seen["error_kind"], seen["error_message"]) == ("failed", "tool_error", "broken")


async def test_runs_of_other_doors_are_read_too(door: Door) -> None:
    job = await door.client.post("/jobs", json={"tool": "echo"})
    seen = await door.get(f"/api/projects/default/async-runs/{job.json()['job_id']}")
    assert [seen[name] for name in ("method", "path", "source", "target_kind", "target_ref")] == [
        "POST",
        "/jobs",
        "jobs",
        "tool",
        "echo",
    ]


async def test_the_path_names_the_project(door: Door) -> None:
    """A header changes nothing; a foreign project and an unknown one look the same, and so do their runs."""
    await keep(door)
    run = await detached(door)
    name = run["id"]
    stranger = {"authorization": f"Bearer {OTHER_TOKEN}", "x-request-id": "r"}
    texts = []
    for slug in ("default", "nix"):
        answer = await door.client.get(f"/api/projects/{slug}/async-runs/{name}", headers=stranger)
        assert answer.status_code == 404
        texts.append(answer.text.replace(slug, "SLUG"))
    assert texts[0] == texts[1]
    answer = await door.client.get(f"/api/projects/other/async-runs/{name}", headers=stranger)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


async def test_a_synchronous_test_answers_with_the_end(door: Door) -> None:
    await keep(door)
    worker = await door.worker()
    asked = asyncio.ensure_future(door.client.post(f"{AT}/test-run", json={"args": {}}))
    await worker.finish(result={"ok": True})
    answer = await asked
    assert (answer.status_code, answer.json()["status"], answer.json()["output"]) == (200, "succeeded", {"ok": True})


async def test_a_synchronous_test_that_takes_long_goes_on_detached(door: Door) -> None:
    await keep(door)
    answer = await door.client.post(f"{AT}/test-run", headers={"prefer": "wait=0"})
    assert answer.status_code == 202
    assert (await door.get(answer.headers["location"]))["status"] == "queued"


async def test_a_key_stands_for_its_test(door: Door) -> None:
    await keep(door)
    send = {"json": {"detached": True}, "headers": {"idempotency-key": "k"}}
    first, again = [await door.client.post(f"{AT}/test-run", **send) for _ in range(2)]  # type: ignore[arg-type]
    assert first.json() == again.json()
    assert again.headers["idempotency-replayed"] == "true"
