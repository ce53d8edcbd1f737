"""The inbox over HTTP."""

from __future__ import annotations

from tests.api.door import OTHER_TOKEN, Door


async def start(door: Door, source: str = "mcp") -> str:
    answer = await door.client.post("/jobs", json={"tool": "echo"}, headers={"ringback-source": source})
    assert answer.status_code == 202
    return str(answer.json()["job_id"])


async def jobs(door: Door, query: str = "") -> list[str]:
    return [item["jobId"] for item in (await door.get(f"/v1/inbox{query}"))["items"]]


async def test_a_notice_is_offered_until_it_is_acknowledged(door: Door) -> None:
    job_id, worker = await start(door), await door.worker()
    await start(door, source="somebody")
    for _ in range(2):
        await worker.finish(b"x\n", summary="412 passed")
    (item,) = (await door.get("/v1/inbox"))["items"]
    assert (item["jobId"], item["status"], item["summary"]) == (job_id, "done", "412 passed")
    assert item["text"].splitlines()[1:] == ["summary: 412 passed", f"details: get_job_result({job_id})"]
    assert await jobs(door) == [job_id]

    foreign = {"authorization": f"Bearer {OTHER_TOKEN}", "ringback-project": "other"}
    assert (await door.client.get("/v1/inbox", headers=foreign)).json() == {"items": []}
    said = {"items": [item["itemId"]]}
    assert (await door.client.post("/v1/inbox/ack", json=said, headers=foreign)).status_code == 204
    assert await jobs(door) == [job_id]

    for _ in range(2):
        assert (await door.client.post("/v1/inbox/ack", json=said)).status_code == 204
    assert await jobs(door) == []


async def test_who_fetched_the_result_is_not_told(door: Door) -> None:
    worker, (by_job, by_run, known, untold) = await door.worker(), [await start(door) for _ in range(4)]
    assert (await door.client.get(f"/jobs/{by_job}/result?partial=1")).status_code == 200
    for _ in range(4):
        await worker.finish()
    await door.get(f"/jobs/{by_job}/result")
    await door.get(f"/v1/runs/{by_run}/result")
    assert (await door.client.post("/v1/inbox/ack", json={"runs": [known]})).status_code == 204
    await door.get(f"/jobs/{untold}")
    assert await jobs(door) == [untold]


async def test_pages_and_mistakes(door: Door) -> None:
    worker, started = await door.worker(), [await start(door) for _ in range(3)]
    for _ in started:
        await worker.finish()
    first = await door.get("/v1/inbox?limit=2")
    rest = await door.get(f"/v1/inbox?limit=2&cursor={first['nextCursor']}")
    assert [item["jobId"] for page in (first, rest) for item in page["items"]] == started
    assert await jobs(door, "?threadId=t") == []
    for path, body in (
        ("?limit=0", None),
        ("?cursor=x", None),
        ("/ack", {"ids": []}),
        ("/ack", {"items": ["x"] * 201}),
    ):
        method = "GET" if body is None else "POST"
        answer = await door.client.request(method, f"/v1/inbox{path}", json=body)
        assert answer.status_code in (400, 422), answer.text
