"""`tools/call`: finds the tool, checks what it was given, and answers with a value, a handle, a task or an error.

Whatever the client does meanwhile, what was started goes on: a call holds no work, only a look at it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import Any

import jsonschema_rs
import mcp_types as types
from mcp.shared.exceptions import MCPError

from ringback.client.errors import RingbackError
from ringback.mcp import jobs, tasks
from ringback.mcp.answers import failed, finished, plain, project_required, structured
from ringback.mcp.builtin import builtin_tools
from ringback.mcp.caller import Caller, segment
from ringback.mcp.clients import Context, takes_tasks
from ringback.mcp.offers import Offer, offer_named, own_tools

INLINE_S = 20
Arguments = Mapping[str, Any]
Result = types.CallToolResult | dict[str, Any]


async def call(caller: Caller, ctx: Context, params: types.CallToolRequestParams) -> Result:
    """Carry out one call.

    Raises:
        MCPError: the tool is unknown, or the arguments of one of Ringback's own tools have the wrong shape.
    """
    # An explicit null is the same as nothing (R1).
    given = {name: value for name, value in (params.arguments or {}).items() if value is not None}
    try:
        if (own := _OWN.get(params.name)) is not None and params.name in own_tools(caller):
            _check(params.name, given)
            return await own(caller, given)
        offer = await offer_named(caller, params.name)
        if offer is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
        return await _start(caller, ctx, offer, params.arguments or {})
    except RingbackError as error:
        return failed(error)


async def _start(caller: Caller, ctx: Context, offer: Offer, arguments: Arguments) -> Result:
    accepted = await jobs.start(caller, offer, arguments)
    if not offer.waits:
        return structured(accepted)
    if takes_tasks(ctx) and not offer.is_inline:
        return await tasks.created(caller, accepted["job_id"])
    job = await jobs.wait(caller, accepted["job_id"], within_s=INLINE_S, seen=_progress(ctx))
    if job["status"] in jobs.ENDED:
        return finished(await jobs.ended(caller, job), is_foreign=offer.is_foreign)
    if takes_tasks(ctx):
        return await tasks.created(caller, accepted["job_id"])
    note = "still under way: go on with something else, its end will be reported; or ask later with get_job_status"
    return structured({**_brief(job), "note": note})


def _progress(ctx: Context) -> jobs.Seen | None:
    """Tells a client that gave a token how far the job is. The value grows with every look, as the protocol wants it."""
    if (ctx.meta or {}).get("progress_token") is None:
        return None
    looks = 0

    async def tell(job: jobs.Job) -> None:
        nonlocal looks
        looks += 1
        told = job.get("progress") or {}
        await ctx.session.report_progress(looks, INLINE_S, told.get("message") or job["status"])

    return tell


def _brief(job: jobs.Job) -> jobs.Job:
    names = ("job_id", "status", "tool", "progress", "summary", "waiting_for")
    return {name: job[name] for name in names if name in job}


@cache
def _validator(name: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(builtin_tools()[name].input_schema)


def _check(name: str, arguments: Arguments) -> None:
    flaws = [
        f"{error.instance_path or ''} {error.message}".strip() for error in _validator(name).iter_errors(arguments)
    ]
    if flaws:
        raise MCPError(types.INVALID_PARAMS, f"arguments of {name}: {'; '.join(flaws)[:1000]}")


# --- Ringback's own tools


async def _get_job_status(caller: Caller, given: Arguments) -> Result:
    job = await jobs.look(caller, given["job_id"])
    if jobs.is_asking(job):
        job["interactions"] = await jobs.questions(caller, job["job_id"])
    return structured(job)


async def _get_job_result(caller: Caller, given: Arguments) -> Result:
    job = await jobs.look(caller, given["job_id"])
    if job["status"] not in jobs.ENDED:
        note = "not finished: nothing to fetch yet; its end will be reported, or use wait_for_jobs"
        return structured({**_brief(job), "note": note}, is_error=True)
    page = await jobs.result(caller, job["job_id"], cursor=given.get("cursor"), max_bytes=given.get("max_bytes"))
    told = ("error_kind", "error_message", "end_reason")
    return structured({**{name: job[name] for name in told if name in job}, **page})


async def _stop_job(caller: Caller, given: Arguments) -> Result:
    return structured(await caller.delete(f"/jobs/{segment(given['job_id'])}", reason=given.get("reason")))


async def _list_jobs(caller: Caller, given: Arguments) -> Result:
    return structured(await caller.get("/jobs", **{"limit": 20, **given}))


async def _wait_for_jobs(caller: Caller, given: Arguments) -> Result:
    wait_s = given.get("timeout_s", INLINE_S)
    found = await asyncio.gather(*(jobs.look(caller, each, wait_s=wait_s) for each in given["job_ids"]))
    return structured(
        {"jobs": [_brief(job) for job in found], "all_ended": all(j["status"] in jobs.ENDED for j in found)}
    )


async def _answer_interaction(caller: Caller, given: Arguments) -> Result:
    renamed = {"decision": "decision", "selected_option_id": "selectedOptionId", "payload": "payload"}
    body = {renamed[name]: value for name, value in given.items() if name in renamed}
    return structured(await caller.post(f"/v1/interactions/{segment(given['interaction_id'])}/respond", body))


async def _list_projects(caller: Caller, _: Arguments) -> Result:
    found = await caller.get("/v1/projects")
    return plain({"projects": [{"slug": each["slug"], "name": each["name"]} for each in found["items"]]})


async def _read_async_run(caller: Caller, given: Arguments) -> Result:
    slug = await _slug(caller, given)
    if slug is None:
        return project_required()
    return plain(await caller.get(f"/api/projects/{segment(slug)}/async-runs/{segment(given['run_id'])}"))


async def _test_run_script(caller: Caller, given: Arguments) -> Result:
    slug = await _slug(caller, given)
    if slug is None:
        return project_required()
    body = {name: given[name] for name in ("args", "detached") if name in given}
    return plain(await caller.post(f"/api/projects/{segment(slug)}/scripts/{segment(given['name'])}/test-run", body))


async def _slug(caller: Caller, given: Arguments) -> str | None:
    """The project that is named, else the connection's, else the only one."""
    if slug := given.get("project") or caller.link.project:
        return str(slug)
    found = (await caller.get("/v1/projects"))["items"]
    return str(found[0]["slug"]) if len(found) == 1 else None


_OWN: Mapping[str, Callable[[Caller, Arguments], Awaitable[Result]]] = {
    "get_job_status": _get_job_status,
    "get_job_result": _get_job_result,
    "stop_job": _stop_job,
    "list_jobs": _list_jobs,
    "wait_for_jobs": _wait_for_jobs,
    "answer_interaction": _answer_interaction,
    "list_projects": _list_projects,
    "read_async_run": _read_async_run,
    "test_run_script": _test_run_script,
}
