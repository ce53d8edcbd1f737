"""A lean HTTP client: it must cost little, because it shares two cores with what it measures.

One keep-alive connection, one request at a time, answers with a content length only. A request through a general client costs
some 600 µs, one through this some 30 µs.
"""

import asyncio
from collections.abc import Iterable
from typing import Self, cast

import msgspec

_LENGTH = b"content-length: "


class Caller(asyncio.Protocol):
    """One connection. `request` is ready-made bytes, see `Requests`."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._buffer = b""

    @classmethod
    async def connect(cls, port: int) -> Self:
        _, caller = await asyncio.get_running_loop().create_connection(cls, "127.0.0.1", port)
        return caller

    async def call(self, request: bytes) -> tuple[int, bytes]:
        """Status and body."""
        assert self._transport is not None
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by inheritance

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionResetError("the server closed the connection"))

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer + data if self._buffer else data
        head = buffer.find(b"\r\n\r\n")
        if head >= 0:
            at = buffer.find(_LENGTH, 0, head) + len(_LENGTH)
            end = buffer.find(b"\r\n", at)
            body = head + 4
            if len(buffer) >= body + int(buffer[at:end]):
                self._buffer = b""
                if self._answer is not None and not self._answer.done():
                    self._answer.set_result((int(buffer[9:12]), buffer[body:]))
                return
        self._buffer = buffer


class Requests:
    """Makes requests with the token."""

    def __init__(self, port: int, token: str) -> None:
        self._head = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"

    def post(self, path: str, body: object) -> bytes:
        payload = msgspec.json.encode(body)
        return (
            self._made("POST", path, f"Content-Type: application/json\r\nContent-Length: {len(payload)}\r\n") + payload
        )

    def get(self, path: str, headers: str = "") -> bytes:
        return self._made("GET", path, headers)

    def delete(self, path: str) -> bytes:
        return self._made("DELETE", path, "")

    def _made(self, method: str, path: str, headers: str) -> bytes:
        return f"{method} {path} HTTP/1.1\r\n{self._head}{headers}\r\n".encode("ascii")


def value(body: bytes, name: str) -> object:
    """A member of a JSON object."""
    found: dict[str, object] = msgspec.json.decode(body)
    return found[name]


async def flooded(callers: Iterable[Caller], request: bytes, count: int) -> None:
    """Send `count` times the same request, one at a time on each connection; every answer must be a 202."""
    numbers = iter(range(count))

    async def lane(caller: Caller) -> None:
        for _ in numbers:
            status, body = await caller.call(request)
            if status != 202:
                raise RuntimeError(f"{status}: {body[:300]!r}")

    await asyncio.gather(*(lane(caller) for caller in callers))
