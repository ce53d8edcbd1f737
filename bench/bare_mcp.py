"""The least that an MCP server can be: one tool that does nothing, on the official SDK. What ours is compared with."""

import asyncio
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

SCHEMA = {"type": "object", "properties": {"number": {"type": "integer"}}}
ANSWER = {
    "type": "object",
    "properties": {"job_id": {"type": "string"}, "status": {"type": "string"}},
    "required": ["job_id", "status"],
}


async def _list_tools(_: Any, __: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[types.Tool(name="start_moment", input_schema=SCHEMA, output_schema=ANSWER)])


async def _call_tool(_: Any, __: types.CallToolRequestParams) -> types.CallToolResult:
    value = {"job_id": "job_0", "status": "queued"}
    return types.CallToolResult(content=[types.TextContent(type="text", text=str(value))], structured_content=value)


async def main() -> None:
    """Serve stdin and stdout."""
    server: Server[Any] = Server("bare", on_list_tools=_list_tools, on_call_tool=_call_tool)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
