"""The official `everything` and `filesystem` servers, hosted: all that they offer, over both transports."""

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.hosted.calling import Calls, calling, text_of
from tests.hosted.servers import everything, filesystem
from tests.mcp.clients import environment

WITHIN_S = 60.0


@asynccontextmanager
async def over_http(folder: Path) -> AsyncIterator[dict[str, Any]]:
    """The same server at an address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [*everything()["command"][:-1], "streamableHttp"]
    with (folder / "server.log").open("wb") as log:
        server = await asyncio.create_subprocess_exec(
            *command, env={**environment(), "PORT": str(port)}, stdout=log, stderr=log, stdin=asyncio.subprocess.DEVNULL
        )
    try:
        async with asyncio.timeout(WITHIN_S):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                    break
                except OSError:
                    await asyncio.sleep(0.05)
        writer.close()
        yield {"url": f"http://127.0.0.1:{port}/mcp"}
    finally:
        if server.returncode is None:
            server.kill()
        await server.wait()


@asynccontextmanager
async def hosted(transport: str, folder: Path) -> AsyncIterator[tuple[Calls, dict[str, Any]]]:
    async with calling() as call:
        if transport == "stdio":
            yield call, everything()
        else:
            async with over_http(folder) as server:
                yield call, server


@pytest.mark.timeout(400)
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_everything(transport: str, tmp_path: Path) -> None:
    async with hosted(transport, tmp_path) as (call, server):
        assert text_of(await call(server, "echo", arguments={"message": "hi"})) == "Echo: hi"
        structured = await call(server, "get-structured-content", arguments={"location": "Chicago"})
        assert set(structured.result["structuredContent"]) == {"temperature", "conditions", "humidity"}
        image = await call(server, "get-tiny-image")
        assert [block["type"] for block in image.result["content"]] == ["text", "image", "text"]
        wrong = await call(server, "get-sum", arguments={"a": "no number", "b": 1})
        assert wrong.kind == "failed"

        long = await call(server, "trigger-long-running-operation", arguments={"duration": 0.6, "steps": 3})
        assert "completed. Duration: 0.6 seconds, Steps: 3." in text_of(long)
        assert [told[:2] for told in call.recorder.of("progress")] == [[1, 3], [2, 3], [3, 3]]

        listed = (await call(server, profile={"method": "resources/list"})).result["resources"]
        read = await call(server, profile={"method": "resources/read"}, arguments={"uri": listed[0]["uri"]})
        assert read.result["contents"][0]["text"]
        prompts = (await call(server, profile={"method": "prompts/list"})).result["prompts"]
        assert "args-prompt" in [prompt["name"] for prompt in prompts]
        asked = {"name": "args-prompt", "arguments": {"city": "Zurich"}}
        prompt = await call(server, profile={"method": "prompts/get"}, arguments=asked)
        assert "Zurich" in prompt.result["messages"][0]["content"]["text"]
        tools = (await call(server, profile={"method": "tools/list"})).result["tools"]
        names = [tool["name"] for tool in tools]
        assert "trigger-elicitation-request" in names
        assert "trigger-sampling-request" not in names  # it was not declared


@pytest.mark.timeout(400)
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_everything_asks(transport: str, tmp_path: Path) -> None:
    async with hosted(transport, tmp_path) as (call, server):
        reply = ("answered", {"payload": {"name": "Ada Lovelace", "integer": 7}})
        outcome = await call(server, "trigger-elicitation-request", replies=[reply])
        assert "Ada Lovelace" in text_of(outcome)
        assert call.recorder.questions[0]["responseSchema"]["properties"]["integer"]["type"] == "integer"
        sampling = {**server, "asks": ["sampling"]}
        said = await call(
            sampling,
            "trigger-sampling-request",
            arguments={"prompt": "2 and 2?"},
            replies=[("answered", {"payload": "4!"})],
        )
        assert "4!" in text_of(said)


@pytest.mark.timeout(400)
async def test_everything_is_stopped_and_killed() -> None:
    async with calling() as call:
        server = everything()
        arguments = {"duration": 600, "steps": 6000}
        under_way = call.begin(server, "trigger-long-running-operation", arguments=arguments, grace_ms=5000)
        await call.recorder.until_started()
        call.stop.request("cancel")
        outcome = await under_way
        assert (outcome.kind, outcome.forced) == ("stopped", False)
        under_way = call.begin(server, "trigger-long-running-operation", arguments=arguments)
        await call.recorder.until_started()
        (pid,) = [child for child in _below(os.getpid()) if b"server-everything" in _command(child)]
        os.kill(pid, signal.SIGKILL)
        outcome = await under_way
        assert outcome.error_message == "the MCP server was killed by SIGKILL before it answered"
        assert text_of(await call(server, "echo", arguments={"message": "back"})) == "Echo: back"


@pytest.mark.timeout(400)
async def test_filesystem(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")
    async with calling() as call:
        server = filesystem(tmp_path)
        read = await call(server, "read_text_file", arguments={"path": str(tmp_path / "a.txt")})
        assert text_of(read) == "hello"
        to, content = tmp_path / "b.txt", "x" * 200_000
        await call(server, "write_file", arguments={"path": str(to), "content": content})
        assert to.read_text() == content
        refused = await call(server, "read_text_file", arguments={"path": "/etc/passwd"})
        assert (refused.kind, refused.error_kind) == ("failed", "tool_error")
        assert "denied" in (refused.error_message or "")


def _below(root: int) -> list[int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    found = [root]
    for parent in found:
        found += [pid for pid, its in parents.items() if its == parent]
    return found[1:]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
