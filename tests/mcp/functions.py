"""Tools for MCP clients: quick, slow, failing, broken and asking ones. Their names are those of the conformance suite."""

import asyncio
import os
from typing import Any

from ringback.worker.app import App
from ringback.worker.context import Context
from ringback.worker.schema import ArgumentsError

app = App()
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


@app.tool(mode="inline")
def about() -> str:
    """Say what this is. The suite calls the first tool of the list without arguments."""
    return "tools for tests"


@app.tool(mode="inline")
def greet(name: str) -> str:
    """Say hello."""
    return f"Hello, {name}!"


@app.tool(mode="task", grace=1.0)
async def slow_compute(seconds: float = 0, label: str = "") -> str:
    """Take some seconds."""
    await asyncio.sleep(seconds)
    return f"computed {label}"


@app.tool(mode="task")
async def failing_job() -> None:
    """Fail."""
    raise ValueError("it does not work")


@app.tool(mode="task")
def protocol_error_job() -> None:
    """Fail before the work could begin, which is no error of the tool."""
    raise ArgumentsError("they do not fit", "")


@app.tool(mode="task", idempotent=True)
async def confirm_delete(ctx: Context, filename: str) -> str:
    """Ask before deleting."""
    answer = await ctx.ask(f"Delete {filename}?", kind="confirmation")
    return f"deleted {filename}" if answer else f"kept {filename}"


@app.tool(mode="task")
async def multi_input(ctx: Context) -> list[Any]:
    """Ask two things at a time."""
    first = asyncio.ensure_future(ctx.ask("Your name?", kind="input", schema=NAME, blocking=False))
    await asyncio.sleep(0)  # let the first be asked first
    second = await ctx.ask("Another name?", kind="input", schema=NAME)
    return [(await first).payload, second.payload]


@app.tool(mode="task")
def test_tool_with_task(user_name: str = "") -> str:
    """Needs a name before it becomes a task."""
    return f"done for {user_name}"


@app.tool
def chatter(text: str) -> str:
    """Write to stdout in every way that there is."""
    print(text)
    os.write(1, text.encode() + b"\n")
    os.system(f"echo {text}")
    return text


@app.tool
async def pause(seconds: float = 600) -> str:
    """Take long."""
    await asyncio.sleep(seconds)
    return "rested"


@app.tool(mode="inline")
def test_missing_capability() -> None:
    """Refused by the fixtures: it needs what no client declares."""


@app.tool(mode="inline")
def test_streaming_elicitation() -> str:
    """Answer on a stream."""
    return "streamed"


@app.tool(mode="inline")
def test_logging_tool() -> str:
    """Write to the log of the job, which is no message to the client."""
    print("a line")
    return "logged"


@app.tool(mode="inline")
def test_error_handling() -> None:
    """Fail in sight of the caller."""
    raise ValueError("This tool intentionally returns an error for testing")


@app.tool(mode="task", idempotent=True)
async def steady(seconds: float) -> str:
    """May be tried again after a loss."""
    await asyncio.sleep(seconds)
    return "steady"
