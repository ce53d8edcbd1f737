"""`ringback mcp`: the front of an assistant's stdio connection. Only protocol goes to stdout, and it ends with its input.

It holds nothing: when it is killed, the runs that it started go on, and the next front sees them under the same ids. When the
server does not answer, it is looked for again, because a local one may be back at another address, and started if need be.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import TaskGroup
from mcp.server.session import ServerSession
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from ringback.client.aio import AsyncDriver, AsyncWire
from ringback.client.errors import RingbackError
from ringback.client.exchange import Link
from ringback.client.plainaio import AsyncPlainWire
from ringback.client.retry import HASTY
from ringback.client.wires import AsyncHttpxWire
from ringback.mcp.caller import Caller
from ringback.mcp.clients import Context, is_modern
from ringback.mcp.listening import TOOLS_EVERY_S
from ringback.mcp.offers import all_tools
from ringback.mcp.server import create_server, options
from ringback.mcp.wrapping import Wrapping, wants_tools
from ringback.settings.connection import Connection, is_loopback

log = logging.getLogger(__name__)

Find = Callable[[], Connection]


class Front:
    """One stdio connection.

    Args:
        find: where the server is, and as whom to speak to it; may start a local server, and takes its time for that.
        wrapping: where only the tools of one MCP server are shown.
    """

    def __init__(self, find: Find, wrapping: Wrapping | None = None) -> None:
        self._find, self._wrapping = find, wrapping
        self._caller: Caller | None = None
        self._finding = asyncio.Lock()
        self._group: TaskGroup | None = None
        self._tells_of_tools = False

    async def serve(self) -> None:
        """Until the end of the input."""
        server = create_server(self.caller)
        async with stdio_server() as (incoming, outgoing):
            readable, relayed = anyio.create_memory_object_stream[SessionMessage | Exception](0)
            async with anyio.create_task_group() as self._group:
                self._group.start_soon(_relay, incoming, readable, outgoing.clone())
                await server.run(relayed, outgoing, options(server, tells_of_tools=True))
                self._group.cancel_scope.cancel()

    async def caller(self, ctx: Context) -> Caller:
        """Who calls: always the same one, at the server's present address."""
        async with self._finding:
            if self._caller is None:
                self._caller = await self._found()
        if self._wrapping is not None and wants_tools(ctx):
            await self._wrapping.ready(self._caller)
        if self._group is not None and not self._tells_of_tools and not is_modern(ctx):
            self._tells_of_tools = True
            self._group.start_soon(self._tell_of_tools, self._caller, ctx.session)
        return self._caller

    async def _found(self) -> Caller:
        connection = await asyncio.to_thread(self._find)
        assert connection.url is not None
        link = Link(url=connection.url, token=connection.token, project=connection.project, retry=HASTY)
        is_near = connection.url.startswith("http://") and is_loopback(connection.url)
        wire: AsyncWire = AsyncPlainWire(connection.url) if is_near else AsyncHttpxWire(connection.url)
        return Caller(AsyncDriver(wire), link, self._recover, self._wrapping)

    async def _recover(self) -> Caller | None:
        async with self._finding:
            try:
                self._caller = await self._found()
            except RingbackError as error:
                log.warning("the server can't be found again: %s", error)
                return None
        return self._caller

    async def _tell_of_tools(self, caller: Caller, session: ServerSession) -> None:
        """In the handshake era the connection itself tells of a changed list of tools."""
        last: list[Any] | None = None
        while True:
            try:
                now = await all_tools(caller)
                if last is not None and now != last:
                    await session.send_tool_list_changed()
                last = now
            except RingbackError:
                pass  # the server is away: the next look tells
            except Exception:  # the last line of a loop: an odd answer must not end the connection
                log.exception("looking at the tools failed")
            await asyncio.sleep(TOOLS_EVERY_S)


async def _relay(incoming: Any, readable: Any, outgoing: Any) -> None:
    """Pass messages on; a line that is none is answered, so that nobody waits for it."""
    async with readable, outgoing:
        async for item in incoming:
            if isinstance(item, Exception):
                error = types.ErrorData(code=types.PARSE_ERROR, message="this line is no JSON-RPC message")
                await outgoing.send(SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=None, error=error)))
            else:
                await readable.send(item)


def serve(find: Find, wrapping: Wrapping | None = None) -> None:
    """Serve stdin and stdout until the end of the input."""
    asyncio.run(Front(find, wrapping).serve())
