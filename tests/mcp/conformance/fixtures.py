"""What the conformance suite wants of a server beyond Ringback's own ways: tools that exist only as tasks, input before a task.

Ringback itself serves every client, so it never demands tasks of one.
"""

from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from ringback.mcp.clients import TASKS, takes_tasks

ONLY_TASKS = frozenset(("failing_job", "test_tool_with_task"))
QUESTION = {
    "method": "elicitation/create",
    "params": {
        "mode": "form",
        "message": "Your name?",
        "requestedSchema": {
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
        },
    },
}


def refine(server: Server[Any]) -> None:
    """Put the fixtures before the server's own way of calling tools."""
    entry = server.get_request_handler("tools/call")
    assert entry is not None
    inner: Any = entry.handler

    async def call(ctx: Any, params: types.CallToolRequestParams) -> Any:
        if params.name == "test_missing_capability":
            needed: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
            raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "this tool needs sampling", needed)
        if params.name in ONLY_TASKS and not takes_tasks(ctx):
            needed = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
            raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "this tool exists as a task only", needed)
        if params.name == "test_tool_with_task":
            responses = (ctx.params or {}).get("inputResponses") or {}
            if "user_name" not in responses:
                return {"resultType": "input_required", "inputRequests": {"user_name": QUESTION}}
            params = params.model_copy(update={"arguments": {"user_name": responses["user_name"]["content"]["name"]}})
        answer = await inner(ctx, params)
        if params.name == "greet" and answer.structured_content is not None:  # the suite wants the bare text
            answer.content = [types.TextContent(type="text", text=answer.structured_content["result"])]
        return answer

    server.add_request_handler("tools/call", types.CallToolRequestParams, call)
