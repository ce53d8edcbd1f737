"""Runs that wait for others, as callers see them: O48, and how a waiting run shows."""

from __future__ import annotations

import pytest

from tests.api.door import OTHER_TOKEN, Door

UNKNOWN = "01890000-0000-7000-8000-000000000000"


@pytest.mark.parametrize("path", ["/jobs", "/v1/runs"])
async def test_unknown_foreign_and_malformed_ids_are_refused_alike(door: Door, path: str) -> None:
    """O48: same words for each, and nothing is stored."""
    stranger = {"authorization": f"Bearer {OTHER_TOKEN}", "ringback-project": "other"}
    foreign = (await door.client.post("/jobs", json={"tool": "echo"}, headers=stranger)).json()["job_id"]
    name = "depends_on" if path == "/jobs" else "dependsOn"
    bodies = set()
    for upstream in (foreign, UNKNOWN, "job_nix", "", "../x", "\0"):
        headers = {"x-request-id": "r"}
        answer = await door.client.post(path, json={"tool": "echo", name: [upstream]}, headers=headers)
        assert answer.status_code == 422
        assert answer.json()["code"] == "invalid_dependency"
        bodies.add(answer.content)
    assert len(bodies) == 1
    assert (await door.get("/jobs"))["jobs"] == []


async def test_naming_a_run_twice_counts_once(door: Door) -> None:
    """O48: in both spellings."""
    first = await door.run(await door.start())
    run_id = await door.start(dependsOn=[first["runId"], first["jobId"], first["runId"]])
    shown = await door.run(run_id)
    assert shown["dependsOn"] == [first["runId"]]
    assert shown["waitingFor"] == {"kind": "dependency", "runIds": [first["runId"]]}
    assert "queuePosition" not in shown
    job = await door.get(f"/jobs/{run_id}")
    assert job["depends_on"] == [first["jobId"]]


async def test_a_run_behind_a_failed_one_ends_without_starting(door: Door) -> None:
    first = await door.start()
    behind, always = await door.start(dependsOn=[first]), await door.start(dependsOn=[first], runOn="always")
    await (await door.worker()).finish(outcome="failed")
    events = await door.events(behind)
    assert events[-1].body["event"]["failureKind"] == "dependency_failed"
    assert first in (await door.run(behind))["errorMessage"]
    assert (await door.run(always))["status"] == "queued"
