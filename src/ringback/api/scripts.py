"""The script door: keep scripts by name, and try them out."""

from __future__ import annotations

from http import HTTPStatus

from ringback.api.async_runs import seen
from ringback.api.call import Call, wait_of
from ringback.api.reply import Reply, reply_json
from ringback.api.routes import Endpoint
from ringback.api.script_shapes import (
    DetachedRun,
    Script as ScriptShape,
    ScriptList,
    ScriptRequest,
    ScriptRevisionList,
    TestRunRequest,
)
from ringback.api.shapes import AsyncRun
from ringback.domain.errors import Flaw, InvalidInputError
from ringback.domain.idempotency import unquote
from ringback.domain.runs import Run
from ringback.services.scripts import Script
from ringback.views.scripts import revision, script, script_in_full

WAIT_S = 30
_MEMBERS = {
    "profile/source": "source",
    "profile/pool": "pool",
    "profile/limits/memoryBytes": "memory_bytes",
    "profile/limits/cpuSeconds": "cpu_seconds",
    "policy/timeouts/attemptS": "timeout_seconds",
    "inputSchema": "input_schema",
}


async def listed(call: Call) -> Reply:
    """Scripts of the project by name."""
    return reply_json({"items": [script(each) for each in await call.core.scripts.list(call.project.project_id)]})


async def show(call: Call) -> Reply:
    """One script with its source."""
    return reply_json(script_in_full(await call.core.scripts.get(call.project.project_id, call.path["name"])))


async def put(call: Call) -> Reply:
    """Make this the script's current revision: 201 when it is new, 200 when it changed or was so already."""
    asked = await call.read(ScriptRequest)
    kept = Script(
        name=call.path["name"],
        source=asked.source,
        description=asked.description,
        input_schema=asked.input_schema,
        timeout_s=asked.timeout_seconds,
        memory_bytes=asked.memory_bytes,
        cpu_s=asked.cpu_seconds,
        pool=asked.pool,
    )
    scripts, project_id = call.core.scripts, call.project.project_id
    try:
        change = await scripts.put(project_id, kept, actor=call.principal.owner)
    except InvalidInputError as error:
        raise InvalidInputError(*(Flaw(_pointer(flaw.pointer), flaw.detail) for flaw in error.flaws)) from None
    body = script_in_full(await scripts.get(project_id, kept.name))
    return reply_json(body, HTTPStatus.CREATED if change.change == "added" else HTTPStatus.OK)


def _pointer(pointer: str) -> str:
    """Where the flaw of a definition stands in the request."""
    bare = pointer.removeprefix("/definitions/0").removeprefix("/")
    return "/" + next((own + bare[len(name) :] for name, own in _MEMBERS.items() if bare.startswith(name)), bare)


async def delete(call: Call) -> Reply:
    """Take the script back. Its runs stay and go on."""
    await call.core.scripts.delete(call.project.project_id, call.path["name"], actor=call.principal.owner)
    return Reply(HTTPStatus.NO_CONTENT)


async def revisions(call: Call) -> Reply:
    """Revisions, newest first."""
    scripts, name = call.core.scripts, call.path["name"]
    current = (await scripts.get(call.project.project_id, name)).revision_id
    return reply_json(
        {"items": [revision(row, current) for row in await scripts.revisions(call.project.project_id, name)]}
    )


async def test_run(call: Call) -> Reply:
    """Run the script. Waits for the end, 30 s at most; then, and at once if `detached`, 202 with the run's id."""
    asked = await call.read(TestRunRequest)
    header = call.header("idempotency-key")
    started = await call.core.scripts.test(
        call.project.project_id,
        call.principal.owner,
        call.path["name"],
        asked.args or {},
        request_id=call.request_id,
        idempotency_key=None if header is None else unquote(header),
    )
    run, prefer = started.run, wait_of(call.header("prefer"))
    if not asked.detached:
        run = await call.core.runs.get(call.project.project_id, run.run_id)
        run = await call.core.runs.wait(run, within_s=WAIT_S if prefer is None else prefer)
        if run.is_terminal:
            return reply_json(await seen(call.core, run))
    return await _detached(call, run, is_replay=started.is_replay)


async def _detached(call: Call, run: Run, *, is_replay: bool) -> Reply:
    facts = (await call.core.store.reads.facts([run.run_id]))[run.run_id]
    headers = {"location": f"/api/projects/{call.project.slug}/async-runs/{run.run_id}", "retry-after": "1"}
    if is_replay:
        headers["idempotency-replayed"] = "true"
    body = {"run_id": run.run_id, "request_id": facts.request_id, "status": "queued"}
    return reply_json(body, HTTPStatus.ACCEPTED, headers)


_ALL = "/api/projects/{slug}/scripts"
_ONE = f"{_ALL}/{{name}}"
ENDPOINTS = [
    Endpoint(
        method="GET",
        path=_ALL,
        scope="runs:read",
        project_in_path="slug",
        handler=listed,
        summary="List scripts",
        gives={200: ScriptList},
    ),
    Endpoint(
        method="GET",
        path=_ONE,
        scope="runs:read",
        project_in_path="slug",
        handler=show,
        summary="Look at a script",
        gives={200: ScriptShape},
    ),
    Endpoint(
        method="PUT",
        path=_ONE,
        scope="resources:write",
        project_in_path="slug",
        handler=put,
        summary="Keep a script",
        takes=ScriptRequest,
        gives={200: ScriptShape, 201: ScriptShape},
    ),
    Endpoint(
        method="DELETE",
        path=_ONE,
        scope="resources:write",
        project_in_path="slug",
        handler=delete,
        summary="Take a script back",
        gives={204: None},
    ),
    Endpoint(
        method="GET",
        path=f"{_ONE}/revisions",
        scope="runs:read",
        project_in_path="slug",
        handler=revisions,
        summary="List a script's revisions",
        gives={200: ScriptRevisionList},
    ),
    Endpoint(
        method="POST",
        path=f"{_ONE}/test-run",
        scope="runs:write",
        project_in_path="slug",
        handler=test_run,
        summary="Try a script out",
        takes=TestRunRequest,
        gives={200: AsyncRun, 202: DetachedRun},
        headers={
            "Idempotency-Key": "1 to 255 visible characters: the same key and body give the same run again.",
            "Prefer": "`wait=N` waits up to N seconds (30 at most) for the end.",
        },
    ),
]
