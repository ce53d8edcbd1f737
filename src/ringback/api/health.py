"""Whether the process lives and whether it can do its work."""

from __future__ import annotations

from http import HTTPStatus

from ringback.api.call import Call
from ringback.api.reply import Reply, reply_json
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


ENDPOINTS = [
    Endpoint(method="GET", path="/healthz", scope=None, handler=healthz, summary="Whether the process answers"),
    Endpoint(method="GET", path="/readyz", scope=None, handler=readyz, summary="Whether the server can do its work"),
]
