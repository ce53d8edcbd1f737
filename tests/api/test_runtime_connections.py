"""Connections of runtimes over HTTP: what is agreed, what an attempt freezes, epochs, and being made to come back."""

from __future__ import annotations

import asyncio
from typing import Any

from ringback.domain.ids import SessionId
from tests.api.callers import user
from tests.api.door import Door, Worker

HELLO: dict[str, Any] = {
    "name": "w",
    "incarnation": "i",
    "protocolVersion": 1,
    "slots": 2,
    "offers": ["default/function:echo"],
    "capabilities": [
        {"surface": "core", "name": "tool.call", "supportLevel": "polyfilled"},
        {"surface": "platform", "name": "space.rocket", "supportLevel": "native"},
    ],
}


async def attach(door: Door, **changes: Any) -> dict[str, Any]:
    answer = await door.client.post("/v1/workers/attach", json=HELLO | changes)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def back(told: dict[str, Any]) -> dict[str, Any]:
    """What a runtime says when it goes on with its connection."""
    return {name: told[name] for name in ("runtimeConnectionId", "connectionEpoch")}


async def test_what_is_agreed_is_told_and_frozen_on_the_attempt(door: Door) -> None:
    told = await attach(door, provider="micro-vm")
    levels = {(each["surface"], each["name"]): each["supportLevel"] for each in told["effectiveSdkCapabilities"]}
    assert levels["core", "tool.call"] == "polyfilled"
    assert levels["platform", "space.rocket"] == levels["core", "checkpoint.load"] == "unsupported"
    assert (told["connectionEpoch"], told["protocolVersion"]) == (0, 1)
    assert told["heartbeatIntervalMs"] >= 1_000
    run_id = await door.start()
    worker = Worker(door.client, told["sessionId"])
    claim = await worker.begin()
    await worker.settle(claim, "failed", error={"kind": "tool_error", "message": "no"})
    again = await attach(door, capabilities=[], **back(told))
    (attempt,) = (await door.get(f"/v1/runs/{run_id}/attempts"))["items"]
    assert attempt["effectiveSdkCapabilities"] == told["effectiveSdkCapabilities"] != again["effectiveSdkCapabilities"]
    frozen = {
        name: attempt[name] for name in ("runtimeConnectionId", "connectionEpoch", "sessionId", "capabilitySnapshotId")
    }
    assert frozen == {name: told[name] for name in frozen}
    assert attempt["provider"] == "micro-vm"
    (shown,) = (await door.run(run_id))["attempts"]
    assert shown["capabilitySnapshotId"] == told["capabilitySnapshotId"]
    assert "effectiveSdkCapabilities" not in shown


async def test_a_version_that_is_not_spoken_is_refused_with_those_that_are(door: Door) -> None:
    answer = await door.client.post("/v1/workers/attach", json=HELLO | {"protocolVersion": 9})
    assert (answer.status_code, answer.json()["code"]) == (422, "unsupported_protocol_version")
    assert answer.json()["supportedVersions"] == [1]
    assert answer.json()["errors"][0]["pointer"] == "/protocolVersion"


async def test_wrong_descriptors_and_epochs_are_named(door: Door) -> None:
    wrong = {"surface": "core", "name": "tracing", "supportLevel": "perhaps"}
    for changes, pointer in (
        ({"capabilities": [wrong]}, "/capabilities/0/supportLevel"),
        ({"connectionEpoch": -1}, "/connectionEpoch"),
        ({"provider": "a b"}, "/provider"),
    ):
        answer = await door.client.post("/v1/workers/attach", json=HELLO | changes)
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)
    assert (await door.get("/v1/runtime-connections?ended=true"))["items"] == []


async def test_a_reconnect_raises_the_epoch_and_ends_what_was(door: Door) -> None:
    first = await attach(door)
    run_id = await door.start()
    old = Worker(door.client, first["sessionId"])
    claim = await old.begin()
    second = await attach(door, **back(first))
    assert (second["runtimeConnectionId"], second["connectionEpoch"]) == (first["runtimeConnectionId"], 1)
    assert (await door.run(run_id))["failureKind"] == "lost"
    settle = {"kind": "settle", "outcome": "succeeded", "runId": run_id, "fence": claim["fence"]}
    late = await door.client.post(f"/v1/workers/{first['sessionId']}/report", json={"reports": [settle]})
    assert (late.status_code, late.json()["code"]) == (410, "session_expired")
    new = Worker(door.client, second["sessionId"])
    (refused,) = await new.report(claim, {"kind": "settle", "outcome": "succeeded"})
    assert refused["code"] == "stale_fence"
    assert (await door.run(run_id))["status"] == "failed"
    statuses = [each["status"] for each in (await door.get("/v1/runtime-connections?ended=true"))["items"]]
    assert sorted(statuses) == ["attached", "superseded"]


async def test_an_epoch_that_is_not_the_sessions_own_is_refused(door: Door) -> None:
    told = await attach(door)
    for verb in ("claim", "report", "heartbeat"):
        path = f"/v1/workers/{told['sessionId']}/{verb}"
        assert (await door.client.post(path, json={"connectionEpoch": 0})).status_code == 200
        answer = await door.client.post(path, json={"connectionEpoch": 1})
        assert (answer.status_code, answer.json()["code"]) == (410, "session_expired")


async def test_who_comes_with_an_old_epoch_or_another_token_takes_nothing_away(door: Door) -> None:
    first = await attach(door)
    second = await attach(door, **back(first))
    slept = await attach(door, **back(first))
    unknown = await attach(door, runtimeConnectionId="nix")
    stranger = await user(door, "op", {}, is_operator=True)
    answer = await door.client.post("/v1/workers/attach", json=HELLO | back(second), headers=stranger)
    foreign = answer.json()
    ids = {each["runtimeConnectionId"] for each in (second, slept, unknown, foreign)}
    assert len(ids) == 4
    assert {each["connectionEpoch"] for each in (slept, unknown, foreign)} == {0}
    assert len((await door.get("/v1/runtime-connections"))["items"]) == 4


async def test_a_fence_alone_opens_nothing_to_another_session(door: Door) -> None:
    run_id = await door.start()
    holder, other = await door.worker("w1"), await door.worker("w2")
    claim = await holder.begin()
    reports: list[dict[str, Any]] = [
        {"kind": "events", "events": [{"type": "progress", "done": 1}]},
        {"kind": "child", "requestId": "r", "tool": "echo"},
        {"kind": "ask", "question": {"kind": "approval", "title": "May I?", "key": "k"}},
        {"kind": "settle", "outcome": "succeeded"},
    ]
    assert [each["code"] for each in await other.report(claim, *reports)] == ["stale_fence"] * 4
    run = await door.run(run_id)
    assert (run["status"], run["openInteractionCount"], "progress" in run) == ("running", 0, False)
    for report in reports:
        assert (await holder.report(claim, report))[0]["ok"]


async def test_an_operator_ends_a_session_and_what_it_holds(door: Door) -> None:
    told = await attach(door)
    run_id = await door.start()
    worker = Worker(door.client, told["sessionId"])
    await worker.begin()
    (shown,) = (await door.get("/v1/runtime-connections"))["items"]
    assert [each["runId"] for each in shown["attempts"]] == [run_id]
    assert shown["heldByOthers"] == 0
    waiting = asyncio.create_task(
        door.client.post(f"/v1/workers/{told['sessionId']}/claim", json={"slots": 1, "waitMs": 20_000})
    )
    hands = door.core.engine.bells.hands
    async with asyncio.timeout(30):
        while not any(hand.is_waiting for hand in hands.of(SessionId(told["sessionId"]))):
            await asyncio.sleep(0.01)
    path = f"/v1/runtime-connections/{told['runtimeConnectionId']}/reconnect"
    answer = await door.client.post(path, json={"reason": "new keys"})
    assert (answer.status_code, answer.json()["status"]) == (202, "reconnecting")
    async with asyncio.timeout(30):
        assert (await waiting).status_code == 410
    assert (await door.run(run_id))["failureKind"] == "lost"
    again = await door.client.post(path, json={})
    assert (again.status_code, again.json()["code"]) == (404, "not_found")
    (entry,) = (await door.get("/v1/installation/audit"))["items"][:1]
    assert entry["action"] == "runtime_connection.reconnected"
    assert entry["facts"]["reason"] == "new keys"
    assert (await attach(door, **back(told)))["connectionEpoch"] == 1


async def test_what_is_held_of_another_project_is_only_counted(door: Door) -> None:
    told = await attach(door)
    await door.start()
    await Worker(door.client, told["sessionId"]).begin()
    (seen,) = (await door.get("/v1/runtime-connections", **{"ringback-project": "other"}))["items"]
    assert (seen["attempts"], seen["heldByOthers"]) == ([], 1)
