"""`ringback wrap` as a host starts it, with the official client at the other end."""

import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp.client.stdio import StdioServerParameters

from mcp import Client
from tests.api.door import TOKEN, Door
from tests.mcp.peer import ROOT, Peer, Tasks, _never


@asynccontextmanager
async def wrapped(
    variables: Mapping[str, str], *words: str, takes_tasks: bool = False, cwd: Path | None = None, **more: Any
) -> AsyncIterator[Peer]:
    """A client of `ringback wrap WORDS`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RINGBACK_")}
    env = {**kept, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "src"))), **variables}
    front = StdioServerParameters(command=sys.executable, args=["-m", "ringback", "wrap", *words], env=env, cwd=cwd)
    tasks = Tasks()
    extensions = [tasks] if takes_tasks else None
    async with Client(front, extensions=extensions, elicitation_callback=_never, **more) as client:
        yield Peer(client, tasks)


def variables(door: Door, folder: Path) -> dict[str, str]:
    """Where the front finds a server of the test's own process."""
    url = str(door.client.base_url).rstrip("/")
    place = {"RINGBACK_URL": url, "RINGBACK_TOKEN": TOKEN, "RINGBACK_PROJECT": "default"}
    return {**place, "RINGBACK_DATA": str(folder / "n")}
