"""An event stream as its reader sees it, with the moment at which each piece came."""

import asyncio
import time
from typing import Self, cast

from bench.caller import Requests

_CREATED = b'"createdAt":"'


class Listener(asyncio.Protocol):
    """One open stream of one run."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._transport: asyncio.Transport | None = None
        self._seen = b""
        self._wanted: tuple[bytes, asyncio.Future[tuple[float, bytes]]] | None = None

    @classmethod
    async def open(cls, port: int, requests: Requests, run_id: str) -> Self:
        """A stream that has begun."""
        request = requests.get(f"/v1/runs/{run_id}/events", "Accept: text/event-stream\r\n")
        _, listener = await asyncio.get_running_loop().create_connection(lambda: cls(request), "127.0.0.1", port)
        await listener.sees(b"retry:")
        return listener

    async def sees(self, text: bytes) -> tuple[float, bytes]:
        """Wait for `text`; when it came (seconds since 1970), and what came with it."""
        if text in self._seen:
            return time.time(), self._seen
        wanted: asyncio.Future[tuple[float, bytes]] = asyncio.get_running_loop().create_future()
        self._wanted = (text, wanted)
        return await wanted

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        came = time.time()
        self._seen = self._seen[-4096:] + data
        if self._wanted is not None and self._wanted[0] in self._seen and not self._wanted[1].done():
            self._wanted[1].set_result((came, self._seen))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._wanted is not None and not self._wanted[1].done():
            self._wanted[1].set_exception(exc or ConnectionResetError("the stream ended"))


def created_at(seen: bytes, marker: bytes) -> str:
    """`createdAt` of the event that holds `marker`."""
    begin = seen.rfind(b"data:", 0, seen.index(marker))
    at = seen.index(_CREATED, begin) + len(_CREATED)
    return seen[at : seen.index(b'"', at)].decode()
