"""A server in this process with `/mcp`, and a worker of its own with the tools of `functions`."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp.server.lowlevel import Server
from starlette.types import ASGIApp, Receive, Scope, Send

from ringback.core import Core
from ringback.domain.ids import ProjectId
from ringback.mcp.http import PATH, McpDoor
from ringback.services.access import WORKER_SCOPES
from tests.api.door import TOKEN, Door, opened

ROOT = Path(__file__).resolve().parent.parent.parent
WITHIN_S = 60.0
WORKER_TOKEN = "rbp_" + "w" * 43


@asynccontextmanager
async def serving(
    folder: Path, refine: Callable[[Server[Any]], None] | None = None, *, slots: int = 8
) -> AsyncIterator[Door]:
    """Ready to work. `/mcp` and, for clients that can't send a token, `/open/mcp`."""
    doors: list[McpDoor] = []

    def mount(core: Core, api: ASGIApp) -> dict[str, ASGIApp]:
        doors.append(McpDoor(api, core.access.owner_of, refine))
        return {PATH: doors[0], f"/open{PATH}": _Admitted(doors[0])}

    async with opened(folder, (), mount) as door:
        where = ProjectId("default")
        await door.core.access.remember(WORKER_TOKEN, owner="worker", scopes=WORKER_SCOPES, project_id=where)
        try:
            async with _worker(door, folder, slots):
                yield door
        finally:
            await doors[0].aclose()


class _Admitted:
    """Gives every request the owner's token."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        more = [(b"authorization", f"Bearer {TOKEN}".encode()), (b"ringback-project", b"default")]
        await self._app({**scope, "headers": [*scope["headers"], *more]}, receive, send)


@asynccontextmanager
async def _worker(door: Door, folder: Path, slots: int) -> AsyncIterator[None]:
    words = ["ringback.cli.attached", "tests.mcp.functions:app", "--server", str(door.client.base_url).rstrip("/")]
    words += ["--data", str(folder / "worker"), "--name", "w", "--slots", str(slots), "--drain-grace", "1"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RINGBACK_")}
    path = os.pathsep.join((str(ROOT), str(ROOT / "src")))
    env = {**kept, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "RINGBACK_TOKEN": WORKER_TOKEN}
    (folder / "worker").mkdir()
    with (folder / "worker.log").open("wb") as log:
        worker = await asyncio.create_subprocess_exec(
            sys.executable, "-m", *words, env=env, cwd=folder, stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        async with asyncio.timeout(WITHIN_S):
            while not (await door.get("/v1/workers"))["items"]:
                assert worker.returncode is None, (folder / "worker.log").read_text()
                await asyncio.sleep(0.05)
        yield
    finally:
        if worker.returncode is None:
            worker.terminate()
        await worker.wait()
