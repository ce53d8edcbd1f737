"""Answers, as lean as ASGI allows: a whole body, or a stream that costs one task and one buffer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any

import msgspec
from starlette.types import Receive, Scope, Send

_encode = msgspec.json.Encoder().encode
JSON = "application/json"


class Reply:
    """An answer with its whole body at hand."""

    __slots__ = ("body", "headers", "status")

    def __init__(
        self, status: int, body: bytes = b"", *, media_type: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        self.status, self.body = int(status), body
        self.headers: list[tuple[bytes, bytes]] = [(b"content-length", str(len(body)).encode())]
        if media_type is not None:
            self.headers.append((b"content-type", media_type.encode()))
        for name, value in (headers or {}).items():
            self.add(name, value)

    def add(self, name: str, value: str) -> None:
        self.headers.append((name.lower().encode(), value.encode("latin-1", "replace")))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        body = b"" if scope["method"] == "HEAD" else self.body
        await send({"type": "http.response.body", "body": body})


class Stream(Reply):
    """An answer that is written piece by piece. When its reader goes away, the pieces end with it."""

    __slots__ = ("pieces",)

    def __init__(
        self,
        status: int,
        pieces: AsyncGenerator[bytes],
        *,
        media_type: str,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, media_type=media_type, headers=headers)
        del self.headers[0]  # no length is known, unless `headers` say it
        self.pieces = pieces

    def end_unless(self, is_allowed: Callable[[], Awaitable[bool]]) -> None:
        """Ask before each piece, and end without it on a no. An answer of a promised length is let go on to its end."""
        if all(name != b"content-length" for name, _ in self.headers):
            self.pieces = _while_allowed(self.pieces, is_allowed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        writing = asyncio.current_task()
        gone = asyncio.ensure_future(_disconnect(receive))
        gone.add_done_callback(lambda _: writing.cancel() if writing is not None and not gone.cancelled() else None)
        try:
            await self._write(scope, send)
        except asyncio.CancelledError:
            if not gone.done() or writing is None or writing.uncancel() > 0:
                raise
        finally:
            gone.cancel()

    async def _write(self, scope: Scope, send: Send) -> None:
        async with aclosing(self.pieces):
            await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
            if scope["method"] != "HEAD":
                async for piece in self.pieces:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})


async def _while_allowed(
    pieces: AsyncGenerator[bytes], is_allowed: Callable[[], Awaitable[bool]]
) -> AsyncGenerator[bytes]:
    async with aclosing(pieces):
        async for piece in pieces:
            if not await is_allowed():
                return
            yield piece


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def reply_json(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    return Reply(status, _encode(body), media_type=JSON, headers=headers)
