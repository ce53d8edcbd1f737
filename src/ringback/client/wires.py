"""The two wires on httpx2. Every failure of the connection becomes a `LostError` that says whether the request can have arrived.

Proxies and certificates follow the usual variables, except towards this very machine, where a proxy is never wanted.
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager

import httpx2

import ringback
from ringback.client.exchange import Answer, LostError, Request
from ringback.settings.connection import is_loopback

CONNECT_WITHIN_S = 5.0
NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)
AGENT = {"User-Agent": f"ringback/{ringback.__version__}"}
LIMITS = httpx2.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=15.0)


class HttpxWire:
    """Blocking; safe to share between threads."""

    def __init__(self, url: str) -> None:
        """Nothing is opened yet."""
        self._client = httpx2.Client(base_url=url, headers=AGENT, limits=LIMITS, trust_env=not is_loopback(url))

    def send(self, request: Request) -> Answer:
        """See `Wire`."""
        with _failures():
            return _answer(self._client.send(_outgoing(self._client, request)))

    def open(self, request: Request) -> tuple[Answer, "HttpxBody"]:
        """See `Wire`."""
        with _failures():
            response = self._client.send(_outgoing(self._client, request), stream=True)
            if response.status_code >= 400:
                response.read()
        return _answer(response), HttpxBody(response)

    def close(self) -> None:
        """See `Wire`."""
        self._client.close()


class HttpxBody:
    """See `Body`."""

    def __init__(self, response: httpx2.Response) -> None:
        """Takes the response over."""
        self._response = response
        self._pieces: Iterator[bytes] | None = None

    def read(self) -> bytes:
        """See `Body`."""
        if self._pieces is None:
            self._pieces = self._response.iter_bytes()
        with _failures():
            return next(self._pieces, b"")

    def close(self) -> None:
        """See `Body`."""
        self._response.close()


class AsyncHttpxWire:
    """For one event loop."""

    def __init__(self, url: str) -> None:
        """Nothing is opened yet."""
        self._client = httpx2.AsyncClient(base_url=url, headers=AGENT, limits=LIMITS, trust_env=not is_loopback(url))

    async def send(self, request: Request) -> Answer:
        """See `AsyncWire`."""
        with _failures():
            return _answer(await self._client.send(_outgoing(self._client, request)))

    async def open(self, request: Request) -> tuple[Answer, "AsyncHttpxBody"]:
        """See `AsyncWire`."""
        with _failures():
            response = await self._client.send(_outgoing(self._client, request), stream=True)
            if response.status_code >= 400:
                await response.aread()
        return _answer(response), AsyncHttpxBody(response)

    async def close(self) -> None:
        """See `AsyncWire`."""
        await self._client.aclose()


class AsyncHttpxBody:
    """See `AsyncBody`."""

    def __init__(self, response: httpx2.Response) -> None:
        """Takes the response over."""
        self._response = response
        self._pieces: AsyncIterator[bytes] | None = None

    async def read(self) -> bytes:
        """See `AsyncBody`."""
        if self._pieces is None:
            self._pieces = self._response.aiter_bytes()
        with _failures():
            return await anext(self._pieces, b"")

    async def close(self) -> None:
        """See `AsyncBody`."""
        await self._response.aclose()


def _outgoing(client: httpx2.Client | httpx2.AsyncClient, request: Request) -> httpx2.Request:
    timeout = httpx2.Timeout(request.within_s, connect=CONNECT_WITHIN_S)
    return client.build_request(
        request.method,
        request.path,
        params=dict(request.query) or None,
        headers=dict(request.headers),
        content=request.body,
        timeout=timeout,
    )


def _answer(response: httpx2.Response) -> Answer:
    headers: Mapping[str, str] = {name.lower(): value for name, value in response.headers.items()}
    body = response.content if response.is_stream_consumed or response.is_closed else b""
    return Answer(response.status_code, headers, body)


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except httpx2.RequestError as failure:
        detail = str(failure) or type(failure).__name__
        raise LostError(detail, was_sent=not isinstance(failure, NEVER_SENT)) from failure
