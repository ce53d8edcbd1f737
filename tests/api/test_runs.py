"""The run door: start, look, wait, list, stop, again."""

from __future__ import annotations

import asyncio
import uuid

from tests.api.door import Door


async def test_a_start_answers_202_with_the_run_as_created(door: Door) -> None:
    body = {
        "resourceType": "tool",
        "resourceId": "tool:default:echo",
        "input": {"mode": "tool", "arguments": {"a": 1}, "callerContext": {"who": "me"}},
        "tags": ["t"],
        "threadId": "th",
        "contextId": "ctx",
        "priority": 3,
        "timeoutSeconds": 5,
        "totalTimeoutSeconds": 60,
        "notBefore": "2030-01-01T00:00:00Z",
    }
    answer = await door.client.post("/v1/runs", json=body, headers={"x-request-id": "r-1"})
    assert answer.status_code == 202
    run = answer.json()
    assert answer.headers["location"] == f"/v1/runs/{run['runId']}"
    assert answer.headers["x-request-id"] == run["requestId"] == "r-1"
    assert uuid.UUID(run["runId"]).version == 7
    assert run["status"] == "queued"
    assert run["version"] == 1
    assert run["input"] == body["input"]
    assert (run["threadId"], run["contextId"], run["tags"]) == ("th", "ctx", ["t"])
    assert run["runPolicySnapshot"] == {"priority": 3, "timeouts": {"attemptS": 5, "totalS": 60}}
    assert run["notBefore"] == "2030-01-01T00:00:00.000000Z"
    shown = await door.run(run["runId"])
    assert shown["waitingFor"]["kind"] == "not_before"
    assert shown["resourceRevisionId"] == run["resourceRevisionId"]


async def test_a_run_is_shown_in_every_spelling_and_in_full_after_its_end(door: Door) -> None:
    worker, run_id = await door.worker(), await door.start()
    await worker.finish(b"hi\n", summary="all good", result={"x": 1})
    shown = await door.run(run_id)
    assert shown == await door.run(shown["jobId"]) == await door.run(run_id.upper())
    assert (shown["status"], shown["summary"], shown["attemptCount"]) == ("succeeded", "all good", 1)
    (attempt,) = shown["attempts"]
    assert (attempt["attemptNo"], attempt["outcome"], attempt["reason"]) == (1, "succeeded", "first")
    (in_full,) = (await door.get(f"/v1/runs/{run_id}/attempts"))["items"]
    assert in_full.pop("effectiveSdkCapabilities")
    assert in_full == attempt
    assert (await door.get(f"/v1/runs/{run_id}/replay"))["identical"] is True
    assert "blockingInteractionId" not in shown
    assert shown["openInteractionCount"] == 0


async def test_a_version_that_the_caller_has_is_not_sent_again(door: Door) -> None:
    run_id = await door.start()
    first = await door.client.get(f"/v1/runs/{run_id}")
    for path in (f"/v1/runs/{run_id}", f"/jobs/{run_id}"):
        again = await door.client.get(path, headers={"if-none-match": f'"0", {first.headers["etag"]}'})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == first.headers["etag"] == '"1"'
    await door.client.post(f"/v1/runs/{run_id}/cancel")
    assert (await door.client.get(f"/v1/runs/{run_id}", headers={"if-none-match": '"1"'})).status_code == 200


async def test_a_wait_ends_with_the_run(door: Door) -> None:
    worker, run_id = await door.worker(), await door.start()
    waiting = asyncio.create_task(door.client.get(f"/v1/runs/{run_id}", headers={"prefer": "wait=9"}))
    await worker.finish()
    async with asyncio.timeout(15):
        answer = await waiting
    assert answer.headers["preference-applied"] == "wait=9"
    assert answer.json()["status"] == "succeeded"
    assert "retry-after" not in answer.headers


async def test_a_wait_is_at_most_30_seconds_and_0_does_not_wait(door: Door) -> None:
    run_id = await door.start()
    answer = await door.client.get(f"/v1/runs/{run_id}", headers={"prefer": "respond-async, wait=0"})
    assert answer.headers["preference-applied"] == "wait=0"
    assert answer.headers["retry-after"] == "1"
    await door.client.post(f"/v1/runs/{run_id}/cancel")
    answer = await door.client.get(f"/v1/runs/{run_id}", headers={"prefer": "wait=4000"})
    assert answer.headers["preference-applied"] == "wait=30"


async def test_a_queued_run_is_stopped_at_once_and_again_without_effect(door: Door) -> None:
    run_id = await door.start()
    answer = await door.client.post(f"/v1/runs/{run_id}/cancel", json={"reason": "no need"})
    assert (answer.status_code, answer.json()["status"]) == (200, "canceled")
    assert answer.json()["cancelReason"] == "no need"
    assert answer.json()["endReason"] == "cancelled_before_start"
    again = await door.client.post(f"/v1/runs/{run_id}/cancel", json={"reason": "another"})
    assert (again.status_code, again.json()) == (200, answer.json())


async def test_a_running_run_is_asked_to_stop(door: Door) -> None:
    worker, run_id = await door.worker(), await door.start()
    claim = await worker.begin()
    answer = await door.client.post(f"/v1/runs/{run_id}/cancel")
    assert (answer.status_code, answer.json()["status"]) == (202, "canceling")
    (order,) = (await worker.post("claim", {"slots": 0, "waitMs": 5000}))["cancels"]
    assert (order["runId"], order["fence"]) == (run_id, claim["fence"])
    delivered = {"kind": "events", "events": [{"type": "cancel.delivered"}, {"type": "cancel.acknowledged"}]}
    assert await worker.report(claim, delivered) == [{"ok": True}]
    await worker.settle(claim, "stopped", forced=False)
    shown = await door.run(run_id)
    assert (shown["status"], shown["endReason"]) == ("canceled", "cancelled_cooperatively")
    assert shown["cancelRequestedAt"] <= shown["cancelDeliveredAt"] <= shown["cancelAcknowledgedAt"]


async def test_a_rerun_is_a_new_run_with_the_same_input_and_a_link(door: Door) -> None:
    worker = await door.worker()
    run_id = await door.start({"n": 7}, tags=["x"], priority=2, timeoutSeconds=9, idempotencyKey="k")
    await worker.finish(outcome="failed", error={"message": "no"})
    answer = await door.client.post(f"/v1/runs/{run_id}/rerun", headers={"idempotency-key": "k2"})
    assert answer.status_code == 202
    new = answer.json()
    assert new["runId"] != run_id
    assert (new["input"], new["tags"]) == ({"mode": "tool", "arguments": {"n": 7}}, ["x"])
    assert new["runPolicySnapshot"] == {"priority": 2, "timeouts": {"attemptS": 9}}
    (link,) = (await door.get(f"/v1/runs/{run_id}/links"))["items"]
    assert (link["fromRunId"], link["toRunId"], link["relationType"]) == (new["runId"], run_id, "rerun_of")
    again = await door.client.post(f"/v1/runs/{run_id}/rerun", json={"idempotencyKey": "k2"})
    assert (again.headers["idempotency-replayed"], again.json()["runId"]) == ("true", new["runId"])
    assert (await door.get(f"/v1/runs/{new['runId']}/replay"))["identical"] is True


async def test_a_rerun_with_the_key_of_the_first_start_is_a_conflict(door: Door) -> None:
    run_id = await door.start({"n": 7}, idempotencyKey="k")
    answer = await door.client.post(f"/v1/runs/{run_id}/rerun", headers={"idempotency-key": "k"})
    assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_key_reused")


async def test_a_tool_run_is_not_continued(door: Door) -> None:
    run_id = await door.start()
    answer = await door.client.post(f"/v1/runs/{run_id}/continue", json={"mode": "agent"})
    assert (answer.status_code, answer.json()["code"]) == (409, "illegal_transition")


async def test_children_show_in_the_tree(door: Door) -> None:
    worker, run_id = await door.worker(), await door.start()
    claim = await worker.begin()
    child = {"kind": "child", "requestId": "c1", "tool": "echo", "arguments": {"a": 1}, "relation": "tool_subrun"}
    (first,), (again,) = await worker.report(claim, child), await worker.report(claim, child)
    assert first == again
    tree = await door.get(f"/v1/runs/{run_id}/tree")
    assert tree["run"]["runId"] == run_id
    (branch,) = tree["children"]
    assert (branch["run"]["runId"], branch["relationType"]) == (first["childRunId"], "tool_subrun")
    assert branch["children"] == []
    shown = await door.run(first["childRunId"])
    assert (shown["parentRunId"], shown["parentRelation"], shown["source"]) == (run_id, "tool_subrun", "run")


async def test_lists_are_filtered_by_status_and_tool(door: Door) -> None:
    worker = await door.worker()
    done = await door.start()
    await worker.finish()
    waiting = await door.start()

    async def ids(query: str) -> list[str]:
        return [item["runId"] for item in (await door.get(f"/v1/runs?{query}"))["items"]]

    assert await ids("") == [waiting, done]
    assert await ids("status=succeeded") == [done]
    assert await ids("status=active") == [waiting]
    assert await ids("status=queued,succeeded") == await ids("status=queued&status=succeeded") == [waiting, done]
    assert await ids("tool=echo&status=queued") == [waiting]
    assert await ids("tool=other") == []
    answer = await door.client.get("/v1/runs?status=done")
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/status")


async def test_env_values_of_a_profile_are_not_shown(door: Door) -> None:
    tool = {"name": "env", "runtime": "command", "profile": {"command": ["true"], "env": {"KEY": "v4lue"}}}
    await door.client.put("/v1/tools", json={"definitions": [tool]})
    run_id = await door.start(tool="env")
    for path in (f"/v1/runs/{run_id}", "/v1/tools", "/v1/tools/env"):
        answer = await door.client.get(path)
        assert "KEY" in answer.text
        assert "v4lue" not in answer.text
