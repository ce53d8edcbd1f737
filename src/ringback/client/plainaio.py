"""The awaited twin of `plainwire`: for a server on this very machine, on asyncio alone.

A request through a general client costs several milliseconds of processor time, a connection to the own machine some tens of
microseconds. One connection a request, so nothing can be stale; HTTP/1.0, so a body ends with its connection.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote, urlencode, urlsplit

import ringback
from ringback.client.exchange import Answer, LostError, Request

PIECE_BYTES = 64 * 1024
HEAD_BYTES_MAX = 64 * 1024


class AsyncPlainWire:
    """See `AsyncWire`."""

    def __init__(self, url: str) -> None:
        """Nothing is opened yet."""
        parts = urlsplit(url)
        self._host, self._port, self._prefix = parts.hostname or "", parts.port or 80, parts.path.rstrip("/")
        self._named = f"{parts.hostname}:{self._port}" if ":" not in self._host else f"[{self._host}]:{self._port}"

    async def send(self, request: Request) -> Answer:
        """See `AsyncWire`."""
        answer, body = await self._open(request)
        try:
            return Answer(answer.status, answer.headers, await body.rest())
        finally:
            await body.close()

    async def open(self, request: Request) -> tuple[Answer, "AsyncPlainBody"]:
        """See `AsyncWire`."""
        answer, body = await self._open(request)
        return (Answer(answer.status, answer.headers, await body.rest()) if answer.status >= 400 else answer), body

    async def close(self) -> None:
        """Nothing is kept open."""

    async def _open(self, request: Request) -> tuple[Answer, "AsyncPlainBody"]:
        with _failures(was_sent=False):
            async with asyncio.timeout(request.within_s):
                reader, writer = await asyncio.open_connection(self._host, self._port, limit=HEAD_BYTES_MAX)
        body = AsyncPlainBody(reader, writer, request.within_s)
        try:
            writer.write(self._head(request) + (request.body or b""))
            with _failures(was_sent=True):
                async with asyncio.timeout(request.within_s):
                    answer = _answer(await reader.readuntil(b"\r\n\r\n"))
        except BaseException:
            await body.close()
            raise
        body.expect(answer.headers.get("content-length"))
        return answer, body

    def _head(self, request: Request) -> bytes:
        query = f"?{urlencode(request.query)}" if request.query else ""
        path = quote(self._prefix + request.path, safe="/%:@!$&'()*+,;=~-._")
        headers = {"Host": self._named, "User-Agent": f"ringback/{ringback.__version__}", **request.headers}
        if request.body is not None:
            headers["Content-Length"] = str(len(request.body))
        lines = [f"{request.method} {path}{query} HTTP/1.0", *(f"{name}: {value}" for name, value in headers.items())]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")


class AsyncPlainBody:
    """See `AsyncBody`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, within_s: float) -> None:
        """Takes the connection over."""
        self._reader, self._writer, self._within_s = reader, writer, within_s
        self._left: int | None = None

    def expect(self, length: str | None) -> None:
        """So many bytes are to come; without a length, all until the end."""
        self._left = int(length) if length is not None and length.isdigit() else None

    async def read(self) -> bytes:
        """See `AsyncBody`."""
        with _failures(was_sent=True):
            async with asyncio.timeout(self._within_s):
                piece = await self._reader.read(PIECE_BYTES)
        if self._left is not None:
            self._left -= len(piece)
            if not piece and self._left > 0:
                raise LostError("the answer ended early", was_sent=True)
        return piece

    async def rest(self) -> bytes:
        """All that is left."""
        pieces = []
        while piece := await self.read():
            pieces.append(piece)
        return b"".join(pieces)

    async def close(self) -> None:
        """See `AsyncBody`."""
        self._writer.close()


def _answer(head: bytes) -> Answer:
    first, *lines = head.decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    if not version.startswith("HTTP/1.") or not rest[:3].isdigit():
        raise LostError("no HTTP answer", was_sent=True)
    pairs = (line.partition(":") for line in lines if ":" in line)
    return Answer(int(rest[:3]), {name.strip().lower(): value.strip() for name, _, value in pairs})


@contextmanager
def _failures(*, was_sent: bool) -> Iterator[None]:
    try:
        yield
    except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as failure:
        raise LostError(str(failure) or type(failure).__name__, was_sent=was_sent) from failure
