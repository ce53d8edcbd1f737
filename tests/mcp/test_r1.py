"""R1 word for word: `read_async_run` over stdio, as the page asks and answers it, and each failure of the page."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest

from mcp import Client
from ringback.client.aio import AsyncDriver
from ringback.client.exchange import Link
from ringback.client.retry import HASTY
from ringback.client.wires import AsyncHttpxWire
from ringback.domain.ids import ProjectId
from ringback.domain.roles import Role
from ringback.mcp.caller import Caller
from ringback.mcp.server import create_server
from ringback.ports.store import Desk
from ringback.services.access import SCOPES
from tests.api.door import Door, opened
from tests.mcp.lines import Lines, front

RUN_ID = "00000000-0000-4000-8000-000000000001"
RUN = {
    "id": RUN_ID,
    "request_id": RUN_ID,
    "method": "TEST",
    "path": "mcp_demo",
    "status": "succeeded",
    "source": "test",
    "created_at": "2026-01-01T00:00:00Z",
    "output": {"ok": True},
}
VIEWER = "rbp_" + "v" * 43
Respond = Callable[[str], tuple[int, Any]]


@asynccontextmanager
async def control_plane(respond: Respond) -> AsyncIterator[str]:
    """An API that answers each path as it is told to; it has no tools."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        path = head.split(b" ")[1].decode()
        status, value = (200, {"items": []}) if path.startswith("/v1/tools") else respond(path)
        body = json.dumps(value).encode()
        kind = "application/json" if status < 400 else "application/problem+json"
        lines = (f"HTTP/1.1 {status} X", f"content-type: {kind}", f"content-length: {len(body)}", "connection: close")
        writer.write("\r\n".join((*lines, "", "")).encode() + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@asynccontextmanager
async def asking(url: str, folder: Path, **variables: str) -> AsyncIterator[Lines]:
    given = {"RINGBACK_URL": url, "RINGBACK_TOKEN": VIEWER, "RINGBACK_DATA": str(folder / "none"), **variables}
    async with front(given) as lines:
        await lines.greet()
        yield lines


def text_of(answer: dict[str, Any]) -> Any:
    (block,) = answer["result"]["content"]
    assert block["type"] == "text"
    return json.loads(block["text"])


async def test_the_pages_request_gets_the_pages_answer(tmp_path: Path) -> None:
    asked: list[str] = []

    def respond(path: str) -> tuple[int, Any]:
        asked.append(path)
        return 200, RUN

    async with control_plane(respond) as url, asking(url, tmp_path) as lines:
        answer = await lines.call(3, "read_async_run", project="mcp-lab", run_id=RUN_ID)
        text = json.dumps(RUN, separators=(",", ":"))
        result = {"content": [{"type": "text", "text": text}], "isError": False}
        assert answer == {"jsonrpc": "2.0", "id": 3, "result": result}
        assert asked == [f"/api/projects/mcp-lab/async-runs/{RUN_ID}"]  # one read, no long poll


async def test_a_project_that_is_null_or_omitted_is_the_connections(tmp_path: Path) -> None:
    asked: list[str] = []

    def respond(path: str) -> tuple[int, Any]:
        asked.append(path.split("/")[3])
        return 200, RUN

    async with control_plane(respond) as url, asking(url, tmp_path, RINGBACK_PROJECT="current") as lines:
        await lines.call(3, "read_async_run", project=None, run_id=RUN_ID)
        await lines.call(4, "read_async_run", run_id=RUN_ID)
    assert asked == ["current", "current"]


async def test_no_project_at_all(tmp_path: Path) -> None:
    slugs = [{"slug": "a", "name": "a"}, {"slug": "b", "name": "b"}]
    async with control_plane(lambda _: (200, {"items": slugs})) as url, asking(url, tmp_path) as lines:
        answer = await lines.call(3, "read_async_run", run_id=RUN_ID)
        assert answer["result"]["isError"] is True
        assert text_of(answer)["error"]["code"] == "project_required"


async def test_a_failed_run_is_read_successfully(tmp_path: Path) -> None:
    run = {**RUN, "status": "failed", "error_kind": "tool_error"}
    async with control_plane(lambda _: (200, run)) as url, asking(url, tmp_path) as lines:
        answer = await lines.call(3, "read_async_run", project="mcp-lab", run_id=RUN_ID)
        assert answer["result"]["isError"] is False
        assert text_of(answer) == run


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [(401, "http_4xx", False), (403, "http_4xx", False), (404, "http_4xx", False), (500, "http_5xx", False)],
)
async def test_what_the_control_plane_refuses(tmp_path: Path, status: int, code: str, retryable: bool) -> None:
    problem = {"status": status, "code": "some", "title": "no", "retryable": retryable, "requestId": "r-1"}
    async with control_plane(lambda _: (status, problem)) as url, asking(url, tmp_path) as lines:
        answer = await lines.call(3, "read_async_run", project="mcp-lab", run_id=RUN_ID)
        assert answer["result"]["isError"] is True
        error = text_of(answer)["error"]
        assert error.pop("message")
        assert error == {"code": code, "http_status": status, "retryable": retryable, "request_id": "r-1"}


async def test_a_server_that_is_away(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    async with asking(url, tmp_path) as lines:
        answer = await lines.call(3, "read_async_run", project="mcp-lab", run_id=RUN_ID)
        assert answer["result"]["isError"] is True
        error = text_of(answer)["error"]
        assert (error["code"], error["retryable"]) == ("network_error", True)


async def test_a_server_that_does_not_answer_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code is `timeout`, and the run may be read again."""
    monkeypatch.setattr("ringback.mcp.caller.ANSWER_WITHIN_S", 0.2)
    silent = await asyncio.start_server(lambda _, writer: held.append(writer), "127.0.0.1", 0)
    held: list[asyncio.StreamWriter] = []
    url = f"http://127.0.0.1:{silent.sockets[0].getsockname()[1]}"
    driver = AsyncDriver(AsyncHttpxWire(url))
    caller = Caller(driver, Link(url=url, token=VIEWER, retry=HASTY))

    async def caller_of(_: Any) -> Caller:
        return caller

    try:
        async with Client(create_server(caller_of)) as client:
            answer = await client.call_tool("read_async_run", {"project": "mcp-lab", "run_id": RUN_ID})
        (block,) = answer.content
        assert answer.is_error
        assert isinstance(block, types.TextContent)
        error = json.loads(block.text)["error"]
        assert (error["code"], error["retryable"]) == ("timeout", True)
        assert "http_status" not in error
        assert held  # it was asked
    finally:
        await driver.wire.close()
        for writer in held:
            writer.close()
        silent.close()
        await silent.wait_closed()


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_async_run", {"project": "mcp-lab"}),
        ("read_async_run", {"project": "mcp-lab", "run_id": None}),
        ("read_async_run", {"project": "mcp-lab", "run_id": 1}),
        ("read_async_run", {"project": "mcp-lab", "run_id": RUN_ID, "other": 1}),
        ("no_such_tool", {}),
    ],
)
async def test_a_wrong_shape_and_an_unknown_tool_are_errors_of_the_protocol(
    tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    async with control_plane(lambda _: (200, {"items": []})) as url, asking(url, tmp_path) as lines:
        answer = await lines.ask(3, "tools/call", name=tool, arguments=arguments)
        assert answer["error"]["code"] == -32602
        assert "result" not in answer


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Door]:
    """A real server with the page's project, and a Viewer of another one."""
    async with opened(tmp_path) as door:
        values = {"project_id": "lab", "org_id": "local", "slug": "mcp-lab", "name": "lab", "created_at": 0}

        def work(desk: Desk) -> None:
            desk.write("insert_project", values)
            desk.write("insert_user", {"user_id": "vera", "name": "vera", "platform_role": "admin", "created_at": 0})

        await door.core.store.commit(work)
        await door.core.access.install()
        await door.core.access.remember(VIEWER, owner="vera", scopes=SCOPES, user_id="vera")
        door.core.access.know_role(ProjectId("default"), "vera", Role.VIEWER)
        door.core.access.know_platform_role("vera", "admin")  # which is no membership of the page's project
        yield door


async def test_a_viewer_reads_a_real_run(lab: Door, tmp_path: Path) -> None:
    run_id = await lab.start()
    worker = await lab.worker()
    await worker.finish(b"x\n", result={"ok": True})
    url = str(lab.client.base_url).rstrip("/")
    async with asking(url, tmp_path) as lines:
        answer = await lines.call(3, "read_async_run", project="default", run_id=run_id)
        assert answer["result"]["isError"] is False
        assert set(answer["result"]) == {"content", "isError"}
        run = text_of(answer)
        assert {"id", "request_id", "method", "path", "status", "source", "created_at"} <= set(run)
        assert (run["id"], run["status"], run["output"]) == (run_id, "succeeded", {"ok": True})
        assert run["request_id"] != run_id
        assert None not in run.values()
        for unknown in (run_id[:-4] + "0000", "not-an-id", ""):
            answer = await lines.call(4, "read_async_run", project="default", run_id=unknown)
            assert answer["result"]["isError"] is True
            assert text_of(answer)["error"]["code"] == "http_4xx"
        answer = await lines.call(5, "read_async_run", project="mcp-lab", run_id=run_id)  # it is another project's
        assert text_of(answer)["error"]["http_status"] == 404
        answer = await lines.call(6, "stop_job", job_id=run_id)
        assert text_of(answer)["error"]["http_status"] in (400, 403)


async def test_the_list_promises_no_structure(lab: Door, tmp_path: Path) -> None:
    async with asking(str(lab.client.base_url).rstrip("/"), tmp_path, RINGBACK_PROJECT="default") as lines:
        tools = {tool["name"]: tool for tool in (await lines.ask(2, "tools/list"))["result"]["tools"]}
    assert {"read_async_run", "list_projects", "test_run_script"} <= set(tools)
    assert "outputSchema" not in tools["read_async_run"]
    schema = tools["read_async_run"]["inputSchema"]
    assert schema["required"] == ["run_id"]
    assert schema["properties"]["project"]["type"] == ["string", "null"]
    assert tools["test_run_script"]["inputSchema"]["properties"]["args"]["default"] is None
    assert tools["read_async_run"]["annotations"]["readOnlyHint"] is True
