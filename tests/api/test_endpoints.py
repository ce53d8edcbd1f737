"""Published endpoints and the tokens that open one run: who waits, who polls, and what a stranger sees."""

from __future__ import annotations

import asyncio
import sqlite3
from typing import Any

import httpx2
import pytest

from tests.api.door import Door

AT = "/api/projects/default/endpoints/reports/daily"
URL = "/x/default/reports/daily"
SCRIPT = "/api/projects/default/scripts/daily"


async def publish(door: Door) -> None:
    assert (await door.client.put(SCRIPT, json={"source": "x = 1"})).status_code == 201
    answer = await door.client.put(AT, json={"target": "daily"})
    assert (answer.status_code, answer.json()["url"]) == (200, URL), answer.text


async def nobody(door: Door, path: str, token: str | None = None) -> httpx2.Response:
    """A request of somebody without an account."""
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(base_url=door.client.base_url) as client:
        return await client.get(path, headers={**headers, "x-request-id": "r"})


async def accepted(door: Door) -> dict[str, Any]:
    answer = await door.client.post(URL, headers={"prefer": "respond-async"})
    assert answer.status_code == 202, answer.text
    body: dict[str, Any] = answer.json()
    return body


async def test_endpoints_are_published_listed_and_withdrawn(door: Door) -> None:
    await publish(door)
    (listed,) = (await door.get("/api/projects/default/endpoints"))["items"]
    assert (listed["path"], listed["target"]) == ("reports/daily", "daily")
    assert (await door.client.delete(AT)).status_code == 204
    assert (await door.client.delete(AT)).status_code == 404
    assert (await door.client.post(URL)).status_code == 404
    assert (await door.client.put(AT, json={"target": "nix"})).json()["errors"][0]["pointer"] == "/target"
    assert (await door.client.put(f"{AT}/%20", json={"target": "daily"})).json()["errors"][0]["pointer"] == "/path"


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
async def test_a_request_waits_for_its_output(door: Door, method: str) -> None:
    """Every method; a body's members or the query's parameters are the arguments."""
    await publish(door)
    worker = await door.worker()
    more: dict[str, Any] = {"params": {"a": "1"}} if method in ("GET", "DELETE") else {"json": {"a": "1"}}
    asked = asyncio.ensure_future(door.client.request(method, URL, **more))
    claim = await worker.finish(result={"rows": 3})
    answer = await asked
    assert (answer.status_code, answer.json()) == (200, {"rows": 3})
    assert "preference-applied" not in answer.headers
    assert claim["arguments"] == {"a": "1"}
    seen = await door.get(f"/api/projects/default/async-runs/{answer.headers['ringback-run']}")
    assert [seen[name] for name in ("method", "path", "source", "http_status", "target_ref")] == [
        method,
        "/reports/daily",
        "endpoint",
        200,
        "daily",
    ]


async def test_work_that_failed_is_a_bad_gateway(door: Door) -> None:
    await publish(door)
    worker = await door.worker()
    asked = asyncio.ensure_future(door.client.post(URL))
    await worker.finish(outcome="failed", error={"kind": "tool_error", "message": "broken"})
    answer = await asked
    assert (answer.status_code, answer.json()["code"], answer.json()["detail"]) == (502, "tool_error", "broken")


async def test_who_prefers_not_to_wait_gets_a_token_for_that_run(door: Door) -> None:
    await publish(door)
    answer = await door.client.post(URL, headers={"prefer": "respond-async"})
    body = answer.json()
    assert (answer.status_code, answer.headers["preference-applied"]) == (202, "respond-async")
    assert answer.headers["location"] == f"/async-runs/{body['run_id']}"
    first = await nobody(door, answer.headers["location"], body["token"])
    assert (first.status_code, first.json()["status"], first.headers["cache-control"]) == (200, "queued", "no-store")
    await (await door.worker()).finish(result=[1])
    last = (await nobody(door, f"{answer.headers['location']}?token={body['token']}")).json()
    assert (last["status"], last["output"], last["http_status"]) == ("succeeded", [1], 200)


async def test_a_wait_that_is_long_enough_is_answered_inline(door: Door) -> None:
    await publish(door)
    worker = await door.worker()
    asked = asyncio.ensure_future(door.client.post(URL, headers={"prefer": "respond-async, wait=30"}))
    await worker.finish(result="soon")
    answer = await asked
    assert (answer.status_code, answer.json(), answer.headers["preference-applied"]) == (200, "soon", "wait=30")
    late = await door.client.post(URL, headers={"prefer": "respond-async, wait=0"})
    assert (late.status_code, late.headers["preference-applied"]) == (202, "respond-async, wait=0")


async def test_a_key_stands_for_one_request(door: Door) -> None:
    await publish(door)
    headers = {"prefer": "respond-async", "idempotency-key": "k"}
    first, again = [await door.client.post(URL, headers=headers, json={"a": 1}) for _ in range(2)]
    assert first.json()["run_id"] == again.json()["run_id"]
    assert again.headers["idempotency-replayed"] == "true"


async def test_whatever_is_wrong_with_a_token_the_answer_is_the_same(door: Door) -> None:
    """Another run's, an unknown, an expired, a revoked one; and a run that does not exist."""
    await publish(door)
    mine, other = await accepted(door), await accepted(door)
    issued = [
        (await door.client.post(f"/v1/runs/{mine['run_id']}/capability-tokens", json={"expiresInS": 9})).json()
        for _ in range(2)
    ]
    revoked, expired = issued
    at = f"/v1/runs/{mine['run_id']}/capability-tokens"
    assert (await nobody(door, revoked["url"], revoked["token"])).status_code == 200
    assert (await door.client.delete(f"{at}/{revoked['tokenId']}")).status_code == 204
    with sqlite3.connect(door.path) as ledger:
        ledger.execute("UPDATE capability_tokens SET expires_at = 1 WHERE token_id = ?", [expired["tokenId"]])
    ledger.close()
    unknown = "01890000-0000-7000-8000-000000000000"
    asked = [(mine["run_id"], each) for each in (other["token"], "rbc_" + "x" * 43, "\xff", "x" * 9_000)]
    asked += [(mine["run_id"], each["token"]) for each in issued] + [(unknown, mine["token"])]
    texts = set()
    for name, token in asked:
        answer = await nobody(door, f"/async-runs/{name}?token={token}")
        assert answer.status_code == 404
        texts.add(answer.text.replace(name, "ID"))
    assert len(texts) == 1
    assert (await nobody(door, f"/async-runs/{mine['run_id']}")).status_code == 401
    found = (await door.get(at))["items"]
    assert [each["tokenId"] for each in found if "revokedAt" in each] == [revoked["tokenId"]]
    assert not any("token" in each for each in found)


async def test_a_token_opens_nothing_else_and_stands_nowhere(door: Door) -> None:
    """It is no bearer for other routes, and the ledger and the audit log do not hold it."""
    await publish(door)
    run = await accepted(door)
    for path in (f"/v1/runs/{run['run_id']}", f"/jobs/{run['run_id']}/result", "/jobs"):
        assert (await nobody(door, path, run["token"])).status_code == 401
    with sqlite3.connect(door.path) as ledger:
        assert run["token"] not in "\n".join(ledger.iterdump())
    ledger.close()
