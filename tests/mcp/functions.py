"""Tools for MCP clients: quick, slow, failing, broken and asking ones. Their names are those of the conformance suite."""

import asyncio
import os
import signal
from typing import Any

from ringback.worker.app import App
from ringback.worker.context import Context

app = App()
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


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
    """Take its whole interpreter down, so that nobody can say what became of it."""
    os.kill(os.getpid(), signal.SIGKILL)


@app.tool(mode="task", idempotent=True)
async def confirm_delete(ctx: Context, filename: str) -> str:
    """Ask before deleting."""
    answer = await ctx.ask(f"Delete {filename}?", kind="confirmation")
    return f"deleted {filename}" if answer else f"kept {filename}"


@app.tool(mode="task")
async def multi_input(ctx: Context) -> list[Any]:
    """Ask two things at a time."""
    first = asyncio.ensure_future(ctx.ask("Your name?", kind="input", schema=NAME, blocking=False))
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
    os.system(f"echo {text}")  # noqa: S605
    return text


@app.tool
async def pause(seconds: float = 600) -> str:
    """Take long."""
    await asyncio.sleep(seconds)
    return "rested"
