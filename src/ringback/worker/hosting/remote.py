"""A server at an address: streamable HTTP, as the official SDK speaks it.

The SDK's transport is used alone, without its session: it knows streams, session ids, resumption and redirects, and
hands on messages as they are. What a server sends is limited here, in one answer and in one event of a stream alike.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import httpx2
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
)
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import PROTOCOL_VERSION_META_KEY, jsonrpc_message_adapter

from ringback.worker.hosting.errors import GoneError
from ringback.worker.hosting.transport import MESSAGE_MAX, Incoming, Message

CONNECT_WITHIN_S: Final = 10.0
CLOSE_WITHIN_S: Final = 2.0
REASON_WITHIN_S: Final = 1.0


class RemoteTransport:
    """Implements `Transport` over HTTP; made by `open`."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self.protocol_version: str | None = None
        self._url, self._headers = url, dict(headers)
        self._opened: asyncio.Future[tuple[Any, Any]] = asyncio.get_running_loop().create_future()
        self._closing = asyncio.Event()
        self._serving = asyncio.create_task(self._serve(), name="remote-mcp-server")
        self.why = ""

    @classmethod
    async def open(cls, url: str, headers: Mapping[str, str]) -> "RemoteTransport":
        """Ready to send; whether anybody is there shows with the first message."""
        transport = cls(url, headers)
        try:
            await asyncio.shield(transport._opened)
        except asyncio.CancelledError:
            await transport.aclose(0)
            raise
        return transport

    async def send(self, message: Message) -> None:
        """See `Transport`."""
        _, outgoing = await asyncio.shield(self._opened)
        metadata = ClientMessageMetadata(headers=self._stamps(message))
        sent = SessionMessage(jsonrpc_message_adapter.validate_python(message), metadata=metadata)
        try:
            await outgoing.send(sent)
        except Exception:  # noqa: BLE001 - anyio's several ways to say that it is closed
            raise await self._ended() from None

    async def receive(self) -> list[Incoming]:
        """See `Transport`."""
        incoming, _ = await asyncio.shield(self._opened)
        try:
            found = await incoming.receive()
        except Exception:  # noqa: BLE001 - as above
            raise await self._ended() from None
        if isinstance(found, Exception):
            return []
        return [found.message.model_dump(by_alias=True, mode="json", exclude_unset=True)]

    async def aclose(self, grace_s: float) -> bool:
        """See `Transport`: the session is ended at the server; what goes on there is its own business."""
        self._closing.set()
        await asyncio.wait((self._serving,), timeout=CLOSE_WITHIN_S)
        self._serving.cancel()
        await asyncio.gather(self._serving, return_exceptions=True)
        return False

    def _stamps(self, message: Message) -> dict[str, str]:
        """The headers that tell of a message (2026-07-28), or of the version that was agreed on (before)."""
        params = message.get("params") or {}
        version = (params.get("_meta") or {}).get(PROTOCOL_VERSION_META_KEY)
        if version is None:
            return {MCP_PROTOCOL_VERSION_HEADER: self.protocol_version} if self.protocol_version else {}
        stamps = {MCP_PROTOCOL_VERSION_HEADER: str(version), MCP_METHOD_HEADER: str(message["method"])}
        name = params.get(NAME_BEARING_METHODS.get(message["method"], ""))
        return {**stamps, MCP_NAME_HEADER: encode_header_value(name)} if isinstance(name, str) else stamps

    async def _serve(self) -> None:
        timeout = httpx2.Timeout(CONNECT_WITHIN_S, read=None)
        transport = _Bounded(httpx2.AsyncHTTPTransport())
        try:
            async with (
                httpx2.AsyncClient(headers=self._headers, timeout=timeout, transport=transport) as client,
                streamable_http_client(self._url, http_client=client, max_sse_event_size=MESSAGE_MAX) as streams,
            ):
                self._opened.set_result(streams)
                await self._closing.wait()
        except* Exception as group:  # noqa: BLE001 - whatever ends the connection ends the session, with its reason
            self.why = _reason(group)
        finally:
            if not self._opened.done():
                self._opened.set_exception(self._gone())
                self._opened.exception()

    async def _ended(self) -> GoneError:
        """Why it is over, which is known a moment after the streams have ended."""
        await asyncio.wait((self._serving,), timeout=REASON_WITHIN_S)
        return self._gone()

    def _gone(self) -> GoneError:
        return GoneError(f"the MCP server at {self._url} can't be reached{': ' + self.why if self.why else ''}")


class AnswerTooLargeError(httpx2.StreamError):
    """An answer beyond the limit."""


class _Bounded(httpx2.AsyncBaseTransport):
    """Reads no more of an ordinary answer than a message may have; streams are bounded event by event."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _Counted(response.stream)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._inner:
            size += len(piece)
            if size > MESSAGE_MAX:
                raise AnswerTooLargeError(f"an answer of more than {MESSAGE_MAX} bytes")
            yield piece

    async def aclose(self) -> None:
        with contextlib.suppress(Exception):
            await self._inner.aclose()


def _reason(group: BaseExceptionGroup[Any]) -> str:
    first: BaseException = group
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return f"{type(first).__name__}: {first}"[:300]
