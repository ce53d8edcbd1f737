"""Sessions that are kept warm: one user at a time, closed when nobody came for a while, started again when they died.

A session is used by one attempt at a time, so what the server says and asks belongs to that attempt and to nobody
else, and ending it ends exactly that attempt's work. A second attempt gets a second session, unless the definition
says how many there may be; then it waits. After failures in a row, starting waits longer each time.
"""

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, Final

from ringback.worker.assignment import Stop
from ringback.worker.hosting.definition import ServerDefinition
from ringback.worker.hosting.errors import HostError
from ringback.worker.hosting.session import Session, open_session
from ringback.worker.processes.child import GuardianLostError
from ringback.worker.processes.guardian import Guardian

CLOSE_GRACE_S: Final = 1.0

_log = logging.getLogger("ringback.worker.hosting")


@dataclass(slots=True)
class _Server:
    """The sessions of one definition."""

    idle: list[Session] = field(default_factory=list)
    count: int = 0
    failures: int = 0
    retry_at: float = 0.0
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class Pool:
    """All sessions of a worker."""

    def __init__(self, guardian: Guardian) -> None:
        self._guardian = guardian
        self._servers: dict[str, _Server] = {}
        self._timers: dict[Session, asyncio.TimerHandle] = {}
        self._background: set[asyncio.Task[Any]] = set()
        self._is_closing = False

    async def take(self, definition: ServerDefinition, stop: Stop) -> Session | None:
        """A session for one user; None when the stop came first.

        Raises:
            UnstartableError: the server did not start.
            GuardianLostError: there is nobody to start it.
        """
        server = self._servers.setdefault(definition.key, _Server())
        while stop.why is None and not self._is_closing:
            if session := self._idle_one(server):
                return session
            server.changed.clear()
            pause_s = server.retry_at - asyncio.get_running_loop().time()
            if definition.sessions_max is not None and server.count >= definition.sessions_max:
                await _first(server.changed.wait(), stop.requested.wait())
            elif pause_s > 0:
                await _first(server.changed.wait(), stop.requested.wait(), asyncio.sleep(pause_s))
            else:
                return await self._open(server, definition, stop)
        return None

    async def give_back(
        self, session: Session, *, is_fit: bool, has_failed: bool = False, grace_s: float = 1.0
    ) -> None:
        """The user is done. A session that is not fit for another one is closed; when this returns nothing of it is left."""
        server = self._servers[session.definition.key]
        if has_failed:
            self._note_failure(server, session.definition)
        else:
            server.failures, server.retry_at = 0, 0.0
        if is_fit and session.definition.keeps and not session.is_gone and not self._is_closing:
            self._keep(server, session)
        else:
            server.count -= 1
            await asyncio.shield(session.aclose(grace_s))
        server.changed.set()

    async def aclose(self) -> None:
        """Close what is idle; what is in use is its user's."""
        self._is_closing = True
        for server in self._servers.values():
            server.changed.set()
            for session in server.idle:
                self._let_go(server, session)
        await asyncio.gather(*self._background, return_exceptions=True)

    async def _open(self, server: _Server, definition: ServerDefinition, stop: Stop) -> Session | None:
        server.count += 1
        opening = asyncio.ensure_future(open_session(definition, self._guardian))
        try:
            await _first(asyncio.wait((opening,)), stop.requested.wait())
            if opening.done():
                return opening.result()
        except (HostError, GuardianLostError):
            server.count -= 1
            self._note_failure(server, definition)
            raise
        except BaseException:
            server.count -= 1
            await asyncio.shield(_given_up(opening))
            raise
        server.count -= 1
        server.changed.set()
        await asyncio.shield(_given_up(opening))
        return None

    def _idle_one(self, server: _Server) -> Session | None:
        while server.idle:
            session = server.idle.pop()
            self._timers.pop(session).cancel()
            if not session.is_gone:
                return session
            server.count -= 1
            self._in_background(session.aclose(0))
        return None

    def _keep(self, server: _Server, session: Session) -> None:
        server.idle.append(session)
        loop = asyncio.get_running_loop()
        self._timers[session] = loop.call_later(session.definition.idle_s, self._retire, server, session)
        session.peer.gone.add_done_callback(lambda _: self._retire(server, session))

    def _retire(self, server: _Server, session: Session) -> None:
        """Nobody came for it in time, or it died."""
        if session in self._timers:
            server.idle.remove(session)
            self._let_go(server, session)

    def _let_go(self, server: _Server, session: Session) -> None:
        self._timers.pop(session).cancel()
        server.count -= 1
        server.changed.set()
        self._in_background(session.aclose(CLOSE_GRACE_S))

    def _note_failure(self, server: _Server, definition: ServerDefinition) -> None:
        server.failures += 1
        pause_s = definition.restart.pause_s(server.failures)
        server.retry_at = asyncio.get_running_loop().time() + pause_s
        facts = {"server": definition.named, "failures": server.failures, "pause_s": pause_s}
        _log.warning("a hosted MCP server failed", extra=facts)

    def _in_background(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)


async def _given_up(opening: "asyncio.Future[Session]") -> None:
    """Nothing stays of a session that nobody waits for any more."""
    opening.cancel()
    await asyncio.wait((opening,))
    if not opening.cancelled() and opening.exception() is None:
        await opening.result().aclose(0)


async def _first(*works: Coroutine[Any, Any, Any]) -> None:
    """Return when one of them has ended."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
