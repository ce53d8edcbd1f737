"""What operators see and do: tools, queues, metrics."""

from __future__ import annotations

from tests.api.door import Door

COMMAND = {"name": "list", "runtime": "command", "profile": {"command": ["ls"], "env": {"A": "1"}}}


async def test_definitions_are_applied_whole_or_not_at_all(door: Door) -> None:
    changed = {**COMMAND, "profile": {"command": ["ls", "-l"], "pool": "p"}, "description": "d"}

    async def put(*definitions: object, dry_run: bool = False) -> list[dict[str, object]]:
        answer = await door.client.put("/v1/tools", json={"definitions": definitions, "dryRun": dry_run})
        assert answer.status_code == 200, answer.text
        changes: list[dict[str, object]] = answer.json()["changes"]
        return changes

    (dry,) = await put(COMMAND, dry_run=True)
    assert (dry["change"], (await door.client.get("/v1/tools/list")).status_code) == ("added", 404)
    (added,) = await put(COMMAND)
    assert added == dry
    assert [change["change"] for change in await put(COMMAND)] == ["unchanged"]
    (edited,) = await put(changed)
    assert edited["previousRevisionId"] == added["revisionId"]
    assert edited["diff"] == {
        "/description": {"to": "d"},
        "/profile/command": {"from": ["ls"], "to": ["ls", "-l"]},
        "/profile/env": {"from": {"A": "***"}},
        "/profile/pool": {"to": "p"},
    }
    wrong = {"definitions": [{**COMMAND, "description": "e"}, {"name": "Bad Name"}]}
    answer = await door.client.put("/v1/tools", json=wrong)
    assert answer.status_code == 422
    assert "/definitions/1/name" in [flaw["pointer"] for flaw in answer.json()["errors"]]
    assert (await door.get("/v1/tools/list"))["description"] == "d"
    assert [tool["name"] for tool in (await door.get("/v1/tools"))["items"]] == ["echo", "list"]


async def test_a_paused_pool_hands_out_nothing(door: Door) -> None:
    paused = await door.client.post("/v1/queues/default/pause")
    assert (paused.json()["paused"], paused.json()["pausedBy"]) == (True, "tester")
    run_id, worker = await door.start(), await door.worker()
    assert await worker.claim(wait_ms=0) == []
    assert (await door.run(run_id))["waitingFor"] == {"kind": "paused", "pool": "default"}
    (queue,) = (await door.get("/v1/queues"))["items"]
    assert (queue["pool"], queue["paused"], queue["waiting"], queue["held"]) == ("default", True, 1, 0)
    resumed = await door.client.post("/v1/queues/default/resume")
    assert resumed.json() == {"pool": "default", "paused": False, "waiting": 1, "held": 0}
    await worker.begin()
    assert (await door.get("/v1/queues"))["items"] == [{"pool": "default", "paused": False, "waiting": 0, "held": 1}]
    bad = await door.client.post("/v1/queues/%00/pause")
    assert bad.status_code == 422


async def test_metrics(door: Door) -> None:
    worker = await door.worker(slots=3)
    for _ in range(2):
        await door.start()
    await worker.finish()
    await door.client.get("/nix")
    lines = (await door.client.get("/metrics")).text.splitlines()
    wanted = (
        'ringback_runs{status="queued"} 1.0',
        "ringback_runs_started_total 2.0",
        'ringback_runs_ended_total{status="succeeded"} 1.0',
        "ringback_worker_sessions 1.0",
        "ringback_worker_slots 3.0",
        "ringback_attempts 0.0",
        "ringback_open_streams 0.0",
        'ringback_http_request_seconds_count{method="POST",route="/v1/runs",status="202"} 2.0',
        'ringback_http_request_seconds_count{method="-",route="-",status="404"} 1.0',
    )
    assert [line for line in wanted if line not in lines] == []
