"""T12: `tools/call` of `start_<tool>` over stdio, beside a bare SDK server's tool that does nothing, in turns.

Ours finds the tool, starts a durable run over HTTP, and answers with its handle; theirs answers. The same client asks both.
"""

import asyncio
import sys
import time
from contextlib import AsyncExitStack

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from bench import machine
from bench.figure import RUNS, Figure, emit, percentile, profile
from bench.installation import APP, Installation
from bench.machine import ROOT

MODE = "2026-07-28"


async def _latencies(client: Client, count: int) -> list[float]:
    """Milliseconds of each call."""
    found = []
    for _ in range(count):
        began = time.perf_counter()
        result = await client.call_tool("start_moment", {})
        found.append((time.perf_counter() - began) * 1e3)
        if result.is_error:
            raise RuntimeError(repr(result))
    return found


def _client(*words: str) -> Client:
    return Client(
        stdio_client(StdioServerParameters(command=sys.executable, args=list(words), cwd=str(ROOT))), mode=MODE
    )


async def measure() -> None:
    count = profile().latencies
    ours: list[list[float]] = []
    bare: list[list[float]] = []
    with Installation() as installation:
        installation.start_server()
        installation.start_worker(app=APP)
        front = ("-m", "ringback", "mcp", "--data", str(installation.settings.data))
        async with AsyncExitStack() as stack:
            one = await stack.enter_async_context(_client(*front))
            other = await stack.enter_async_context(_client("-m", "bench.bare_mcp"))
            await _latencies(one, 50)
            await _latencies(other, 50)
            for _ in range(RUNS):
                machine.wait_for_quiet()
                ours.append(await _latencies(one, count))
                bare.append(await _latencies(other, count))
    medians = [percentile(values, 0.5) for values in ours], [percentile(values, 0.5) for values in bare]
    tails = [percentile(values, 0.99) for values in ours], [percentile(values, 0.99) for values in bare]
    limits = f"one client, one call at a time, {count} a run, in turns"
    more = [mine - theirs for mine, theirs in zip(*medians, strict=True)]
    facts = (
        ("start_<tool> over stdio, more than a bare SDK server's no-op, p50", more, 5.0, 2.0),
        ("start_<tool> over stdio, p50", medians[0], None, None),
        ("start_<tool> over stdio, p99", tails[0], None, None),
        ("a bare SDK server's no-op over stdio, p50", medians[1], None, None),
        ("a bare SDK server's no-op over stdio, p99", tails[1], None, None),
    )
    for name, values, least, aim in facts:
        emit(
            Figure(
                target="T12", name=name, unit="ms", values=values, better="less", least=least, aim=aim, limits=limits
            )
        )


if __name__ == "__main__":
    asyncio.run(measure())
