"""The declared table of access: what each route needs, and what each role gives. The tests walk every combination of it.

A route reaches a `project` (scope from token and role), the `installation` (scope from the token, and a platform role), or only
what is the `caller`'s own (scope from the token); `everybody` needs no token.
"""

from __future__ import annotations

from collections.abc import Mapping

ROLES: Mapping[str, frozenset[str]] = {
    "viewer": frozenset({"runs:read"}),
    "runner": frozenset({"runs:read", "runs:write", "interactions:answer", "threads:write"}),
    "editor": frozenset({"runs:read", "runs:write", "interactions:answer", "threads:write", "resources:write"}),
    "admin": frozenset(
        {"runs:read", "runs:write", "interactions:answer", "threads:write", "resources:write", "access:admin"}
    ),
    "owner": frozenset(
        {
            "runs:read",
            "runs:write",
            "interactions:answer",
            "threads:write",
            "resources:write",
            "access:admin",
            "worker:attach",
        }
    ),
}
ROUTES: Mapping[str, tuple[str | None, str]] = {
    "GET /api/projects/{slug}/async-runs/{run_id}": ("runs:read", "project"),
    "GET /api/projects/{slug}/scripts": ("runs:read", "project"),
    "DELETE /api/projects/{slug}/scripts/{name}": ("resources:write", "project"),
    "GET /api/projects/{slug}/scripts/{name}": ("runs:read", "project"),
    "PUT /api/projects/{slug}/scripts/{name}": ("resources:write", "project"),
    "GET /api/projects/{slug}/scripts/{name}/revisions": ("runs:read", "project"),
    "POST /api/projects/{slug}/scripts/{name}/test-run": ("runs:write", "project"),
    "GET /healthz": (None, "everybody"),
    "GET /jobs": ("runs:read", "project"),
    "POST /jobs": ("runs:write", "project"),
    "DELETE /jobs/{job_id}": ("runs:write", "project"),
    "GET /jobs/{job_id}": ("runs:read", "project"),
    "GET /jobs/{job_id}/result": ("runs:read", "project"),
    "GET /metrics": ("runs:read", "installation"),
    "GET /openapi.json": (None, "everybody"),
    "GET /readyz": (None, "everybody"),
    "GET /v1/audit": ("access:admin", "project"),
    "GET /v1/events": ("runs:read", "project"),
    "GET /v1/inbox": ("runs:read", "project"),
    "POST /v1/inbox/ack": ("runs:read", "project"),
    "GET /v1/installation/audit": ("access:admin", "installation"),
    "GET /v1/members": ("runs:read", "project"),
    "DELETE /v1/members/{user}": ("access:admin", "project"),
    "PUT /v1/members/{user}": ("access:admin", "project"),
    "GET /v1/orgs": ("runs:read", "caller"),
    "POST /v1/orgs": ("access:admin", "installation"),
    "GET /v1/projects": ("runs:read", "caller"),
    "POST /v1/projects": ("access:admin", "installation"),
    "GET /v1/projects/{slug}": ("runs:read", "project"),
    "GET /v1/queues": ("runs:read", "project"),
    "POST /v1/queues/{pool}/pause": ("resources:write", "project"),
    "POST /v1/queues/{pool}/resume": ("resources:write", "project"),
    "GET /v1/runs": ("runs:read", "project"),
    "POST /v1/runs": ("runs:write", "project"),
    "POST /v1/runs/batch": ("runs:write", "project"),
    "GET /v1/runs/{run_id}": ("runs:read", "project"),
    "GET /v1/runs/{run_id}/attempts": ("runs:read", "project"),
    "POST /v1/runs/{run_id}/cancel": ("runs:write", "project"),
    "POST /v1/runs/{run_id}/continue": ("runs:write", "project"),
    "GET /v1/runs/{run_id}/events": ("runs:read", "project"),
    "GET /v1/runs/{run_id}/links": ("runs:read", "project"),
    "GET /v1/runs/{run_id}/output": ("runs:read", "project"),
    "GET /v1/runs/{run_id}/replay": ("runs:read", "project"),
    "POST /v1/runs/{run_id}/rerun": ("runs:write", "project"),
    "GET /v1/runs/{run_id}/result": ("runs:read", "project"),
    "GET /v1/runs/{run_id}/tree": ("runs:read", "project"),
    "GET /v1/tokens": ("access:admin", "caller"),
    "POST /v1/tokens": ("access:admin", "caller"),
    "DELETE /v1/tokens/{token_id}": ("access:admin", "caller"),
    "GET /v1/tools": ("runs:read", "project"),
    "PUT /v1/tools": ("resources:write", "project"),
    "GET /v1/tools/{name}": ("runs:read", "project"),
    "GET /v1/users": ("access:admin", "installation"),
    "PUT /v1/users/{user}": ("access:admin", "installation"),
    "GET /v1/workers": ("runs:read", "project"),
    "POST /v1/workers/attach": ("worker:attach", "installation"),
    "POST /v1/workers/{session_id}/claim": ("worker:attach", "installation"),
    "POST /v1/workers/{session_id}/detach": ("worker:attach", "installation"),
    "POST /v1/workers/{session_id}/heartbeat": ("worker:attach", "installation"),
    "POST /v1/workers/{session_id}/report": ("worker:attach", "installation"),
}
