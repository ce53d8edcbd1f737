"""Whether the process lives and whether it can do its work."""

from __future__ import annotations

from http import HTTPStatus

from ringback.api.call import Call
from ringback.api.catalogue_shapes import Health
from ringback.api.meters import MEDIA_TYPE
from ringback.api.reply import JSON, Reply, reply_json
from ringback.api.routes import Endpoint


async def healthz(call: Call) -> Reply:
    """The process answers."""
    return reply_json({"status": "ok"})


async def readyz(call: Call) -> Reply:
    """The store answers; how many workers are attached."""
    sessions = await call.core.store.reads.sessions()
    is_open = call.core.starting.accepts
    status = HTTPStatus.OK if is_open else HTTPStatus.SERVICE_UNAVAILABLE
    return reply_json({"status": "ready" if is_open else "closing", "workers": len(sessions)}, status)


async def metrics(call: Call) -> Reply:
    """Metrics of this process, for Prometheus."""
    return Reply(HTTPStatus.OK, await call.meters.exposition(), media_type=MEDIA_TYPE)


async def description(call: Call) -> Reply:
    """The OpenAPI document of this door."""
    return Reply(HTTPStatus.OK, call.description, media_type=JSON)


ENDPOINTS = [
    Endpoint(
        method="GET",
        path="/metrics",
        scope="runs:read",
        has_project=False,
        is_platform=True,
        handler=metrics,
        summary="Metrics for Prometheus",
        gives={200: MEDIA_TYPE},
    ),
    Endpoint(
        method="GET", path="/openapi.json", scope=None, handler=description, summary="This document", gives={200: JSON}
    ),
    Endpoint(
        method="GET",
        path="/healthz",
        scope=None,
        handler=healthz,
        summary="Whether the process answers",
        gives={200: Health},
    ),
    Endpoint(
        method="GET",
        path="/readyz",
        scope=None,
        handler=readyz,
        summary="Whether the server can do its work",
        gives={200: Health, 503: Health},
    ),
]
