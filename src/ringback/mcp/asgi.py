"""A wire into an ASGI application of the same process: no socket, the same requests, the same rules."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any
from urllib.parse import urlencode

from starlette.types import ASGIApp, Message

from ringback.client.exchange import Answer, LostError, Request


class AsgiWire:
    """Implements `ringback.client.aio.AsyncWire`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def send(self, request: Request) -> Answer:
        """See `AsyncWire`."""
        exchange = _Exchange(request)
        await self._app(exchange.scope, exchange.receive, exchange.send)
        pieces = []
        while piece := exchange.pieces.get_nowait():
            pieces.append(piece)
        return Answer(exchange.status, exchange.headers, b"".join(pieces))

    async def open(self, request: Request) -> tuple[Answer, AsgiBody]:
        """See `AsyncWire`."""
        exchange = _Exchange(request)
        serving = asyncio.ensure_future(self._app(exchange.scope, exchange.receive, exchange.send))
        body = AsgiBody(exchange, serving)
        begun = asyncio.ensure_future(exchange.begun.wait())
        try:
            await asyncio.wait((serving, begun), return_when=asyncio.FIRST_COMPLETED)
        finally:
            begun.cancel()
        if not exchange.begun.is_set():
            await body.close()
            raise LostError("the application gave no answer", was_sent=True)
        content = b""
        if exchange.status >= 400:
            while piece := await body.read():
                content += piece
        return Answer(exchange.status, exchange.headers, content), body

    async def close(self) -> None:
        """See `AsyncWire`."""


class AsgiBody:
    """Implements `ringback.client.aio.AsyncBody`."""

    def __init__(self, exchange: _Exchange, serving: asyncio.Future[None]) -> None:
        self._exchange, self._serving = exchange, serving
        serving.add_done_callback(lambda _: exchange.pieces.put_nowait(b""))

    async def read(self) -> bytes:
        """See `AsyncBody`."""
        return await self._exchange.pieces.get()

    async def close(self) -> None:
        """See `AsyncBody`."""
        self._exchange.gone.set()
        self._serving.cancel()
        await asyncio.wait((self._serving,))


class _Exchange:
    """One request and its answer."""

    def __init__(self, request: Request) -> None:
        headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in request.headers.items()]
        self.scope: MutableMapping[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": "http",
            "path": request.path,
            "raw_path": request.path.encode(),
            "query_string": urlencode(dict(request.query)).encode(),
            "headers": headers,
            "server": ("ringback", 80),
            "client": ("mcp", 0),
        }
        self.begun, self.gone = asyncio.Event(), asyncio.Event()
        self.status = 500
        self.headers: dict[str, str] = {}
        self.pieces: asyncio.Queue[bytes] = asyncio.Queue()
        self._body: bytes | None = request.body or b""

    async def receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode("latin-1") for name, value in message["headers"]}
            self.begun.set()
            return
        if piece := message.get("body", b""):
            self.pieces.put_nowait(piece)
        if not message.get("more_body", False):
            self.pieces.put_nowait(b"")
