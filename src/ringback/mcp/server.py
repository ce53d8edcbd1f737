"""The MCP server: both eras of the protocol, on the official SDK. It knows methods; what they do is in the modules beside it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp.server.lowlevel.server import NotificationOptions
from mcp.shared.exceptions import MCPError

from ringback import __version__
from ringback.client.errors import RingbackError
from ringback.mcp import calls, listening, tasks
from ringback.mcp.builtin import INSTRUCTIONS
from ringback.mcp.caller import Caller
from ringback.mcp.clients import TASKS, Context
from ringback.mcp.offers import all_tools

Callers = Callable[[Context], Awaitable[Caller]]
Method = Callable[[Caller, Context, Any], Awaitable[Any]]


def create_server(caller_of: Callers) -> Server[Any]:
    """A server whose requests are made by `caller_of` the context."""

    def served(method: Method) -> Callable[[Context, Any], Awaitable[Any]]:
        async def handler(ctx: Context, params: Any) -> Any:
            try:
                return await method(await caller_of(ctx), ctx, params)
            except RingbackError as error:
                raise tasks.protocol_error(error) from error
            except BaseExceptionGroup as group:  # the first is what the client can do something about
                raise _first(group) from group

        return handler

    server: Server[Any] = Server(
        "ringback",
        version=__version__,
        title="Ringback",
        instructions=INSTRUCTIONS,
        cache_hints={
            "tools/list": CacheHint(ttl_ms=5_000, scope="private"),
            "server/discover": CacheHint(ttl_ms=60_000, scope="private"),
        },
        on_list_tools=served(_list_tools),
        on_call_tool=served(calls.call),
        on_subscriptions_listen=served(listening.listen),
    )
    server.middleware.clear()  # a span for each message is nobody's wish here
    server.extensions[TASKS] = {}
    server.add_request_handler("tasks/get", tasks.TaskParams, served(tasks.get))
    server.add_request_handler("tasks/update", tasks.UpdateParams, served(tasks.update))
    server.add_request_handler("tasks/cancel", tasks.TaskParams, served(tasks.cancel))
    return server


def options(server: Server[Any], *, tells_of_tools: bool) -> Any:
    """What the server says of itself in the handshake era, which has no tasks."""
    return server.create_initialization_options(NotificationOptions(tools_changed=tells_of_tools), extensions={})


async def _list_tools(caller: Caller, _: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=await all_tools(caller))


def _first(group: BaseExceptionGroup[Any]) -> BaseException:
    for error in group.exceptions:
        found = _first(error) if isinstance(error, BaseExceptionGroup) else error
        if isinstance(found, MCPError):
            return found
        if isinstance(found, RingbackError):
            return tasks.protocol_error(found)
    return group.exceptions[0]
