"""The async-run door (R1): any member of a project reads a detached run, once, by its id."""

from __future__ import annotations

from ringback.api.call import Call
from ringback.api.reply import Reply, reply_json
from ringback.api.routes import Endpoint
from ringback.api.shapes import AsyncRun
from ringback.core import Core
from ringback.domain.runs import Run
from ringback.views.async_runs import async_run


async def seen(core: Core, run: Run) -> dict[str, object]:
    """The body of a run on this surface."""
    value = await core.results.value(run) if run.is_terminal else None
    return async_run(await core.runs.describe(run), value)


async def show(call: Call) -> Reply:
    """One look, whatever became of the run. It never waits."""
    run = await call.core.runs.get(call.project.project_id, call.path["run_id"])
    return reply_json(await seen(call.core, run))


ENDPOINTS = [
    Endpoint(
        method="GET",
        path="/api/projects/{slug}/async-runs/{run_id}",
        scope="runs:read",
        project_in_path="slug",
        handler=show,
        summary="Read a detached run once",
        gives={200: AsyncRun},
    ),
]
