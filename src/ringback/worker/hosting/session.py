"""A session with a hosted server: how to speak is agreed on once, then requests go to and fro until it is closed or gone.

Both eras of the protocol. The handshake (up to 2025-11-25) comes first, because every server of the older era and
most of the newer one understand it. A server that refuses it is asked with `server/discover`; from then on each
request says for itself who asks and what that client can do, and what the server needs to know comes back as a result
of its own kind, to be answered by asking again.
"""

import asyncio
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final

from ringback.worker.hosting.definition import ServerDefinition
from ringback.worker.hosting.errors import AnswerError, GoneError, HostError, UnstartableError
from ringback.worker.hosting.peer import Host, Peer
from ringback.worker.hosting.stdio import StdioTransport
from ringback.worker.hosting.transport import Transport
from ringback.worker.processes.channels import FEED
from ringback.worker.processes.child import SpawnError
from ringback.worker.processes.guardian import Guardian

HANDSHAKE_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSION: Final = "2026-07-28"
META: Final = "io.modelcontextprotocol/"
CLIENT_INFO: Final = {"name": "ringback", "title": "Ringback", "version": "1.0.0"}
ROUNDS_MAX: Final = 20
LAST_WORDS_SHOWN: Final = 500
PAGES_MAX: Final = 1_000


class Session:
    """One server, ready to be asked; made by `open_session`."""

    def __init__(self, peer: Peer, definition: ServerDefinition) -> None:
        self.peer = peer
        self.definition = definition
        self.protocol_version = ""
        self.server: Mapping[str, Any] = {}
        """What the server said of itself: `capabilities`, `serverInfo`, `instructions`."""
        self.is_new = True
        self._info = dict(definition.client_info or CLIENT_INFO)

    @property
    def is_modern(self) -> bool:
        """Whether there is no handshake, and each request speaks for itself."""
        return self.protocol_version == MODERN_VERSION

    @property
    def is_gone(self) -> bool:
        """Whether the server is no longer there."""
        return self.peer.gone.done() or (self.process is not None and not self.process.is_alive)

    @property
    def process(self) -> StdioTransport | None:
        """The server's process, where it is one of ours."""
        return self.peer.transport if isinstance(self.peer.transport, StdioTransport) else None

    async def call(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        host: Host,
        progress_token: str | int | None = None,
        numbered: Callable[[int], object] = lambda _: None,
    ) -> dict[str, Any]:
        """Ask, and answer what the server needs to know for that; its result. `numbered` is told the number of what is sent.

        Raises:
            AnswerError: it answered with an error.
            HostError: it is gone, or answered with something that can't be used.
        """
        asked = dict(params)
        for _ in range(ROUNDS_MAX):
            number = self.peer.number()
            numbered(number)
            answer = await self.peer.request(method, self.stamped(asked, progress_token), number=number)
            kind = answer.get("resultType", "complete")
            if kind == "complete":
                return answer
            if kind != "input_required":
                raise HostError(
                    f"the MCP server answered with a result of the kind {str(kind)[:50]!r}, which was not asked for"
                )
            asked = {**params, "inputResponses": await _inputs(answer, host)}
            if "requestState" in answer:
                asked["requestState"] = answer["requestState"]
        raise HostError(f"the MCP server asked for input more than {ROUNDS_MAX} times")

    async def listed(self, method: str, member: str, *, host: Host) -> dict[str, Any]:
        """The pages of a list as one.

        Raises:
            AnswerError, HostError: see `call`.
        """
        found: list[Any] = []
        cursor: Any = None
        for _ in range(PAGES_MAX):
            page = await self.call(method, {} if cursor is None else {"cursor": cursor}, host=host)
            found += page.get(member) or []
            last, cursor = cursor, page.get("nextCursor")
            if cursor is None or cursor == last:
                break
        return {member: found}

    def stamped(self, params: Mapping[str, Any], progress_token: str | int | None = None) -> dict[str, Any]:
        """The parameters with what goes with every request."""
        given = params.get("_meta")
        meta = dict(given) if isinstance(given, Mapping) else {}
        if progress_token is not None:
            meta["progressToken"] = progress_token
        if self.is_modern:
            meta |= self._who()
        return {**params, "_meta": meta} if meta else dict(params)

    def begin(self, host: Host) -> None:
        """From now on what the server tells and asks is for this one."""
        self.peer.host = host

    def end(self) -> None:
        """Nobody uses the session now."""
        self.peer.host = None
        self.peer.forget_asked()
        if self.process is not None:
            self.process.on_talk = None

    async def aclose(self, grace_s: float = 1.0) -> bool:
        """End the session and the server's process; whether that took force."""
        return await self.peer.aclose(grace_s)

    async def negotiate(self) -> None:
        """Agree on how to speak.

        Raises:
            UnstartableError, HostError, AnswerError: there is no agreement.
        """
        try:
            await self._shake_hands()
        except AnswerError as refusal:
            try:
                await self._discover()
            except AnswerError:
                raise UnstartableError(
                    f"the MCP server refused the handshake: {refusal.message} ({refusal.code})"
                ) from None

    async def _shake_hands(self) -> None:
        params = {
            "protocolVersion": HANDSHAKE_VERSIONS[-1],
            "capabilities": dict(self.definition.capabilities),
            "clientInfo": self._info,
        }
        said = await self.peer.request("initialize", params)
        version = said.get("protocolVersion")
        if version not in HANDSHAKE_VERSIONS:
            raise UnstartableError(
                f"the MCP server wants to speak version {str(version)[:50]!r}, which nobody here knows"
            )
        self.protocol_version, self.server = str(version), said
        self.peer.transport.protocol_version = self.protocol_version
        await self.peer.notify("notifications/initialized", {})

    async def _discover(self) -> None:
        said = await self.peer.request("server/discover", {"_meta": self._who()})
        if MODERN_VERSION not in (said.get("supportedVersions") or ()):
            raise UnstartableError(f"the MCP server speaks only versions {str(said.get('supportedVersions'))[:100]}")
        self.protocol_version, self.server = MODERN_VERSION, said

    def _who(self) -> dict[str, Any]:
        capabilities = dict(self.definition.capabilities)
        facts = {"protocolVersion": MODERN_VERSION, "clientInfo": self._info, "clientCapabilities": capabilities}
        return {META + name: value for name, value in facts.items()}


async def open_session(definition: ServerDefinition, guardian: Guardian) -> Session:
    """Start or reach the server, and agree with it on how to speak; the caller owes the session an `aclose`.

    Raises:
        UnstartableError: no session came about; the text says why, with the server's last words.
        GuardianLostError: there is nobody who could guard its process.
    """
    transport = await _connected(definition, guardian)
    session = Session(Peer(transport), definition)
    try:
        async with asyncio.timeout(definition.start_within_s):
            await session.negotiate()
    except TimeoutError:
        why = f"the MCP server did not answer the handshake within {definition.start_within_s:g} s"
    except GoneError as error:
        why = str(error)
    except HostError as error:
        why = str(error)
    except BaseException:
        await asyncio.shield(session.aclose(0))
        raise
    else:
        return session
    await asyncio.shield(session.aclose(0))
    raise UnstartableError(definition.mask.text(why + _last_words(session)))


async def _connected(definition: ServerDefinition, guardian: Guardian) -> Transport:
    if definition.command is None:
        from ringback.worker.hosting.remote import RemoteTransport  # the SDK is paid for by those who reach out

        assert definition.url is not None
        try:
            return await RemoteTransport.open(definition.url, definition.headers)
        except HostError as error:
            raise UnstartableError(definition.mask.text(str(error))) from None
    env = {**definition.environment, "RINGBACK_ATTEMPT": f"hosted-{uuid.uuid4()}"}
    try:
        child = await guardian.spawn(definition.command, env=env, cwd=definition.cwd, stdin=FEED)
    except SpawnError as error:
        raise UnstartableError(f"the MCP server could not be started: {definition.mask.text(str(error))}") from None
    return StdioTransport(child)


def _last_words(session: Session) -> str:
    if session.process is None:
        return ""
    words = session.process.last_words.decode("utf-8", "replace").strip()[-LAST_WORDS_SHOWN:]
    return f"; its last words: {words}" if words else ""


async def _inputs(answer: Mapping[str, Any], host: Host) -> dict[str, Any]:
    """What the server needs to know, one question after the other."""
    asked = answer.get("inputRequests") or {}
    if not isinstance(asked, Mapping):
        raise HostError("the MCP server's inputRequests are no object")
    found: dict[str, Any] = {}
    for key, request in asked.items():
        method, params = str(request.get("method")), request.get("params") or {}
        try:
            found[key] = await host.asked(method, params)
        except AnswerError as error:
            raise HostError(f"the MCP server asked for {method}: {error.message}") from None
    return found
