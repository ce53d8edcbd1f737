"""Function tools that ask people, for the tests of questions."""

import asyncio
from typing import Any

from ringback import App, Context, QuestionRefusedError, UnansweredError

app = App(secrets=["SECRET_TOKEN"])


@app.tool
def asks(ctx: Context, title: str, more: dict[str, Any] | None = None) -> dict[str, Any]:
    """Ask and say what came back."""
    try:
        reply = ctx.ask(title, **(more or {}))
    except (QuestionRefusedError, UnansweredError) as error:
        return {type(error).__name__: str(error)}
    return {
        "yes": bool(reply),
        "decision": reply.decision,
        "option": reply.option,
        "payload": reply.payload,
        "by": reply.by,
    }


@app.tool
async def asks_awaiting(ctx: Context, title: str) -> bool:
    """Ask while the loop goes on."""
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            ctx.progress(ticks)
            await asyncio.sleep(0.01)

    ticking = asyncio.create_task(tick())
    reply = await ctx.ask(title)
    ticking.cancel()
    return bool(reply)


@app.tool
async def gives_up(ctx: Context) -> list[Any]:
    """Ask for a moment, then take a question back by its key."""
    try:
        async with asyncio.timeout(0.05):
            await ctx.ask("never answered", key="short")
    except TimeoutError:
        pass
    return [await ctx.withdraw("short"), await ctx.withdraw("unknown")]


@app.tool
def takes_back(ctx: Context) -> list[Any]:
    """The same in a sync tool."""
    ctx.ask("Go on?", key="go")
    return [ctx.withdraw("go"), ctx.withdraw("unknown")]


@app.tool
async def parks(ctx: Context, swallow: bool = False) -> list[Any]:
    """Keep a value, give the slot back, and go on with the answer."""
    steps = ctx.last_checkpoint or []
    if not steps:
        steps = ["prepared"]
        ctx.checkpoint(steps)
    try:
        reply = await ctx.ask("Go on?", key="go", release=True)
    except Exception:  # noqa: BLE001 - as a library's handler would be: it must not swallow what is no error
        return ["swallowed"]
    return [*steps, reply.decision]


@app.tool
def parks_in_sync(ctx: Context) -> Any:
    """The same in a sync tool."""
    return ctx.ask("Go on?", release=True).decision


@app.tool
def parks_beside(ctx: Context) -> Any:
    """What can't be."""
    return ctx.ask("Go on?", release=True, blocking=False)


@app.tool
def lets_pass(ctx: Context) -> None:
    """Doesn't care for what ctx.ask raises."""
    ctx.ask("Go on?")


@app.tool
def asks_twice(ctx: Context) -> list[Any]:
    """Two questions with one title are two."""
    return [ctx.ask("Again?").decision, ctx.ask("Again?").decision]
