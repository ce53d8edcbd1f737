"""A server on the loopback with a real ledger, a client for it, and a worker that does what a test tells it."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
from starlette.types import ASGIApp

from ringback.api.app import create_app
from ringback.api.corking import CorkedHttpProtocol
from ringback.core import Core, Options, assemble
from ringback.domain.ids import ProjectId
from ringback.ports.store import Desk
from ringback.services.access import SCOPES
from ringback.store.clock import SystemChance, SystemClock, UuidIds
from ringback.store.local_notify import LocalNotify
from ringback.store.sqlite import SqliteStore
from tests.api.contract import hold

Mount = Callable[[Core, ASGIApp], Mapping[str, ASGIApp]]
TOKEN = "rbp_" + "o" * 43
OTHER_TOKEN = "rbp_" + "p" * 43  # bound to the project `other`
BOUND_TOKEN = "rbp_" + "q" * 43  # bound to the project `default`
TOOL: Mapping[str, Any] = {
    "name": "echo",
    "description": "Say it again",
    "runtime": "function",
    "inputSchema": {"type": "object"},
    "profile": {"pool": "default"},
    "policy": {},
}


@dataclass(slots=True)
class Event:
    """One message of a stream."""

    id: str
    body: dict[str, Any]

    @property
    def sequence(self) -> int:
        return int(self.body["sequence"])

    @property
    def type(self) -> str:
        return str(self.body["event"]["type"])

    @property
    def is_final(self) -> bool:
        return self.type == "run.status.changed" and self.body["event"]["status"] in ("succeeded", "failed", "canceled")


@dataclass(slots=True)
class Door:
    """The server under test and its client."""

    core: Core
    client: httpx2.AsyncClient
    server: uvicorn.Server
    path: Path

    async def start(self, arguments: Mapping[str, Any] | None = None, /, *, tool: str = "echo", **more: Any) -> str:
        """Start a run; its id."""
        body = {"tool": tool, "input": {"mode": "tool", "arguments": dict(arguments or {})}, **more}
        answer = await self.client.post("/v1/runs", json=body)
        assert answer.status_code == 202, answer.text
        return str(answer.json()["runId"])

    async def get(self, path: str, **headers: str) -> dict[str, Any]:
        answer = await self.client.get(path, headers=headers)
        assert answer.status_code == 200, answer.text
        body: dict[str, Any] = answer.json()
        return body

    async def run(self, run_id: str) -> dict[str, Any]:
        return await self.get(f"/v1/runs/{run_id}")

    async def raw(self, method: str, path: str, headers: Sequence[tuple[str, str]] = ()) -> tuple[int, bytes, bytes]:
        """Status, head and body of a request whose headers no decent client would send."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.client.base_url.port)
        lines = [
            f"{method} {path} HTTP/1.1",
            "host: x",
            "connection: close",
            *(f"{a}: {b}" for a, b in headers),
            "",
            "",
        ]
        writer.write("\r\n".join(lines).encode("latin-1"))
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        await writer.wait_closed()
        return int(head.split(b" ")[1]), head, body

    @asynccontextmanager
    async def stream(self, path: str, **headers: str) -> AsyncIterator[AsyncIterator[Event]]:
        """The messages of a stream as they arrive."""
        named = {"accept": "text/event-stream", **{name.replace("_", "-"): value for name, value in headers.items()}}
        async with self.client.stream("GET", path, headers=named) as answer:
            assert answer.status_code == 200, (await answer.aread()).decode()
            yield _messages(answer)

    async def events(self, run_id: str, query: str = "", **headers: str) -> list[Event]:
        """Everything that a stream delivers until the server closes it."""
        async with asyncio.timeout(15), self.stream(f"/v1/runs/{run_id}/events{query}", **headers) as messages:
            return [message async for message in messages]

    async def worker(self, name: str = "w1", *, slots: int = 8, pool: str = "default") -> Worker:
        offers = [f"{pool}/command", f"{pool}/script", f"{pool}/function:echo"]
        body = {"name": name, "incarnation": name, "protocolVersion": 1, "slots": slots, "offers": offers}
        answer = await self.client.post("/v1/workers/attach", json=body)
        assert answer.status_code == 200, answer.text
        return Worker(self.client, answer.json()["sessionId"])


async def _messages(answer: httpx2.Response) -> AsyncIterator[Event]:
    message: dict[str, str] = {}
    async for line in answer.aiter_lines():
        if line:
            name, _, value = line.partition(": ")
            message[name] = value
            continue
        if "data" in message:
            yield Event(message["id"], json.loads(message["data"]))
        message = {}


@dataclass(slots=True)
class Worker:
    """Speaks the runtime protocol."""

    client: httpx2.AsyncClient
    session_id: str

    async def post(self, verb: str, body: Any) -> dict[str, Any]:
        answer = await self.client.post(f"/v1/workers/{self.session_id}/{verb}", json=body)
        assert answer.status_code == 200, answer.text
        told: dict[str, Any] = answer.json()
        return told

    async def claim(self, slots: int = 8, wait_ms: int = 5_000) -> list[dict[str, Any]]:
        claims: list[dict[str, Any]] = (await self.post("claim", {"slots": slots, "waitMs": wait_ms}))["claims"]
        return claims

    async def begin(self) -> dict[str, Any]:
        """Claim one run and start its work."""
        (claim,) = await self.claim(1)
        assert await self.report(claim, {"kind": "start"}) == [{"ok": True}]
        return claim

    async def report(self, claim: Mapping[str, Any], *reports: Mapping[str, Any]) -> list[dict[str, Any]]:
        mark = {"runId": claim["runId"], "fence": claim["fence"]}
        results: list[dict[str, Any]] = (
            await self.post("report", {"reports": [{**mark, **each} for each in reports]})
        )["results"]
        return results

    async def write(self, claim: Mapping[str, Any], *chunks: bytes, stream: str = "stdout") -> None:
        """Report output, one event a chunk."""
        events = [chunk_event(chunk, stream) for chunk in chunks]
        assert await self.report(claim, {"kind": "events", "events": events}) == [{"ok": True}]

    async def settle(self, claim: Mapping[str, Any], outcome: str = "succeeded", **more: Any) -> None:
        assert await self.report(claim, {"kind": "settle", "outcome": outcome, **more}) == [{"ok": True}]

    async def finish(self, *chunks: bytes, outcome: str = "succeeded", **more: Any) -> dict[str, Any]:
        """One run from its claim to its end, with this output."""
        claim = await self.begin()
        if chunks:
            await self.write(claim, *chunks)
        await self.settle(claim, outcome, **more)
        return claim


def chunk_event(data: bytes, stream: str = "stdout", offset: int = 0) -> dict[str, Any]:
    return {"type": "output.chunk", "stream": stream, "offset": offset, "data": base64.b64encode(data).decode()}


@asynccontextmanager
async def opened(
    folder: Path, tools: Sequence[Mapping[str, Any]] = (TOOL,), mount: Mount | None = None
) -> AsyncIterator[Door]:
    """A door over a fresh ledger with two projects, and what `mount` makes beside it."""
    clock, notify, path = SystemClock(), LocalNotify(), folder / "ringback.db"
    store = SqliteStore(path, clock=clock, notify=notify)
    await store.open()
    core = assemble(
        store=store,
        clock=clock,
        ids=UuidIds(),
        chance=SystemChance(),
        notify=notify,
        pepper=b"pepper",
        options=Options(),
    )
    await core.start()
    await _populate(core, tools)
    listener = socket.create_server(("127.0.0.1", 0))
    mounted = {} if mount is None else mount(core, create_app(core, version="1"))
    config = _config(create_app(core, version="1", mounted=mounted))
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    await server.startup(sockets=[listener])
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    headers = {"authorization": f"Bearer {TOKEN}", "ringback-project": "default"}
    try:
        hooks = {"response": [hold]}
        async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=60, event_hooks=hooks) as client:
            yield Door(core, client, server, path)
    finally:
        core.close_doors()
        await server.shutdown(sockets=[listener])
        await core.stop()
        await store.aclose()


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        loop="none",
        http=CorkedHttpProtocol,
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=5,
    )


async def _populate(core: Core, tools: Sequence[Mapping[str, Any]]) -> None:
    project = {"project_id": "other", "org_id": "local", "slug": "other", "name": "other", "created_at": 0}

    def work(desk: Desk) -> None:
        desk.write("insert_project", project)

    await core.store.commit(work)
    await core.access.install()
    await core.access.remember(TOKEN, owner="tester", scopes=SCOPES)
    await core.access.remember(OTHER_TOKEN, owner="other", scopes=SCOPES, project_id=ProjectId("other"))
    await core.access.remember(BOUND_TOKEN, owner="bound", scopes=SCOPES, project_id=ProjectId("default"))
    for project_id in ("default", "other"):
        await core.catalogue.resources.apply(ProjectId(project_id), tools, actor="tester")
