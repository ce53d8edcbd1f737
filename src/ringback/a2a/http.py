"""`/a2a` and the agent card: who calls is decided here; what they may is decided with each method.

The card is open and tells nothing of what is in the installation. The SDK is imported with the first call: a server that nobody
asks over A2A does not pay for it. Without the extra `a2a` there is no such door.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ringback.a2a.calls import Calls
from ringback.core import Core
from ringback.domain.errors import RateLimitedError, RingbackError, UnauthenticatedError
from ringback.views.a2a import card

if TYPE_CHECKING:
    from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher

PATH = "/a2a"
CARD_PATH = "/.well-known/agent-card.json"
BODY_MAX = 1 << 20


def is_installed() -> bool:
    """Whether the extra is there; nothing is imported."""
    return importlib.util.find_spec("a2a") is not None


def mounts(core: Core, version: str) -> dict[str, ASGIApp]:
    """The paths of this door, none without the extra."""
    return {PATH: A2aDoor(core, version), CARD_PATH: _Card(version)} if is_installed() else {}


class TooLargeError(Exception):
    """The body has more bytes than any message needs."""


class A2aDoor:
    """An ASGI application for one path."""

    def __init__(self, core: Core, version: str) -> None:
        self._core, self._version = core, version
        self._dispatcher: JsonRpcDispatcher | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = await self._answer(scope, receive)
        await answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive) -> Response:
        if scope["method"] != "POST":
            return _problem(405, "method_not_allowed", {"allow": "POST"})
        headers = {name.decode().lower(): value.decode("latin-1").strip() for name, value in scope["headers"]}
        try:
            principal = await self._core.access.authenticate(_bearer(scope))
        except UnauthenticatedError as error:
            return _problem(401, error.code, {"www-authenticate": "Bearer"})
        except RateLimitedError as error:
            return _problem(429, error.code, {"retry-after": str(error.retry_after_s)})
        except RingbackError as error:
            return _problem(503 if error.retryable else 403, error.code, {})
        project = headers.get("ringback-project")
        calls = Calls(core=self._core, principal=principal, project=project, request_id=self._core.ids.new())
        state = {"calls": calls, "url": _url(headers, scope)}
        try:
            body = await _body(receive)
        except TooLargeError:
            return _problem(413, "too_large", {})
        return await self._started().handle_requests(Request({**scope, "ringback": state}, _again(body, receive)))

    def _started(self) -> JsonRpcDispatcher:
        if self._dispatcher is None:
            from a2a.server.context import ServerCallContext
            from a2a.server.routes.common import DefaultServerCallContextBuilder
            from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher

            from ringback.a2a.handler import Handler

            class ContextBuilder(DefaultServerCallContextBuilder):
                """Hands on whose call it is. Of the headers only the protocol's own, for the others hold a token."""

                def build(self, request: Request) -> ServerCallContext:
                    context = super().build(request)
                    kept = {name: value for name, value in request.headers.items() if name.startswith("a2a-")}
                    context.state = {**context.state, "headers": kept, **request.scope["ringback"]}
                    return context

            self._dispatcher = JsonRpcDispatcher(
                request_handler=Handler(self._version), context_builder=ContextBuilder(), enable_v0_3_compat=True
            )
        return self._dispatcher


class _Card:
    """The public card, as JSON that clients of 1.0 and of 0.3 understand."""

    def __init__(self, version: str) -> None:
        self._version = version

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            await _problem(405, "method_not_allowed", {"allow": "GET, HEAD"})(scope, receive, send)
            return
        headers = {name.decode().lower(): value.decode("latin-1") for name, value in scope["headers"]}
        url = _url(headers, scope)
        # Members of 0.3 beside those of 1.0, which its readers ignore.
        older = {
            "url": url,
            "preferredTransport": "JSONRPC",
            "protocolVersion": "0.3.0",
            "supportsAuthenticatedExtendedCard": True,
        }
        body = {**card(url, self._version), **older}
        await JSONResponse(body, headers={"cache-control": "no-store"})(scope, receive, send)


def _url(headers: Mapping[str, str], scope: Scope) -> str:
    """This door as the caller reached it."""
    scheme = headers.get("x-forwarded-proto", scope.get("scheme", "http"))
    server = scope.get("server") or ("localhost", 80)
    host = headers.get("host") or f"{server[0]}:{server[1]}"
    return f"{'https' if scheme == 'https' else 'http'}://{host}{PATH}"


def _bearer(scope: Scope) -> str:
    given = [value for name, value in scope["headers"] if name.lower() == b"authorization"]
    if len(given) != 1 or given[0][:7].lower() != b"bearer ":
        raise UnauthenticatedError
    return bytes(given[0][7:]).strip().decode("latin-1")


async def _body(receive: Receive) -> bytes:
    """The whole body.

    Raises:
        TooLargeError: more bytes than any message needs.
    """
    body, is_more = bytearray(), True
    while is_more:
        message = await receive()
        body += message.get("body", b"")
        is_more = message.get("more_body", False)
        if len(body) > BODY_MAX:
            raise TooLargeError
    return bytes(body)


def _again(body: bytes, receive: Receive) -> Receive:
    """Gives out a body that was read, then what else there is to hear (that the caller went away)."""
    is_read = False

    async def again() -> Message:
        nonlocal is_read
        if is_read:
            return await receive()
        is_read = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _problem(status: int, code: str, headers: Mapping[str, Any]) -> Response:
    body = {"type": f"/problems/{code}", "status": status, "code": code}
    return JSONResponse(body, status, headers=dict(headers), media_type="application/problem+json")
