"""Jobs over the API: start, look, wait, fetch; one place for what the tools and the tasks share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ringback.mcp.caller import Caller, segment
from ringback.mcp.offers import Offer

ENDED = frozenset(("done", "failed", "cancelled"))
RESULT_BYTES = 65_536
Job = dict[str, Any]
Seen = Callable[[Job], Awaitable[None]]


async def start(caller: Caller, offer: Offer, arguments: Mapping[str, Any]) -> Job:
    """Start a job; durable when this returns."""
    own, options = offer.split(arguments)
    key = options.pop("idempotency_key", None)
    accepted: Job = await caller.post("/jobs", {"tool": offer.name, "arguments": own, **options}, key=key)
    return accepted


async def look(caller: Caller, job_id: str, *, wait_s: int = 0, mine: bool = False) -> Job:
    """One look, or a wait for the end of at most `wait_s` seconds. `mine`: nobody else's job is shown."""
    job: Job = await caller.get(f"/jobs/{segment(job_id)}", wait_s=wait_s, mine="true" if mine else None)
    return job


async def wait(caller: Caller, job_id: str, *, within_s: int, seen: Seen | None) -> Job:
    """Until the job has ended, at most `within_s` seconds; `seen` gets it every second meanwhile."""
    slice_s = 1 if seen else within_s
    job = await look(caller, job_id, wait_s=min(slice_s, within_s))
    for _ in range(slice_s, within_s, slice_s):
        if job["status"] in ENDED:
            break
        if seen is not None:
            await seen(job)
        job = await look(caller, job_id, wait_s=slice_s)
    return job


async def result(caller: Caller, job_id: str, *, cursor: str | None = None, max_bytes: int | None = None) -> Job:
    """A page of the result of a job that has ended, whatever became of it."""
    path = f"/jobs/{segment(job_id)}/result"
    page: Job = await caller.get(path, cursor=cursor, max_bytes=max_bytes or RESULT_BYTES, partial="true")
    return page


async def ended(caller: Caller, job: Job) -> Job:
    """The result of an ended job with what its status says: why it failed, how it was stopped."""
    page = await result(caller, job["job_id"])
    told = ("error_kind", "error_message", "end_reason", "time_limit", "summary")
    return {**{name: job[name] for name in told if name in job}, **page}


async def questions(caller: Caller, job_id: str) -> list[dict[str, Any]]:
    """The open interactions of a job, oldest first."""
    body = await caller.get(f"/v1/runs/{segment(job_id)}/interactions", status="open")
    return [each for each in body["items"] if each["status"] == "open"]


def is_asking(job: Mapping[str, Any]) -> bool:
    """Whether the job waits for an answer."""
    return (job.get("waiting_for") or {}).get("kind") == "interaction"
