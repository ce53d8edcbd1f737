"""Kept values, secrets and configuration over the runtime protocol: what is given, to whom, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from ringback.services import facilities
from tests.api.door import TOOL, Door, Worker

ALL = ("kv.read", "kv.write", "secrets.read", "config.read")


async def attached(door: Door, *capabilities: str) -> Worker:
    body = {
        "name": "w",
        "incarnation": "i",
        "protocolVersion": 1,
        "slots": 8,
        "offers": ["default/function:echo", "default/function:other"],
        "capabilities": [{"surface": "core", "name": name, "supportLevel": "polyfilled"} for name in capabilities],
    }
    answer = await door.client.post("/v1/workers/attach", json=body)
    assert answer.status_code == 200, answer.text
    return Worker(door.client, answer.json()["sessionId"])


async def use(worker: Worker, claim: dict[str, Any], kind: str, **members: Any) -> dict[str, Any]:
    (answer,) = await worker.report(claim, {"kind": kind, **members})
    return answer


async def holding(door: Door, *capabilities: str, tool: str = "echo") -> tuple[Worker, dict[str, Any]]:
    worker = await attached(door, *capabilities)
    await door.start(tool=tool)
    return worker, await worker.begin()


async def test_a_value_is_kept_for_the_tool_beyond_the_run(door: Door) -> None:
    worker, claim = await holding(door, *ALL)
    assert await use(worker, claim, "kv.read", key="k") == {"ok": True, "version": 0}
    assert await use(worker, claim, "kv.write", key="k", value=[1], requestId="a") == {
        "ok": True,
        "written": True,
        "value": [1],
        "version": 1,
    }
    await worker.settle(claim)
    await door.start()
    again = await worker.begin()
    assert await use(worker, again, "kv.read", key="k") == {"ok": True, "value": [1], "version": 1}
    assert (await use(worker, claim, "kv.read", key="k"))["code"] == "stale_fence"
    assert (await use(worker, claim, "kv.write", key="k", value=2))["code"] == "stale_fence"


async def test_compare_and_set(door: Door) -> None:
    worker, claim = await holding(door, *ALL)

    async def write(value: Any, **members: Any) -> tuple[bool, Any, int]:
        told = await use(worker, claim, "kv.write", key="k", value=value, **members)
        return told["written"], told.get("value"), told["version"]

    assert await write("a", ifVersion=1) == (False, None, 0)
    assert await write("a", ifVersion=0, requestId="1") == (True, "a", 1)
    assert await write("b", ifVersion=0, requestId="2") == (False, "a", 1)
    assert await write("b", ifVersion=1, requestId="3") == (True, "b", 2)
    assert await write("b", ifVersion=1, requestId="3") == (True, "b", 2), "said twice"
    assert await write(None) == (True, None, 3), "null is a value"
    gone = await use(worker, claim, "kv.write", key="k", delete=True, ifVersion=3)
    assert gone == {"ok": True, "written": True, "version": 4}
    assert await use(worker, claim, "kv.read", key="k") == {"ok": True, "version": 4}
    assert await write("c", ifVersion=4) == (True, "c", 5)


async def test_values_of_another_tool_are_its_own(door: Door) -> None:
    await door.client.put("/v1/tools", json={"definitions": [{**TOOL, "name": "other"}]})
    worker, claim = await holding(door, *ALL)
    await use(worker, claim, "kv.write", key="k", value=1)
    await door.start(tool="other")
    other = await worker.begin()
    assert await use(worker, other, "kv.read", key="k") == {"ok": True, "version": 0}


async def test_what_was_not_agreed_is_refused(door: Door) -> None:
    worker, claim = await holding(door, "kv.read")
    assert (await use(worker, claim, "kv.read", key="k"))["ok"]
    for kind in ALL[1:]:
        told = await use(worker, claim, kind, key="k", value=1)
        assert (told["ok"], told["code"]) == (False, "unsupported_capability")
    assert await use(worker, claim, "kv.read", key="k") == {"ok": True, "version": 0}


async def test_another_session_is_refused(door: Door) -> None:
    _, claim = await holding(door, *ALL)
    other = await attached(door, *ALL)
    for kind in ALL:
        assert (await use(other, claim, kind, key="k", value=1, name="n"))["code"] == "stale_fence"


async def test_bounds(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facilities, "VALUES_MAX", 2)
    worker, claim = await holding(door, *ALL)
    for key in ("", "x" * 201, "nul\0"):
        assert (await use(worker, claim, "kv.write", key=key, value=1))["code"] == "invalid_input"
    big = await use(worker, claim, "kv.write", key="k", value="x" * (64 * 1024))
    assert (big["code"], "has more than 65536 bytes" in big["detail"]) == ("invalid_input", True)
    for key in ("a", "b"):
        assert (await use(worker, claim, "kv.write", key=key, value=1))["written"]
    assert (await use(worker, claim, "kv.write", key="c", value=1))["code"] == "invalid_input"
    assert (await use(worker, claim, "kv.write", key="a", value=2))["written"]
    assert (await use(worker, claim, "kv.write", key="b", delete=True))["written"]
    assert (await use(worker, claim, "kv.write", key="c", value=1))["written"]
    for wrong in ({}, {"value": 1, "delete": True}):
        report = {"kind": "kv.write", "key": "k", "runId": claim["runId"], "fence": 1, **wrong}
        answer = await door.client.post(f"/v1/workers/{worker.session_id}/report", json={"reports": [report]})
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/reports/0/value")


async def test_secrets_that_the_revision_names(door: Door) -> None:
    given = {"NAMED": "s3cret-value", "UNNAMED": "other"}
    door.core.workers.requests.facilities.secret_of = given.get
    definition = {**TOOL, "profile": {"pool": "default", "secrets": ["NAMED", "ABSENT"]}}
    await door.client.put("/v1/tools", json={"definitions": [definition]})
    worker, claim = await holding(door, *ALL)
    assert await use(worker, claim, "secrets.read", name="NAMED") == {"ok": True, "value": "s3cret-value"}
    for name in ("UNNAMED", "ABSENT", ""):
        assert (await use(worker, claim, "secrets.read", name=name))["code"] == "invalid_input"
    assert b"s3cret-value" not in door.path.read_bytes()


async def test_the_configuration_is_the_frozen_one(door: Door) -> None:
    worker, claim = await holding(door, *ALL)
    await door.client.put("/v1/tools", json={"definitions": [{**TOOL, "policy": {"priority": 5}}]})
    told = (await use(worker, claim, "config.read"))["value"]
    run = await door.run(claim["runId"])
    assert told == {
        "profile": {"runtime": "function", "pool": "default"},
        "policy": {},
        "revisionId": run["resourceRevisionId"],
    }
