"""What the conformance suite wants of a server beyond Ringback's own ways: tools that exist only as tasks, input before a task.

Ringback itself serves every client, so it never demands tasks of one.
"""

from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from ringback.mcp.clients import TASKS, takes_tasks

ONLY_TASKS = frozenset(("failing_job", "test_tool_with_task"))
ASKING = frozenset(("test_tool_with_task", "test_input_required_result_elicitation"))
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
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
TEXT = types.TextContent(type="text", text="This is a simple text response for testing.")
IMAGE = types.ImageContent(type="image", data=PIXEL, mime_type="image/png")
AUDIO = types.AudioContent(type="audio", data=SILENCE, mime_type="audio/wav")
RESOURCE = types.EmbeddedResource(
    type="resource",
    resource=types.TextResourceContents(uri="test://embedded-resource", mime_type="text/plain", text="Embedded."),
)
# What must come through a project's list of tools unhurt.
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
DEFINITION: dict[str, Any] = {
    "name": "json_schema_2020_12_tool",
    "description": "Tool with JSON Schema 2020-12 features",
    "runtime": "function",
    "mode": "inline",
    "inputSchema": SCHEMA,
    "profile": {"pool": "default"},
}
# Content that no job of Ringback has: that our door carries it all the same.
CONTENT: dict[str, list[types.ContentBlock]] = {
    "test_simple_text": [TEXT],
    "test_image_content": [IMAGE],
    "test_audio_content": [AUDIO],
    "test_embedded_resource": [RESOURCE],
    "test_multiple_content_types": [TEXT, IMAGE, RESOURCE],
}


def _name_in(responses: Any) -> str | None:
    """The name that the user gave, if the answer has the right shape."""
    answer = responses.get("user_name") if isinstance(responses, dict) else None
    content = answer.get("content") if isinstance(answer, dict) else None
    name = content.get("name") if isinstance(content, dict) else None
    return name if isinstance(name, str) else None


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
        if params.name in CONTENT:
            return types.CallToolResult(content=CONTENT[params.name])
        if params.name in ASKING:
            name = _name_in((ctx.params or {}).get("inputResponses"))
            if name is None:
                return {"resultType": "input_required", "inputRequests": {"user_name": QUESTION}}
            if params.name != "test_tool_with_task":
                return types.CallToolResult(content=[types.TextContent(type="text", text=f"Hello, {name}!")])
            params = params.model_copy(update={"arguments": {"user_name": name}})
        answer = await inner(ctx, params)
        if params.name == "greet" and answer.structured_content is not None:  # the suite wants the bare text
            answer.content = [types.TextContent(type="text", text=answer.structured_content["result"])]
        return answer

    server.add_request_handler("tools/call", types.CallToolRequestParams, call)
