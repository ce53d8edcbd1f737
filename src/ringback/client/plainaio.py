"""The awaited twin of `plainwire`: for a server on this very machine, on asyncio and h11 alone.

A request through a general client costs several milliseconds of processor time, one on a connection that is open a tenth of that.
A kept connection may be stale, because the server restarted: so only what may be repeated is sent on one, and once more on a
fresh one when no answer came.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import quote, urlencode, urlsplit

import h11

import ringback
from ringback.client.exchange import Answer, LostError, Request

PIECE_BYTES = 64 * 1024
KEPT_MAX = 8
KEPT_S = 30.0  # a server lets go of a connection after 75 s of silence


class AsyncPlainWire:
    """See `AsyncWire`."""

    def __init__(self, url: str) -> None:
        """Nothing is opened yet."""
        parts = urlsplit(url)
        self._host, self._port, self._prefix = parts.hostname or "", parts.port or 80, parts.path.rstrip("/")
        self._named = f"{parts.hostname}:{self._port}" if ":" not in self._host else f"[{self._host}]:{self._port}"
        self._kept: list[_Connection] = []

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
        """See `AsyncWire`."""
        while self._kept:
            await self._kept.pop().aclose()

    async def _open(self, request: Request) -> tuple[Answer, "AsyncPlainBody"]:
        connection = self._pick() if request.is_repeatable else None
        if connection is not None:
            try:
                return await self._ask(connection, request)
            except LostError as error:
                if isinstance(error.__cause__, TimeoutError):
                    raise
        with _failures(was_sent=False):
            async with asyncio.timeout(request.within_s):
                connection = _Connection(*await asyncio.open_connection(self._host, self._port))
        return await self._ask(connection, request)

    async def _ask(self, connection: "_Connection", request: Request) -> tuple[Answer, "AsyncPlainBody"]:
        try:
            with _failures(was_sent=True):
                async with asyncio.timeout(request.within_s):
                    answer = await connection.ask(self._head(request), request.body)
        except BaseException:
            connection.close()
            raise
        return answer, AsyncPlainBody(self._kept, connection, request.within_s)

    def _pick(self) -> "_Connection | None":
        while self._kept:
            connection = self._kept.pop()
            if connection.is_fresh():
                return connection
            connection.close()
        return None

    def _head(self, request: Request) -> h11.Request:
        query = f"?{urlencode(request.query)}" if request.query else ""
        path = quote(self._prefix + request.path, safe="/%:@!$&'()*+,;=~-._")
        headers = {"Host": self._named, "User-Agent": f"ringback/{ringback.__version__}", **request.headers}
        if request.body is not None:
            headers["Content-Length"] = str(len(request.body))
        return h11.Request(method=request.method, target=path + query, headers=list(headers.items()))


class _Connection:
    """One connection and where its protocol stands."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._protocol = h11.Connection(h11.CLIENT)
        self._rested_at = 0.0

    def is_fresh(self) -> bool:
        """Whether it was used lately, and nothing shows that the other side has left."""
        is_open = not (self._reader.at_eof() or self._writer.is_closing())
        return is_open and time.monotonic() - self._rested_at < KEPT_S

    async def ask(self, head: h11.Request, body: bytes | None) -> Answer:
        """Send a request, and read the head of its answer."""
        events = [head, *([h11.Data(data=body)] if body else ()), h11.EndOfMessage()]
        self._writer.write(b"".join(self._protocol.send(event) or b"" for event in events))
        event = await self._next()
        while isinstance(event, h11.InformationalResponse):
            event = await self._next()
        if not isinstance(event, h11.Response):
            raise LostError("no HTTP answer", was_sent=True)
        return Answer(event.status_code, {name.decode(): value.decode("latin-1") for name, value in event.headers})

    async def piece(self) -> bytes:
        """The next bytes of the answer; empty at its end."""
        event = await self._next()
        while isinstance(event, h11.Data):
            if event.data:
                return bytes(event.data)
            event = await self._next()
        return b""

    def rest(self) -> bool:
        """Get ready for another request; False when the connection can't take one."""
        if self._protocol.our_state is not h11.DONE or self._protocol.their_state is not h11.DONE:
            return False
        self._protocol.start_next_cycle()
        self._rested_at = time.monotonic()
        return True

    def close(self) -> None:
        self._writer.close()

    async def aclose(self) -> None:
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

    async def _next(self) -> h11.Event | None:
        """What came next of this answer; None once it is whole."""
        while self._protocol.their_state is not h11.DONE:
            event = self._protocol.next_event()
            if isinstance(event, h11.Event):
                return event
            self._protocol.receive_data(await self._reader.read(PIECE_BYTES))
        return None


class AsyncPlainBody:
    """See `AsyncBody`. Gives its connection back when all was read, and closes it otherwise."""

    def __init__(self, kept: list[_Connection], connection: _Connection, within_s: float) -> None:
        """Takes the connection over."""
        self._kept, self._connection, self._within_s = kept, connection, within_s
        self._is_over = False

    async def read(self) -> bytes:
        """See `AsyncBody`."""
        with _failures(was_sent=True):
            async with asyncio.timeout(self._within_s):
                return await self._connection.piece()

    async def rest(self) -> bytes:
        """All that is left."""
        pieces = []
        while piece := await self.read():
            pieces.append(piece)
        return b"".join(pieces)

    async def close(self) -> None:
        """See `AsyncBody`."""
        if self._is_over:
            return
        self._is_over = True
        if len(self._kept) < KEPT_MAX and self._connection.rest():
            self._kept.append(self._connection)
        else:
            self._connection.close()


@contextmanager
def _failures(*, was_sent: bool) -> Iterator[None]:
    try:
        yield
    except (OSError, TimeoutError, h11.ProtocolError) as failure:
        raise LostError(str(failure) or type(failure).__name__, was_sent=was_sent) from failure
