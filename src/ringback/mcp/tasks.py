"""The Tasks extension (`io.modelcontextprotocol/tasks`, 2026-07-28): a job is a task, with the same id. Only its owner sees it.

A task is `failed` when the machinery failed, and `completed` with `isError` when the work failed. Results are dictionaries:
the SDK leaves out every null, and `ttlMs: null` must stay.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from ringback.client.errors import ConflictError, InvalidInputError, NotFoundError, RefusedError, RingbackError
from ringback.mcp import elicitation, jobs
from ringback.mcp.answers import finished
from ringback.mcp.caller import Caller, segment
from ringback.mcp.clients import Context, check_name, require_tasks, takes_questions
from ringback.mcp.offers import offer_of

MACHINERY = frozenset(("internal", "lost", "invalid_params"))
POLL_LEAST_MS, POLL_MOST_MS = 1_000, 15_000
UNKNOWN = "no such task"


class TaskParams(types.RequestParams):
    """`tasks/get` and `tasks/cancel`."""

    task_id: str


class UpdateParams(TaskParams):
    """`tasks/update`."""

    input_responses: dict[str, Any]


async def created(caller: Caller, job_id: str) -> dict[str, Any]:
    """The answer to a call that became a task: flat, and without a result."""
    job = await jobs.look(caller, job_id)
    return {"resultType": "task", **_common(job, "working")}


async def get(caller: Caller, ctx: Context, params: TaskParams) -> dict[str, Any]:
    """`tasks/get`."""
    require_tasks(ctx)
    check_name(ctx, params.task_id)
    return {"resultType": "complete", **await detail(caller, params.task_id, asks=takes_questions(ctx))}


async def update(caller: Caller, ctx: Context, params: UpdateParams) -> dict[str, Any]:
    """`tasks/update`: answers to open questions. Keys that are unknown or answered already are ignored."""
    require_tasks(ctx)
    check_name(ctx, params.task_id)
    job = await _own(caller, params.task_id)
    if jobs.is_asking(job) or params.input_responses:
        for interaction in await jobs.questions(caller, job["job_id"]):
            key = interaction["interactionId"]
            if key in params.input_responses:
                await _answer(caller, interaction, params.input_responses[key])
    return {"resultType": "complete"}


async def _answer(caller: Caller, interaction: dict[str, Any], answer: Any) -> None:
    body = elicitation.response_of(interaction, answer if isinstance(answer, dict) else {})
    if body is None:
        return
    try:
        await caller.post(f"/v1/interactions/{segment(interaction['interactionId'])}/respond", body)
    except ConflictError:  # somebody else was faster
        return
    except InvalidInputError as error:
        raise MCPError(types.INVALID_PARAMS, str(error)) from None


async def cancel(caller: Caller, ctx: Context, params: TaskParams) -> dict[str, Any]:
    """`tasks/cancel`: asks; the end is reported by the task itself."""
    require_tasks(ctx)
    check_name(ctx, params.task_id)
    job = await _own(caller, params.task_id)
    if job["status"] not in jobs.ENDED:
        await caller.delete(f"/jobs/{segment(job['job_id'])}", reason="tasks/cancel")
    return {"resultType": "complete"}


async def detail(caller: Caller, task_id: str, *, asks: bool) -> dict[str, Any]:
    """The task as it stands. `asks`: the client can put questions to its user.

    Raises:
        MCPError: -32602, unknown, expired or somebody else's.
    """
    job = await _own(caller, task_id)
    if job["status"] == "cancelled":
        return _common(job, "cancelled")
    if job["status"] not in jobs.ENDED:
        found = await jobs.questions(caller, job["job_id"]) if asks and jobs.is_asking(job) else []
        if not found:
            return _common(job, "working")
        requests = {each["interactionId"]: elicitation.request_of(each) for each in found}
        return {**_common(job, "input_required"), "inputRequests": requests}
    if job.get("error_kind") in MACHINERY:
        error = {"code": types.INTERNAL_ERROR, "message": str(job.get("error_message") or job["error_kind"])}
        return {**_common(job, "failed"), "error": error}
    offer = await offer_of(caller, job["tool"])
    told = finished(await jobs.ended(caller, job), is_foreign=offer is not None and offer.is_foreign)
    return {**_common(job, "completed"), "result": told.model_dump(mode="json", by_alias=True, exclude_none=True)}


async def _own(caller: Caller, task_id: str) -> jobs.Job:
    try:
        job = await jobs.look(caller, task_id, mine=True)
    except NotFoundError:
        raise MCPError(types.INVALID_PARAMS, UNKNOWN) from None
    if job["job_id"] != task_id:  # another spelling of a run is no task
        raise MCPError(types.INVALID_PARAMS, UNKNOWN)
    return job


def _common(job: jobs.Job, status: str) -> dict[str, Any]:
    """What every form of a task has. Times are those of the ledger; `ttlMs` is known once the job has ended."""
    moments = [job[name] for name in ("finished_at", "started_at", "created_at") if name in job]
    body: dict[str, Any] = {
        "taskId": job["job_id"],
        "status": status,
        "createdAt": job["created_at"],
        "lastUpdatedAt": moments[0],
        "ttlMs": _ttl_ms(job),
        "pollIntervalMs": _poll_interval_ms(job),
    }
    if message := _message(job):
        body["statusMessage"] = message
    return body


def _ttl_ms(job: jobs.Job) -> int | None:
    if "expires_at" not in job:
        return None
    return round((_moment(job["expires_at"]) - _moment(job["created_at"])).total_seconds() * 1000)


def _poll_interval_ms(job: jobs.Job) -> int:
    """A tenth of the age, so that a long job costs few looks and a short one is seen soon."""
    age_s = (datetime.now(UTC) - _moment(job["created_at"])).total_seconds()
    return min(max(round(age_s * 100), POLL_LEAST_MS), POLL_MOST_MS)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _message(job: jobs.Job) -> str | None:
    if job["status"] in jobs.ENDED:
        return job.get("summary") or job.get("error_message")
    progress = job.get("progress") or {}
    if progress.get("message"):
        return str(progress["message"])
    if "done" in progress:
        return f"{progress['done']} of {progress['total']}" if "total" in progress else str(progress["done"])
    waiting = job.get("waiting_for") or {}
    return f"waiting for: {waiting.get('reason') or waiting['kind']}" if waiting else None


def protocol_error(error: RingbackError) -> MCPError:
    """An API error where only an error of the protocol can be given."""
    data = {"code": error.code, "retryable": error.retryable}
    if isinstance(error, RefusedError):
        data["httpStatus"] = error.status
    return MCPError(types.INTERNAL_ERROR, str(error), data)
