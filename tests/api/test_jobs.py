"""The job door, word by word: one short answer to every start, and job words everywhere."""

from __future__ import annotations

import asyncio

from tests.api.door import Door


async def test_every_start_gets_the_same_short_answer(door: Door) -> None:
    for body in ({"tool": "echo", "n": 1}, {"type": "echo"}, {"tool": "echo", "arguments": {"tool": "x", "tags": 1}}):
        answer = await door.client.post("/jobs", json=body)
        job_id = answer.json()["job_id"]
        assert answer.status_code == 202
        assert answer.content == b'{"job_id":"%b","status":"queued"}' % job_id.encode()
        assert answer.headers["location"] == f"/jobs/{job_id}"
        assert answer.headers["retry-after"] == "1"
    arguments = (await door.run(job_id))["input"]["arguments"]
    assert arguments == {"tool": "x", "tags": 1}


async def test_reserved_members_are_no_arguments(door: Door) -> None:
    body = {"tool": "echo", "n": 1, "tags": ["t"], "thread_id": "th", "priority": 4, "timeout_seconds": 2.5}
    job_id = (await door.client.post("/jobs", json=body)).json()["job_id"]
    run = await door.run(job_id)
    assert run["input"]["arguments"] == {"n": 1}
    assert run["runPolicySnapshot"] == {"priority": 4, "timeouts": {"attemptS": 2.5}}
    job = await door.get(f"/jobs/{job_id}")
    assert (job["tags"], job["thread_id"], job["queue_position"]) == (["t"], "th", 1)
    assert job["waiting_for"] == {"kind": "no_worker", "offer": "default/function:echo"}


async def test_a_job_goes_through_its_words(door: Door) -> None:
    job_id = await door.start()
    worker = await door.worker()
    words = [(await door.get(f"/jobs/{job_id}"))["status"]]
    (claim,) = await worker.claim(1)
    words.append((await door.get(f"/jobs/{job_id}"))["status"])
    await worker.report(claim, {"kind": "start"})
    words.append((await door.get(f"/jobs/{job_id}"))["status"])
    await worker.write(claim, b"3 passed\n")
    await worker.settle(claim, result={"ok": True}, exitCode=0, summary="3 passed")
    job = await door.get(f"/jobs/{job_id}")
    assert [*words, job["status"]] == ["queued", "queued", "running", "done"]
    assert (job["summary"], job["attempts"]) == ("3 passed", 1)
    assert job["created_at"] <= job["started_at"] <= job["finished_at"]
    page = await door.get(f"/jobs/{job_id}/result")
    job_id = job["job_id"]
    rest = {"output": "3 passed\n", "result": {"ok": True}, "exit_code": 0, "summary": "3 passed"}
    assert page == {"job_id": job_id, "status": "done", "complete": True, **rest}


async def test_failures_say_what_happened(door: Door) -> None:
    """O22 at this door: failed, timed out and cancelled are distinct and machine-readable."""
    worker = await door.worker()
    failed, timed_out, cancelled = [await door.start() for _ in range(3)]
    await worker.finish(outcome="failed", error={"kind": "tool_error", "message": "boom"}, exitCode=3)
    await worker.finish(outcome="timed_out", limit="attempt", error={"message": "too slow"})
    await door.client.delete(f"/jobs/{cancelled}?reason=enough")
    jobs = [await door.get(f"/jobs/{each}") for each in (failed, timed_out, cancelled)]
    assert [job["status"] for job in jobs] == ["failed", "failed", "cancelled"]
    assert [job.get("error_kind") for job in jobs] == ["tool_error", "timeout", None]
    assert (jobs[0]["error_message"], jobs[1]["time_limit"]) == ("boom", "attempt")
    assert jobs[2]["end_reason"] == "cancelled_before_start"
    page = await door.get(f"/jobs/{failed}/result")
    assert (page["exit_code"], page["error"]) == (3, {"kind": "tool_error", "message": "boom"})


async def test_a_stop_answers_202_while_active_and_200_at_the_end(door: Door) -> None:
    worker, job_id = await door.worker(), await door.start()
    claim = await worker.begin()
    for _ in range(2):
        answer = await door.client.delete(f"/jobs/{job_id}")
        assert (answer.status_code, answer.json()["status"]) == (202, "running")
        assert answer.headers["retry-after"] == "1"
    await worker.settle(claim, "stopped", forced=True)
    for _ in range(2):
        answer = await door.client.delete(f"/jobs/{job_id}")
        assert (answer.status_code, answer.json()["end_reason"]) == (200, "cancel_forced")


async def test_a_wait_and_the_hint_to_ask_later(door: Door) -> None:
    worker, job_id = await door.worker(), await door.start()
    assert (await door.client.get(f"/jobs/{job_id}")).headers["retry-after"] == "1"
    waiting = asyncio.create_task(door.client.get(f"/jobs/{job_id}", headers={"prefer": "wait=20"}))
    await worker.finish()
    async with asyncio.timeout(15):
        answer = await waiting
    assert answer.json()["status"] == "done"
    assert (answer.headers["preference-applied"], answer.headers.get("retry-after")) == ("wait=20", None)


async def test_lists_are_filtered_by_job_words(door: Door) -> None:
    worker = await door.worker()
    ids = [(await door.run(await door.start()))["jobId"] for _ in range(3)]
    await worker.finish()
    await worker.begin()

    async def listed(query: str) -> list[str]:
        return [job["job_id"] for job in (await door.get(f"/jobs?{query}"))["jobs"]]

    assert await listed("") == ids[::-1]
    assert await listed("status=done") == ids[:1]
    assert await listed("status=running") == ids[1:2]
    assert await listed("status=queued,done") == [ids[2], ids[0]]
    assert await listed("status=active") == ids[:0:-1]
    answer = await door.client.get("/jobs?status=succeeded")
    assert answer.status_code == 422
