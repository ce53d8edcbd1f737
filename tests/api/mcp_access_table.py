"""The declared table of access over MCP: the scope that each method and each tool needs. Roles are those of `access_table`.

None: any valid token. A method or tool that is missing here fails the test that walks them.
"""

from __future__ import annotations

from collections.abc import Mapping

METHODS: Mapping[str, str | None] = {
    "server/discover": None,
    "tools/list": "runs:read",
    "tools/call": None,  # each tool has its own, below
    "tasks/get": "runs:read",
    "tasks/update": "interactions:answer",
    "tasks/cancel": "runs:write",
    "subscriptions/listen": "runs:read",
}
TOOLS: Mapping[str, str] = {
    "answer_interaction": "interactions:answer",
    "get_job_result": "runs:read",
    "get_job_status": "runs:read",
    "list_jobs": "runs:read",
    "list_projects": "runs:read",
    "read_async_run": "runs:read",
    "start_echo": "runs:write",
    "stop_job": "runs:write",
    "test_run_script": "runs:write",
    "wait_for_jobs": "runs:read",
}
# Answered with what the caller may see, whatever project the connection names.
OF_THE_CALLER = frozenset(("server/discover", "list_projects"))
