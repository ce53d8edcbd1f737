"""Run spaces over HTTP: what a runtime tells of them, and who may."""

from __future__ import annotations

from typing import Any

from ringback.domain.ids import RunId
from ringback.ports.store import Desk
from tests.api.door import Door, Worker

SPACE = "space-00000001"


def step(status: str, **more: Any) -> dict[str, Any]:
    space = {"runSpaceId": SPACE, "status": status, "providerType": "git_worktree", "kind": "workspace", **more}
    return {"kind": "space", "space": space}


async def told(worker: Worker, claim: dict[str, Any], *steps: dict[str, Any]) -> list[str]:
    """The code of each answer."""
    return [result.get("code", "ok") for each in steps for result in await worker.report(claim, each)]


async def test_a_space_lives_from_provisioning_to_terminated(door: Door) -> None:
    worker, run_id = await door.worker(), await door.start()
    claim = await worker.begin()
    made = step("provisioning", locator="/x/y")
    assert await told(worker, claim, made, made, step("ready"), step("occupied")) == ["ok"] * 4
    (shown,) = (await door.get(f"/v1/run-spaces?runId={run_id}"))["items"]
    assert (shown["status"], shown["currentRunId"], shown["locator"]) == ("occupied", run_id, "/x/y")
    assert (shown["providerType"], shown["kind"], shown["orgId"]) == ("git_worktree", "workspace", "local")
    (attempt,) = (await door.get(f"/v1/runs/{run_id}/attempts"))["items"]
    assert (attempt["runSpaceId"], shown["currentAttemptId"]) == (SPACE, attempt["attemptId"])
    assert await told(worker, claim, step("reclaiming")) == ["ok"]
    await worker.settle(claim)
    assert await told(worker, claim, step("terminated"), step("ready")) == ["ok", "illegal_transition"]
    whole = await door.get(f"/v1/run-spaces/{SPACE}")
    assert [each["status"] for each in whole["history"]] == [
        "provisioning",
        "ready",
        "occupied",
        "reclaiming",
        "terminated",
    ]
    assert "currentRunId" not in whole
    assert whole["runId"] == run_id


async def test_without_one_of_its_own_an_attempt_is_in_the_shared_one(door: Door) -> None:
    worker, run_id = await door.worker(), await door.start()
    claim = await worker.begin()
    (attempt,) = (await door.get(f"/v1/runs/{run_id}/attempts"))["items"]
    (shared,) = (await door.get("/v1/run-spaces"))["items"]
    assert (shared["runSpaceId"], shared["status"]) == (attempt["runSpaceId"], "occupied")
    assert (shared["kind"], shared["sessionId"]) == ("workspace", worker.session_id)
    await worker.settle(claim)
    assert [each["status"] for each in (await door.get("/v1/run-spaces?status=ready"))["items"]] == ["ready"]
    assert (await door.get("/v1/run-spaces?status=occupied"))["items"] == []


async def test_steps_that_make_no_sense_and_spaces_of_others(door: Door) -> None:
    holder, other = await door.worker("w1"), await door.worker("w2")
    await door.start()
    claim = await holder.begin()
    assert await told(holder, claim, step("ready")) == ["illegal_transition"]
    assert await told(other, claim, step("provisioning")) == ["stale_fence"]
    assert await told(holder, {**claim, "fence": 7}, step("provisioning")) == ["stale_fence"]
    assert await told(holder, claim, step("provisioning"), step("terminated")) == ["ok", "illegal_transition"]
    assert await told(other, claim, step("ready")) == ["stale_fence"]
    second = await door.start()
    (another,) = await holder.claim(1)
    assert another["runId"] == second
    assert await told(holder, another, step("ready")) == ["stale_fence"]
    for wrong, member in (
        ({"runSpaceId": "x"}, "runSpaceId"),
        ({"status": "gone"}, "status"),
        ({"kind": "moon"}, "kind"),
        ({"providerType": ""}, "providerType"),
    ):
        space = {**step("ready")["space"], **wrong}
        report = {"kind": "space", "space": space, "runId": claim["runId"], "fence": 1}
        answer = await door.client.post(f"/v1/workers/{holder.session_id}/report", json={"reports": [report]})
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, f"/reports/0/space/{member}")


async def test_what_a_lost_worker_leaves_is_for_whoever_finds_it(door: Door) -> None:
    lost, finder = await door.worker("w1"), await door.worker("w2")
    await door.start()
    claim = await lost.begin()
    assert await told(lost, claim, step("provisioning"), step("ready"), step("occupied")) == ["ok"] * 3
    assert await told(finder, claim, step("terminated")) == ["stale_fence"]
    await door.client.post(f"/v1/workers/{lost.session_id}/detach", json={})
    left = await door.get(f"/v1/run-spaces/{SPACE}")
    assert (left["status"], left["reason"]) == ("reclaiming", "its worker is gone (detached)")
    assert await told(finder, claim, step("terminated")) == ["ok"]
    assert (await door.get(f"/v1/run-spaces/{SPACE}"))["status"] == "terminated"


async def test_what_is_kept_stays_ready(door: Door) -> None:
    worker = await door.worker()
    await door.start()
    claim = await worker.begin()
    steps = [step("provisioning"), step("ready"), step("occupied"), step("ready", kept=True)]
    assert await told(worker, claim, *steps) == ["ok"] * 4
    await worker.settle(claim, "failed", error={"kind": "tool_error", "message": "no"})
    kept = await door.get(f"/v1/run-spaces/{SPACE}")
    assert (kept["status"], kept["kept"]) == ("ready", True)
    assert "currentRunId" not in kept


async def test_pages_filters_and_other_projects(door: Door) -> None:
    worker = await door.worker()
    for number in range(3):
        await door.start()
        claim = await worker.begin()
        assert await told(worker, claim, step("provisioning", runSpaceId=f"space-{number:08}")) == ["ok"]
        await worker.settle(claim)
    first = await door.get("/v1/run-spaces?status=provisioning&limit=2")
    rest = await door.get(f"/v1/run-spaces?status=provisioning&limit=2&cursor={first['nextCursor']}")
    ids = [each["runSpaceId"] for page in (first, rest) for each in page["items"]]
    assert ids == ["space-00000002", "space-00000001", "space-00000000"]
    assert "nextCursor" not in rest
    for query in ("status=moon", "cursor=nix"):
        assert (await door.client.get(f"/v1/run-spaces?{query}")).status_code in (400, 422)
    foreign = {"ringback-project": "other"}
    assert [each["kind"] for each in (await door.get("/v1/run-spaces", **foreign))["items"]] == ["workspace"]
    assert (await door.client.get("/v1/run-spaces/space-00000001", headers=foreign)).status_code == 404


async def test_a_space_goes_with_its_run(door: Door) -> None:
    worker, run_id = await door.worker(), await door.start()
    claim = await worker.begin()
    assert await told(worker, claim, step("provisioning")) == ["ok"]
    await worker.settle(claim)

    def work(desk: Desk) -> None:
        desk.purge(RunId(run_id))

    await door.core.store.commit(work)
    assert (await door.client.get(f"/v1/run-spaces/{SPACE}")).status_code == 404
    assert await door.core.store.reads.rows("run_space_steps", {"run_space_id": SPACE}) == []
