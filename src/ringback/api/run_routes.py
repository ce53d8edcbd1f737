"""The routes of the run door."""

from __future__ import annotations

from ringback.api import runs
from ringback.api.routes import Endpoint
from ringback.api.run_requests import CancelRequest, RerunRequest, RunRequest
from ringback.api.shapes import AttemptList, Replay, Run, RunGraph, RunLinkList, RunList, RunTree

_AT = "/v1/runs/{run_id}"
_KEY = {"Idempotency-Key": "1 to 255 visible characters: the same key and body give the same run again."}
ENDPOINTS = [
    Endpoint(
        method="POST",
        path="/v1/runs",
        scope="runs:write",
        handler=runs.start,
        summary="Start a run",
        takes=RunRequest,
        gives={202: Run},
        headers=_KEY,
    ),
    Endpoint(
        method="GET",
        path="/v1/runs",
        scope="runs:read",
        handler=runs.listed,
        summary="List runs, newest first",
        gives={200: RunList},
        query={
            "cursor": "Where a page begins, as the page before said.",
            "limit": "1 to 200; 50 if not given.",
            "status": "Statuses, repeated or separated by commas; `active` for all that can change.",
            "tool": "A tool.",
        },
    ),
    Endpoint(
        method="GET",
        path=_AT,
        scope="runs:read",
        handler=runs.show,
        summary="Look at a run",
        gives={200: Run, 304: None},
        headers={
            "Prefer": "`wait=N` waits up to N seconds (30 at most) for the end.",
            "If-None-Match": "The ETag of a version that the caller has.",
        },
    ),
    Endpoint(
        method="POST",
        path=f"{_AT}/cancel",
        scope="runs:write",
        handler=runs.cancel,
        summary="Stop a run",
        takes=CancelRequest,
        gives={200: Run, 202: Run},
    ),
    Endpoint(
        method="POST",
        path=f"{_AT}/rerun",
        scope="runs:write",
        handler=runs.rerun,
        summary="Run it again",
        takes=RerunRequest,
        gives={202: Run},
        headers=_KEY,
    ),
    Endpoint(
        method="GET",
        path=f"{_AT}/attempts",
        scope="runs:read",
        handler=runs.attempts,
        summary="A run's attempts",
        gives={200: AttemptList},
    ),
    Endpoint(
        method="GET",
        path=f"{_AT}/links",
        scope="runs:read",
        handler=runs.links,
        summary="A run's links",
        gives={200: RunLinkList},
    ),
    Endpoint(
        method="GET",
        path=f"{_AT}/tree",
        scope="runs:read",
        handler=runs.tree,
        summary="A run and its descendants",
        gives={200: RunTree},
    ),
    Endpoint(
        method="GET",
        path=f"{_AT}/graph",
        scope="runs:read",
        handler=runs.graph,
        summary="A run and all that it is linked with",
        gives={200: RunGraph},
    ),
    Endpoint(
        method="GET",
        path=f"{_AT}/replay",
        scope="runs:read",
        handler=runs.replay,
        summary="Rebuild what users see of a run from its events",
        gives={200: Replay},
    ),
]
