"""FastMCP's background tasks in memory, over an in-memory MCP client: what a tool call as a task costs there."""

import asyncio
import logging

import trial
from fastmcp import Client, FastMCP
from fastmcp.utilities.tasks import TaskConfig
from fastmcp_tasks import TasksExtension

logging.disable(logging.WARNING)
STAMP = trial.Stamp()
mcp = FastMCP("bench")
mcp.add_extension(TasksExtension(url="memory://", concurrency=10))


@mcp.tool(task=TaskConfig(mode="required"))
async def noop(number: int) -> int:
    STAMP.set()
    return number


async def main() -> None:
    async with Client(mcp) as client:

        async def one() -> None:
            await client.call_tool("noop", {"number": 1})

        async def call(number: int) -> None:
            await client.call_tool("noop", {"number": number})

        async def drained(_: int) -> bool:
            return True  # the calls return when their tasks have ended

        peer = trial.Peer(
            name="FastMCP, memory",
            setup="in-memory client and tasks, concurrency 10, 64 calls at a time",
            durability="none",
        )
        await peer.measure(stamp=STAMP, one=one, flood=lambda count: trial.at_most(64, count, call), drained=drained)


asyncio.run(main())
