"""The operator's door: which workers are attached, which pools are paused."""

from __future__ import annotations

from ringback.api.call import Call
from ringback.api.catalogue_shapes import Queue, QueueList, WorkerSessionList
from ringback.api.reply import Reply, reply_json
from ringback.api.routes import Endpoint
from ringback.views.tools import queue, worker


async def workers(call: Call) -> Reply:
    """Attached workers, newest first, with how much of this project each holds; they work for every project."""
    project_id, found = call.project.project_id, await call.core.connections.list()
    counts = [sum(run.project_id == project_id for run in each.runs) for each in found]
    shown = [worker(each.session, each.capabilities, count) for each, count in zip(found, counts, strict=True)]
    return reply_json({"items": shown})


async def queues(call: Call) -> Reply:
    """Pools in which something waits or runs, and paused ones."""
    project_id = call.project.project_id
    paused = {row["pool"]: row for row in await call.core.queues.list(project_id)}
    counts = await call.core.queues.counts(project_id)
    pools = sorted(paused.keys() | counts.keys())
    return reply_json({"items": [queue(pool, paused.get(pool), *counts.get(pool, (0, 0))) for pool in pools]})


async def pause(call: Call) -> Reply:
    """Hand out nothing more of a pool; what runs goes on."""
    await call.core.queues.pause(call.project.project_id, call.path["pool"], by=call.principal.owner)
    return await _queue(call)


async def resume(call: Call) -> Reply:
    """Hand out work of a pool again."""
    await call.core.queues.resume(call.project.project_id, call.path["pool"], by=call.principal.owner)
    return await _queue(call)


async def _queue(call: Call) -> Reply:
    pool = call.path["pool"]
    paused = {row["pool"]: row for row in await call.core.queues.list(call.project.project_id)}
    counts = await call.core.queues.counts(call.project.project_id)
    return reply_json(queue(pool, paused.get(pool), *counts.get(pool, (0, 0))))


ENDPOINTS = [
    Endpoint(
        method="GET",
        path="/v1/workers",
        scope="runs:read",
        handler=workers,
        summary="List attached workers",
        gives={200: WorkerSessionList},
    ),
    Endpoint(
        method="GET", path="/v1/queues", scope="runs:read", handler=queues, summary="List pools", gives={200: QueueList}
    ),
    Endpoint(
        method="POST",
        path="/v1/queues/{pool}/pause",
        scope="resources:write",
        handler=pause,
        summary="Pause a pool",
        gives={200: Queue},
    ),
    Endpoint(
        method="POST",
        path="/v1/queues/{pool}/resume",
        scope="resources:write",
        handler=resume,
        summary="Resume a pool",
        gives={200: Queue},
    ),
]
