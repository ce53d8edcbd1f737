"""A lean HTTP/1.1 client for the worker's session: one keep-alive connection, one request at a time, POST only.

It exists because of a measurement: a request through httpx2 costs 620 µs of processor time in the worker and 15 MB of
memory, one through this module 50 µs and 1 MB. A no-op run needs about two requests, so the difference is a whole core
at the rates that the product aims for (T3), and a third of an idle worker's memory (T6).

What is deliberately absent: redirects, cookies, compression, proxies, streaming of bodies. The server of the protocol
needs none of them, and everything that is public goes through the ordinary client in `ringback.client`.
"""

import asyncio
import ssl
from dataclasses import dataclass, field
from typing import Final, Self
from urllib.parse import urlsplit

HEAD_BYTES_MAX: Final = 64 * 1024
BODY_BYTES_MAX: Final = 64 * 1024 * 1024
CONNECT_WITHIN_S: Final = 10.0


class UnreachableError(Exception):
    """The server gave no answer to a request; whether it acted on it is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where the server listens, read from its URL."""

    host: str
    port: int
    tls: bool = False
    prefix: str = ""

    @classmethod
    def parse(cls, url: str) -> Self:
        """Read `http://host:port/prefix`.

        Raises:
            ValueError: the URL is not http or https, or has no host.
        """
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(f"not an http(s) URL with a host: {parts.scheme}://{parts.hostname or ''}")
        tls = parts.scheme == "https"
        return cls(host=parts.hostname, port=parts.port or (443 if tls else 80), tls=tls, prefix=parts.path.rstrip("/"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back; the names of headers are in lower case."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


class Connection:
    """One connection to the server, opened on first use and again after it broke."""

    def __init__(self, address: Address, token: str) -> None:
        """Nothing is opened yet; the token is sent as a bearer token with every request."""
        if any(not 0x20 < ord(char) < 0x7F for char in token):
            raise ValueError("the token holds characters that cannot stand in a header")
        self._address = address
        host = f"[{address.host}]" if ":" in address.host else address.host
        authority = f"Host: {host}:{address.port}\r\nAuthorization: Bearer {token}\r\n"
        self._headers = f"{authority}Content-Type: application/json\r\n"
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def post(self, path: str, body: bytes, *, within_s: float) -> Answer:
        """Send one request and wait for its answer.

        A connection that the server closed while it was idle is opened anew once, unseen by the caller.

        Raises:
            UnreachableError: no connection, a broken one, no answer in time, or an answer that is not HTTP.
        """
        try:
            async with asyncio.timeout(within_s):
                return await self._exchange(path, body)
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as error:
            self.abort()
            raise UnreachableError(f"{type(error).__name__}: {error}") from error
        except asyncio.CancelledError:
            self.abort()
            raise

    def abort(self) -> None:
        """Close at once; a request that is under way fails."""
        if self._writer is not None:
            self._writer.transport.abort()
        self._reader = self._writer = None

    async def _exchange(self, path: str, body: bytes) -> Answer:
        head = f"POST {self._address.prefix}{path} HTTP/1.1\r\n{self._headers}Content-Length: {len(body)}\r\n\r\n"
        request = head.encode("ascii") + body
        kept = self._kept()
        if kept is not None:
            try:
                return await self._talk(*kept, request)
            except ConnectionError:
                self.abort()
            except asyncio.IncompleteReadError as error:
                self.abort()
                if error.partial:
                    raise
        return await self._talk(*await self._open(), request)

    def _kept(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        reader, writer = self._reader, self._writer
        if reader is None or writer is None or reader.at_eof() or writer.is_closing():
            self.abort()
            return None
        return reader, writer

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        tls = ssl.create_default_context() if self._address.tls else None
        async with asyncio.timeout(CONNECT_WITHIN_S):
            reader, writer = await asyncio.open_connection(
                self._address.host, self._address.port, ssl=tls, limit=HEAD_BYTES_MAX
            )
        self._reader, self._writer = reader, writer
        return reader, writer

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> Answer:
        writer.write(request)
        await writer.drain()
        status, headers = _read_head(await reader.readuntil(b"\r\n\r\n"))
        body = b"" if status in {204, 304} else await _read_body(reader, headers)
        if headers.get("connection", "").lower() == "close":
            self.abort()
        return Answer(status=status, body=body, headers=headers)


def _read_head(head: bytes) -> tuple[int, dict[str, str]]:
    lines = head.decode("latin-1").split("\r\n")
    version, _, rest = lines[0].partition(" ")
    if not version.startswith("HTTP/1."):
        raise ValueError("the answer is not HTTP/1.1")
    pairs = (line.partition(":") for line in lines[1:] if line)
    return int(rest[:3]), {name.lower(): value.strip() for name, _, value in pairs}


async def _read_body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return await _read_chunks(reader)
    return await reader.readexactly(_within_limit(int(headers.get("content-length", "0"))))


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = bytearray()
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        _within_limit(len(body) + size)
        body += (await reader.readexactly(size + 2))[:-2]
    while await reader.readuntil(b"\r\n") != b"\r\n":
        continue
    return bytes(body)


def _within_limit(size: int) -> int:
    if not 0 <= size <= BODY_BYTES_MAX:
        raise ValueError(f"an answer of {size} bytes is beyond the limit")
    return size
