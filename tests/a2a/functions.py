"""What the worker of the A2A tests can do."""

import asyncio
from typing import Any

from ringback import App, Context

app = App()


@app.tool
def greet(name: str) -> dict[str, Any]:
    """Greet somebody."""
    return {"greeting": f"hello {name}", "letters": len(name)}


@app.tool
def break_down(reason: str) -> None:
    """Fail for a reason."""
    raise ValueError(reason)


@app.tool(grace=5)
async def count(ctx: Context, to: int) -> int:
    """Count, and wait for a stop at the end when `to` is 0."""
    for number in range(1, to + 1):
        ctx.progress(number, to, f"at {number}")
        await asyncio.sleep(0.05)
    if not to:
        ctx.progress(0, 1, "waiting")
        await asyncio.Event().wait()
    return to


@app.tool
async def deploy(ctx: Context, place: str) -> str:
    """Ask before deploying."""
    reply = await ctx.ask(f"Deploy to {place}?")
    return f"deployed to {place}" if reply else "left alone"
