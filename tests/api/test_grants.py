"""Calls across organizations: whose the run is, what the caller sees of it, and that nothing is left of a grant that is over."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.api.door import OTHER_TOKEN, Door, opened

ASPECT_OF = {
    "events": "events",
    "result": "output",
    "output": "output",
    "attempts": "attempts",
    "links": "links",
    "graph": "links",
    "interactions": "interactions",
}


@dataclass
class Sides:
    """The provider's door, and the caller's client."""

    door: Door
    caller: httpx2.AsyncClient

    async def give(self, *scopes: str, **more: Any) -> str:
        body = {"name": "echo", "granteeProjectId": "other", "visibilityScopes": list(scopes), **more}
        answer = await self.door.client.post("/v1/grants", json=body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["grantId"])

    async def call(self, name: str) -> httpx2.Response:
        return await self.caller.post(
            "/v1/runs", json={"resourceId": name, "input": {"mode": "tool", "arguments": {"a": 1}}}
        )

    async def called(self, name: str) -> str:
        answer = await self.call(name)
        assert answer.status_code == 202, answer.text
        return str(answer.json()["runId"])


@pytest.fixture
async def sides(tmp_path: Path) -> AsyncIterator[Sides]:
    async with opened(tmp_path) as door:
        headers = {"authorization": f"Bearer {OTHER_TOKEN}"}
        async with httpx2.AsyncClient(base_url=door.client.base_url, headers=headers) as caller:
            yield Sides(door, caller)


async def test_the_run_is_the_providers_and_both_find_it(sides: Sides) -> None:
    run_id = await sides.called(await sides.give())
    theirs = await sides.door.run(run_id)
    ours = (await sides.caller.get(f"/v1/runs/{run_id}")).json()
    assert (theirs["projectId"], ours["projectId"]) == ("default", "default")
    assert theirs["input"]["arguments"] == {"a": 1}
    hidden = {"input", "attempts", "executionProfileSnapshot", "runPolicySnapshot", "summary", "createdBy", "tags"}
    assert hidden & set(ours) == set()
    assert (await sides.caller.get("/v1/runs")).json()["items"] == []  # it is in the provider's list alone


@pytest.mark.parametrize("part", ASPECT_OF)
async def test_each_part_is_seen_with_its_scope_and_unknown_without(sides: Sides, part: str) -> None:
    blind = await sides.called(await sides.give(*(set(ASPECT_OF.values()) - {ASPECT_OF[part]})))
    seeing = await sides.called(await sides.give(ASPECT_OF[part]))
    query = "?partial=1" if part == "result" else ""
    assert (await sides.caller.get(f"/v1/runs/{blind}/{part}{query}")).status_code == 404
    assert (await sides.caller.get(f"/v1/runs/{seeing}/{part}{query}")).status_code == 200
    missing = await sides.caller.get(f"/v1/runs/{'0' * 8}-0000-7000-8000-{'0' * 12}/{part}{query}")
    refused = await sides.caller.get(f"/v1/runs/{blind}/{part}{query}")
    assert missing.json()["code"] == refused.json()["code"] == "not_found"


@pytest.mark.parametrize("path", ["replay", "capability-tokens"])
async def test_what_no_scope_names_is_unknown(sides: Sides, path: str) -> None:
    run_id = await sides.called(await sides.give(*set(ASPECT_OF.values()), "input"))
    assert (await sides.caller.get(f"/v1/runs/{run_id}/{path}")).status_code == 404
    assert (await sides.caller.post(f"/v1/runs/{run_id}/rerun", json={})).status_code == 404


async def test_a_revoked_grant_answers_like_a_missing_run(sides: Sides) -> None:
    grant_id = await sides.give("events")
    run_id = await sides.called(grant_id)
    assert (await sides.caller.get(f"/v1/runs/{run_id}")).status_code == 200
    ended = await sides.door.client.delete(f"/v1/grants/{grant_id}")
    assert "revokedAt" in ended.json()
    for path in ("", "/events"):
        assert (await sides.caller.get(f"/v1/runs/{run_id}{path}")).status_code == 404
    assert (await sides.call(grant_id)).status_code == 404
    assert (await sides.door.run(run_id))["status"] == "queued"  # it goes on, at its owner's


async def test_an_alias_stands_for_a_grant_and_jobs_know_it(sides: Sides) -> None:
    grant_id = await sides.give("output")
    put = await sides.caller.put("/v1/aliases/their_echo", json={"grantId": grant_id})
    assert put.json()["name"] == "echo"
    answer = await sides.caller.post("/jobs", json={"tool": "their_echo", "arguments": {"a": 1}})
    assert answer.status_code == 202, answer.text
    job = (await sides.caller.get(f"/jobs/{answer.json()['job_id']}")).json()
    assert (job["tool"], job["status"]) == ("echo", "queued")
    stopped = await sides.caller.delete(f"/jobs/{answer.json()['job_id']}")
    assert stopped.json()["status"] == "cancelled"


async def test_both_sides_find_the_deeds_in_their_logs(sides: Sides) -> None:
    grant_id = await sides.give()
    run_id = await sides.called(grant_id)
    await sides.door.client.delete(f"/v1/grants/{grant_id}")
    for client in (sides.door.client, sides.caller):
        deeds = [each for each in (await client.get("/v1/audit")).json()["items"] if each["subject"] == grant_id]
        assert [each["action"] for each in deeds] == ["grant.revoked", "grant.used", "grant.given"]
        assert deeds[1]["facts"]["runId"] == run_id


async def test_a_grant_is_for_whom_it_names_alone(sides: Sides) -> None:
    grant_id = await sides.give()
    mine = await sides.door.client.post("/v1/runs", json={"resourceId": grant_id, "input": {"mode": "tool"}})
    assert mine.status_code == 404
    assert (await sides.caller.delete(f"/v1/grants/{grant_id}")).status_code == 404
    listed = (await sides.caller.get("/v1/grants")).json()
    assert ([each["grantId"] for each in listed["received"]], listed["given"]) == ([grant_id], [])


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"granteeProjectId": "nobody"}, "/granteeProjectId"),
        ({"granteeProjectId": "default"}, "/granteeProjectId"),
        ({"visibilityScopes": ["all"]}, "/visibilityScopes"),
        ({"expiresAt": "tomorrow"}, "/expiresAt"),
    ],
)
async def test_a_wrong_grant_is_refused(sides: Sides, change: dict[str, Any], pointer: str) -> None:
    body = {"name": "echo", "granteeProjectId": "other", **change}
    answer = await sides.door.client.post("/v1/grants", json=body)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)
