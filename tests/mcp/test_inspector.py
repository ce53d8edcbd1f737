"""The MCP Inspector's command line in both eras: lists the tools and calls one."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.api.door import TOKEN
from tests.mcp.clients import environment, inspector
from tests.mcp.serving import ROOT, serving


@pytest.mark.timeout(400)
@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_the_inspector_lists_and_calls(tmp_path: Path, era: str) -> None:
    async with serving(tmp_path) as door:
        url = str(door.client.base_url).rstrip("/")
        env = {"RINGBACK_URL": url, "RINGBACK_TOKEN": TOKEN, "RINGBACK_PROJECT": "default", "PYTHONPATH": f"{ROOT}/src"}

        async def ask(*words: str) -> Any:
            given = [word for name, value in env.items() for word in ("-e", f"{name}={value}")]
            command = [*inspector(), "--cli", *given, sys.executable, "-m", "ringback", "mcp"]
            process = await asyncio.create_subprocess_exec(
                *command,
                "--protocol-era",
                era,
                *words,
                env={**environment(), **env},
                cwd=tmp_path,
                stdout=-1,
                stderr=-1,
            )
            out, err = await process.communicate()
            assert process.returncode == 0, (out + err).decode()
            return json.loads(out)

        names = [tool["name"] for tool in (await ask("--method", "tools/list"))["tools"]]
        assert {"start_pause", "greet", "read_async_run"} <= set(names)
        called = await ask("--method", "tools/call", "--tool-name", "greet", "--tool-arg", "name=Bob")
        assert called["structuredContent"]["result"] == "Hello, Bob!"
