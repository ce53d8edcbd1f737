"""`ringback mcp` as lines: what a host writes and reads, byte for byte. Every line on its stdout must be a message."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
WITHIN_S = 90.0
CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


class Lines:
    """One front."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.seen: list[dict[str, Any]] = []

    async def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        await self.process.stdin.drain()

    async def send(self, **message: Any) -> None:
        await self.write(json.dumps({"jsonrpc": "2.0", **message}).encode())

    async def read(self) -> dict[str, Any]:
        """The next message."""
        assert self.process.stdout is not None
        async with asyncio.timeout(WITHIN_S):
            line = await self.process.stdout.readline()
        assert line, "the front has ended"
        message: dict[str, Any] = json.loads(line)
        assert message["jsonrpc"] == "2.0", line
        self.seen.append(message)
        return message

    async def ask(self, request_id: int, method: str, **params: Any) -> dict[str, Any]:
        """The answer to a request; what comes before it is kept in `seen`."""
        await self.send(id=request_id, method=method, params=params)
        while True:
            message = await self.read()
            if message.get("id") == request_id:
                return message

    async def call(self, request_id: int, tool: str, **arguments: Any) -> dict[str, Any]:
        return await self.ask(request_id, "tools/call", name=tool, arguments=arguments)

    async def greet(self) -> None:
        """The handshake of the older era."""
        await self.ask(1, "initialize", **CLIENT)
        await self.send(method="notifications/initialized")

    async def end(self) -> int:
        """Close its input; its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        async with asyncio.timeout(WITHIN_S):
            return await self.process.wait()


@asynccontextmanager
async def front(variables: Mapping[str, str]) -> AsyncIterator[Lines]:
    """A front, which is ended."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RINGBACK_")}
    env = {**kept, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "src"))), **variables}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "ringback",
        "mcp",
        env=env,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=1 << 24,
    )
    lines = Lines(process)
    try:
        yield lines
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
