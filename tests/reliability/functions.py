"""Function tools of the reliability tests: user code that behaves well, badly and oddly."""

import asyncio
import datetime
import decimal
import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ringback.worker.app import App
from ringback.worker.context import Context

app = App()


class Unpicklable:
    """Refuses to be taken apart."""

    def __reduce__(self) -> Any:
        raise RuntimeError("no")


def _leave(file: str, line: str) -> None:
    with Path(file).open("a", encoding="utf-8") as out:
        out.write(line)


@app.tool
def echo(value: Any) -> Any:
    return value


@app.tool(idempotent=True)
def ask_twice(ctx: Context) -> list[Any]:
    """Asks for an approval, then for a name."""
    go = ctx.ask("Go on?", key="go")
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    return [go.decision, ctx.ask("Whose name?", kind="input", schema=schema, key="name").payload]


@app.tool
def ask_parked(ctx: Context, file: str) -> list[Any]:
    """Does its first step once, gives its slot back for an answer, and goes on with it."""
    if ctx.last_checkpoint is None:
        _leave(file, "prepared\n")
        ctx.checkpoint("prepared")
    go = ctx.ask("Deploy?", key="go", release=True, expires_in=600)
    return [ctx.attempt_no, ctx.last_checkpoint, go.decision]


@app.tool
def ask_in_vain(ctx: Context) -> None:
    """Doesn't care what becomes of it when nobody answers."""
    ctx.ask("Anybody?", expires_in=0.5, release=True)


@app.tool
def spin(seconds: float, file: str) -> str:
    """Hogs the interpreter with a loop."""
    _leave(file, "begun\n")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
    return "spun"


@app.tool
def hold(seconds: float, file: str) -> str:
    """Holds the interpreter's lock in one call of C code after the other: a regex that backtracks for long."""
    _leave(file, "begun\n")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        re.match(r"(a+)+$", "a" * 25 + "b")
    return "held"


@app.tool
async def block(seconds: float) -> str:
    """An async function that blocks its event loop."""
    time.sleep(seconds)  # noqa: ASYNC251 - the fault that is tried
    return "blocked"


@app.tool
def quick(number: int) -> int:
    return number + 1


@app.tool(grace=0.2)
def nap(seconds: float) -> str:
    """Sleeps without ever looking for a stop."""
    time.sleep(seconds)
    return "rested"


@app.tool(idempotent=True)
def die() -> None:
    """Kills its own interpreter."""
    os.kill(os.getpid(), signal.SIGKILL)


@app.tool
def odd(kind: str) -> Any:
    """Results that are no JSON, or only nearly so."""
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    made: dict[str, Callable[[], Any]] = {
        "lambda": lambda: lambda: None,
        "file": lambda: Path("/dev/null").open(encoding="utf-8"),  # noqa: SIM115 - it is the result
        "generator": lambda: (n for n in range(3)),
        "set": lambda: {1, 2},
        "bytes": lambda: b"\xff\x00",
        "datetime": lambda: datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC),
        "decimal": lambda: decimal.Decimal("1.10"),
        "unpicklable": Unpicklable,
        "huge": lambda: "x" * 100_000_000,
        "cyclic": lambda: cyclic,
        "nul": lambda: {"x": "a\0b"},
        "surrogate": lambda: {"\ud800": "\udfff"},
        "nan": lambda: float("nan"),
    }
    return made[kind]()


@app.tool
async def cooperative(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "slept"


@app.tool(idempotent=True)
async def mark(ctx: Context, file: str, seconds: float) -> str:
    """Leaves a line that says which attempt of which run this is."""
    _leave(file, f"{ctx.run_id} {ctx.attempt_no}\n")
    await asyncio.sleep(seconds)
    return ctx.run_id


@app.tool
async def pages(ctx: Context, count: int, pause_s: float) -> None:
    """Publishes numbers one by one."""
    for number in range(count):
        ctx.page([number])
        await asyncio.sleep(pause_s)
