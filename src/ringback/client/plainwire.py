"""A wire on the standard library alone, for a server on this very machine.

The command line is a process of its own for every command: importing httpx2 would cost it 100 ms each time. A connection
to the own machine needs nothing of what that brings. One connection a request, so nothing can be stale.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException, HTTPResponse
from urllib.parse import urlencode, urlsplit

import ringback
from ringback.client.exchange import Answer, LostError, Request

PIECE_BYTES = 64 * 1024


class PlainWire:
    """See `Wire`. For one thread."""

    def __init__(self, url: str) -> None:
        """Nothing is opened yet."""
        parts = urlsplit(url)
        self._host, self._port, self._prefix = parts.hostname or "", parts.port, parts.path.rstrip("/")

    def send(self, request: Request) -> Answer:
        """See `Wire`."""
        answer, body = self._open(request)
        try:
            return Answer(answer.status, answer.headers, body.rest())
        finally:
            body.close()

    def open(self, request: Request) -> tuple[Answer, "PlainBody"]:
        """See `Wire`."""
        answer, body = self._open(request)
        return (Answer(answer.status, answer.headers, body.rest()) if answer.status >= 400 else answer), body

    def close(self) -> None:
        """Nothing is kept open."""

    def _open(self, request: Request) -> tuple[Answer, "PlainBody"]:
        connection = HTTPConnection(self._host, self._port, timeout=request.within_s)
        with _failures(was_sent=False):
            connection.connect()
        query = f"?{urlencode(request.query)}" if request.query else ""
        headers = {"User-Agent": f"ringback/{ringback.__version__}", "Connection": "close", **request.headers}
        with _failures(was_sent=True):
            connection.request(request.method, self._prefix + request.path + query, request.body, headers)
            response = connection.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, headers), PlainBody(connection, response)


class PlainBody:
    """See `Body`."""

    def __init__(self, connection: HTTPConnection, response: HTTPResponse) -> None:
        """Takes both over."""
        self._connection, self._response = connection, response

    def read(self) -> bytes:
        """See `Body`."""
        with _failures(was_sent=True):
            return self._response.read1(PIECE_BYTES)

    def rest(self) -> bytes:
        """All that is left."""
        with _failures(was_sent=True):
            return self._response.read()

    def close(self) -> None:
        """See `Body`."""
        self._response.close()
        self._connection.close()


@contextmanager
def _failures(*, was_sent: bool) -> Iterator[None]:
    try:
        yield
    except (OSError, HTTPException) as failure:
        raise LostError(str(failure) or type(failure).__name__, was_sent=was_sent) from failure
