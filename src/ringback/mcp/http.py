"""`/mcp`: streamable HTTP in the server itself. Each request carries its own token; none is remembered by a session.

The SDK is imported with the first request: a server that nobody asks over MCP does not pay for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ringback.client.aio import AsyncDriver
from ringback.client.exchange import Link
from ringback.client.retry import HASTY

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

PATH = "/mcp"
Authenticate = Callable[[str | None], Awaitable[str | None]]


class McpDoor:
    """An ASGI application for one path.

    Args:
        api: the application whose routes the tools call.
        owner_of: who a bearer token belongs to; None: nobody.
        refine: gets the MCP server before it serves, and may give it more.
    """

    def __init__(
        self, api: ASGIApp, owner_of: Authenticate, refine: Callable[[Server[Any]], None] | None = None
    ) -> None:
        self._api, self._owner_of, self._refine = api, owner_of, refine
        self._manager: StreamableHTTPSessionManager | None = None
        self._serving: asyncio.Task[None] | None = None
        self._is_over = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode().lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if not _is_from_here(scope, headers):
            await JSONResponse({"error": "this host or origin is not allowed"}, 403)(scope, receive, send)
            return
        owner = await self._owner_of(_bearer(headers))
        if owner is None:
            challenge = {"www-authenticate": "Bearer"}
            await JSONResponse({"error": "unauthenticated"}, 401, headers=challenge)(scope, receive, send)
            return
        manager = await self._started()
        # Spaces around a value are not part of it (RFC 9110 5.5); the parser leaves those behind it.
        trimmed = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        await manager.handle_request({**scope, "headers": trimmed, "user": _user(owner)}, receive, send)

    async def aclose(self) -> None:
        """End every stream and session."""
        self._is_over.set()
        if self._serving is not None:
            with suppress(asyncio.CancelledError):
                await self._serving

    async def _started(self) -> StreamableHTTPSessionManager:
        if self._manager is None:
            from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

            from ringback.mcp.asgi import AsgiWire
            from ringback.mcp.caller import Caller
            from ringback.mcp.server import create_server

            driver = AsyncDriver(AsgiWire(self._api))

            async def caller_of(ctx: Any) -> Caller:
                given = ctx.request.headers
                token, project = _bearer(given), given.get("ringback-project")
                return Caller(driver, Link(token=token, project=project, retry=HASTY))

            server = create_server(caller_of)
            if self._refine is not None:
                self._refine(server)
            self._manager = StreamableHTTPSessionManager(server)
            ready = asyncio.Event()
            self._serving = asyncio.create_task(self._serve(self._manager, ready), name="mcp-sessions")
            await ready.wait()
        return self._manager

    async def _serve(self, manager: StreamableHTTPSessionManager, ready: asyncio.Event) -> None:
        async with manager.run():
            ready.set()
            await self._is_over.wait()


def _is_from_here(scope: Scope, headers: dict[str, str]) -> bool:
    """No page of another site may speak to this server through a browser, not even by a name that points here (DNS rebinding)."""
    host = headers.get("host", "")
    server = scope.get("server") or ("", 0)
    if _is_local(str(server[0])) and not _is_local(_hostname(f"//{host}")):
        return False
    origin = headers.get("origin")  # programs send none
    return origin is None or urlsplit(origin).netloc == host or _is_local(_hostname(origin))


def _hostname(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _is_local(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


def _bearer(headers: Any) -> str | None:
    given = headers.get("authorization") or ""
    return given[7:].strip() if given[:7].lower() == "bearer " else None


def _user(owner: str) -> Any:
    """Whom the SDK ties a session to."""
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import AccessToken

    return AuthenticatedUser(AccessToken(token="", client_id=owner, scopes=[]))
