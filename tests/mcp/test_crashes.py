"""`kill -9` of front, server and worker in turn, while a task works and while it asks: the same task goes on and ends."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from tests.mcp.peer import Peer, over_stdio
from tests.reliability.installation import Installation

APP = "tests.mcp.functions:app"


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    with Installation(tmp_path) as made:
        made.start_server()
        made.start_worker(app=APP)
        yield made


def variables(installation: Installation) -> dict[str, str]:
    token = installation.settings.places.token.read_text(encoding="ascii").strip()
    return {
        "RINGBACK_URL": installation.url,
        "RINGBACK_TOKEN": token,
        "RINGBACK_DATA": str(installation.folder / "none"),
    }


@pytest.mark.parametrize("victim", ["front", "server", "worker"])
async def test_a_task_outlives_them_all(installation: Installation, victim: str) -> None:
    given = variables(installation)
    async with over_stdio(given) as peer:
        working = (await peer.begin("steady", seconds=3))["taskId"]
        asking = (await peer.begin("confirm_delete", filename="x"))["taskId"]
        await peer.until(asking, "input_required")
        await _running(peer, working)
        await anyio.to_thread.run_sync(_kill, installation, victim)
        if victim != "front":
            await _go_on(peer, working, asking)
            return
    async with over_stdio(given) as second:  # the first front is gone: a new one knows the same tasks
        await _go_on(second, working, asking)


def _kill(installation: Installation, victim: str) -> None:
    if victim == "front":
        (front,) = _fronts()
        os.kill(front, signal.SIGKILL)
    elif victim == "server":
        assert installation.server is not None
        installation.server.kill()
        installation.start_server()
    else:
        installation.workers[-1].kill()
        installation.start_worker(app=APP)


def _fronts() -> list[int]:
    """The fronts that this process has started, by their ids."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = int((each / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and b"\0ringback\0mcp" in (each / "cmdline").read_bytes():
                found.append(int(each.name))
    return found


async def _running(peer: Peer, task_id: str) -> None:
    with anyio.fail_after(90):
        while True:
            answer = await peer.client.call_tool("get_job_status", {"job_id": task_id})
            assert answer.structured_content is not None
            if answer.structured_content["status"] != "queued":
                return
            await anyio.sleep(0.05)


async def _go_on(peer: Peer, working: str, asking: str) -> None:
    task = await peer.until(asking, "input_required")
    (key,) = task["inputRequests"]
    answers = {key: {"action": "accept", "content": {}}}
    await peer.ask("tasks/update", asking, inputResponses=answers)
    task = await peer.ended(asking)
    assert (task["taskId"], task["status"]) == (asking, "completed")
    assert task["result"]["structuredContent"]["result"] == "deleted x"
    task = await peer.ended(working)
    assert (task["taskId"], task["status"]) == (working, "completed")
    assert task["result"]["structuredContent"]["result"] == "steady"
