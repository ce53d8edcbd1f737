"""What the client of a request can do. In the stateless era each request says so itself, and only what it says counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

Context = ServerRequestContext[Any, Any]
TASKS = "io.modelcontextprotocol/tasks"


def is_modern(ctx: Context) -> bool:
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def takes_tasks(ctx: Context) -> bool:
    """Whether this very request declared the Tasks extension."""
    extensions = _capabilities(ctx).get("extensions")
    return is_modern(ctx) and isinstance(extensions, Mapping) and TASKS in extensions


def takes_questions(ctx: Context) -> bool:
    """Whether this very request declared elicitation."""
    return isinstance(_capabilities(ctx).get("elicitation"), Mapping)


def require_tasks(ctx: Context) -> None:
    """Raises MCPError: the method does not exist in this era, or the request did not declare the extension."""
    if not is_modern(ctx):
        raise MCPError(types.METHOD_NOT_FOUND, "Method not found", ctx.method)
    if not takes_tasks(ctx):
        raise MCPError(
            types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            "this request did not declare the tasks extension",
            {"requiredCapabilities": {"extensions": {TASKS: {}}}},
        )


def check_name(ctx: Context, task_id: str) -> None:
    """Raises MCPError: over HTTP, `Mcp-Name` must name the task that the body names."""
    if ctx.request is None:
        return
    given = ctx.request.headers.get(MCP_NAME_HEADER)
    if given is None or decode_header_value(given) != task_id:
        raise MCPError(types.HEADER_MISMATCH, "Mcp-Name must be the taskId of the body")


def _capabilities(ctx: Context) -> Mapping[str, Any]:
    meta = (ctx.params or {}).get("_meta")
    found = meta.get(types.CLIENT_CAPABILITIES_META_KEY) if isinstance(meta, Mapping) else None
    return found if isinstance(found, Mapping) else {}
