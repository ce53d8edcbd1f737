"""An attempt that is a session: it hosts an MCP server and carries each request of the run to it, and the answer back.

* Requests come in their order through the reporter and go side by side to the server. Each gets exactly one answer,
  as an event: the server's, or an error of ours that says why there is none.
* A server that dies takes the requests that it had with it; they are answered with that. It is started again as its
  definition says, and the rest goes to the new one. When it may not be started again, the run fails.
* A request that an earlier attempt may have carried out is repeated only if it reads.
* The session ends by itself when nobody put a request to it for its idle time, and with a stop, which ends the
  server.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from ringback.worker.assignment import Assignment, Outcome, Reporter, Stop
from ringback.worker.hosting.definition import ServerDefinition
from ringback.worker.hosting.errors import AnswerError, GoneError, HostError
from ringback.worker.hosting.session import Session, open_session
from ringback.worker.processes.child import GuardianLostError
from ringback.worker.processes.guardian import Guardian
from ringback.worker.runtimes.mcp_host import McpHost

RESPONSE_MAX: Final = 4 * 1024 * 1024
GONE: Final = -32000
IN_DOUBT: Final = -32001
INTERNAL: Final = -32603
READING: Final = frozenset(
    (
        "ping",
        "initialize",
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "prompts/list",
        "prompts/get",
        "completion/complete",
    )
)
_DOUBT: Final = "the session was interrupted: whether this was carried out is not known; put it again if that is safe"


class McpSession(McpHost):
    """Carries out one assignment whose input opens a session."""

    def __init__(
        self, definition: ServerDefinition, guardian: Guardian, assignment: Assignment, reporter: Reporter, stop: Stop
    ) -> None:
        super().__init__(_for_client(definition, assignment.input), assignment, reporter)
        self._guardian = guardian
        self._stop = stop
        self._session: Session | None = None
        self._waiting: deque[Mapping[str, Any]] = deque()
        self._arrived = asyncio.Event()
        self._carrying: set[asyncio.Task[None]] = set()
        self._numbers: dict[Any, int] = {}
        self._quiet_since = self._loop.time()
        self._answered = 0
        self._restarts = 0

    async def carry_out(self) -> Outcome:
        """Host until it is over; when this returns nothing of the server is left."""
        taking = self._loop.create_task(self._take())
        hosting = self._loop.create_task(self._host())
        stopped = self._loop.create_task(self._stop.requested.wait())
        tasks = (taking, hosting, stopped)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if hosting.done():
                return hosting.result()
            if not stopped.done():
                taking.result()  # the server of runs refused to hand out requests: the reason is raised
            return await self._stopped()
        finally:
            for task in (*tasks, *self._carrying):
                task.cancel()
            await asyncio.gather(*tasks, *self._carrying, return_exceptions=True)
            await asyncio.shield(self._close(0))
            if not self._stop.lost.is_set():
                await self._output.finish()

    # --- requests ---

    async def _take(self) -> None:
        after = 0
        while True:
            for each in await self._reporter.requests(after):
                after = max(after, int(each["number"]))
                self._waiting.append(each)
                self._arrived.set()

    async def _carry(self, session: Session, item: Mapping[str, Any]) -> None:
        number, request = int(item["number"]), item["request"]
        method, params = str(request["method"]), request.get("params") or {}
        try:
            is_safe = method in READING or not item.get("inDoubt")
            response = (
                {"result": await self._result(session, number, method, params, request.get("id"))}
                if is_safe
                else {"error": AnswerError(IN_DOUBT, _DOUBT).to_wire()}
            )
        except AnswerError as error:
            response = {"error": error.to_wire()}
        except GoneError as error:
            response = {"error": AnswerError(GONE, f"{error} before it answered").to_wire()}
        except HostError as error:
            response = {"error": AnswerError(INTERNAL, str(error)).to_wire()}
        finally:
            self._numbers.pop(request.get("id"), None)
        await self._answer(number, self._mask.value(response))

    async def _result(
        self, session: Session, number: int, method: str, params: Mapping[str, Any], named: Any
    ) -> dict[str, Any]:
        if method == "initialize":  # agreed on already, in the name of the same client
            return dict(session.server)
        if method == "notifications/cancelled":
            if (meant := self._numbers.get(params.get("requestId"))) is not None:
                await session.peer.cancel(str(params.get("reason", "")), meant)
            return {}
        if method.startswith("notifications/"):
            await session.peer.notify(method, session.stamped(params))
            return {}

        def numbered(sent: int) -> None:
            if named is not None:
                self._numbers[named] = sent

        meta = params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, Mapping) else None
        given = number if token is None else token
        return await session.call(method, params, host=self, progress_token=given, numbered=numbered)

    async def _answer(self, number: int, response: dict[str, Any]) -> None:
        if (size := len(msgspec.json.encode(response))) > RESPONSE_MAX:
            text = f"the MCP server's answer has {size} bytes; {RESPONSE_MAX} are the most in a session"
            response = {"error": AnswerError(INTERNAL, text).to_wire()}
        self._answered += 1
        self._quiet_since = self._loop.time()
        await self._reporter.tell("mcp.response", {"number": number, "response": response})

    async def notified(self, method: str, params: Mapping[str, Any]) -> None:
        """See `Host`: an event of the run."""
        told = self._mask.value({"method": method[:200], "params": dict(params)})
        if len(msgspec.json.encode(told)) <= RESPONSE_MAX:
            await self._reporter.tell("mcp.notification", told)

    # --- the server ---

    async def _host(self) -> Outcome:
        """Open, serve, and open again when it died, as far as the definition allows."""
        policy = self._definition.restart
        failures = 0
        while True:
            answered = self._answered
            try:
                session = self._session = await open_session(self._definition, self._guardian)
                await self._begin(session)
                if (outcome := await self._serve(session)) is not None:
                    return outcome
                reason = str(session.peer.gone.result())
            except HostError as error:
                reason = str(error)
            except GuardianLostError as error:
                return Outcome(kind="failed", error_kind="internal", error_message=str(error))
            await self._close(0)
            failures = failures + 1 if self._answered == answered else 1
            if policy.policy == "never" or failures > policy.attempts_max:
                text = self._mask.text(reason)
                return Outcome(kind="failed", error_kind="tool_error", error_message=text, result=self._facts())
            self._restarts += 1
            await self._output.write("stderr", f"{reason}; it is started again\n".encode())
            await asyncio.sleep(policy.pause_s(failures))

    async def _begin(self, session: Session) -> None:
        session.begin(self)
        await self._use(session)
        said = {
            name: session.server[name]
            for name in ("capabilities", "serverInfo", "instructions")
            if name in session.server
        }
        opened = {"protocolVersion": session.protocol_version, "restarts": self._restarts, **said}
        await self._reporter.tell("mcp.opened", self._mask.value(opened))
        self._quiet_since = self._loop.time()

    async def _serve(self, session: Session) -> Outcome | None:
        """Carry requests until nobody puts any (the outcome) or the server is gone (None)."""
        gone = asyncio.ensure_future(asyncio.wait((session.peer.gone,)))
        try:
            while not session.peer.gone.done():
                self._arrived.clear()
                while self._waiting and not session.is_gone:  # one that just died gets no more
                    self._begin_carrying(session, self._waiting.popleft())
                if self._is_idle():
                    return self._ended_idle()
                arrived = asyncio.ensure_future(self._arrived.wait())
                await asyncio.wait((gone, arrived), timeout=self._until_idle_s(), return_when=asyncio.FIRST_COMPLETED)
                arrived.cancel()
            await asyncio.gather(*self._carrying)  # each of them says that the server is gone
            return None
        finally:
            gone.cancel()

    def _begin_carrying(self, session: Session, item: Mapping[str, Any]) -> None:
        task = self._loop.create_task(self._carry(session, item))
        self._carrying.add(task)
        task.add_done_callback(self._carrying.discard)
        task.add_done_callback(lambda _: self._arrived.set())

    # --- the end ---

    def _limit_s(self) -> float:
        idle_ms = self._assignment.idle_timeout_ms
        own = self._definition.idle_s or float("inf")
        return own if idle_ms is None else min(own, idle_ms / 1000)

    def _is_idle(self) -> bool:
        return not self._carrying and not self._waiting and self._loop.time() >= self._quiet_since + self._limit_s()

    def _until_idle_s(self) -> float | None:
        if self._carrying or self._waiting or self._limit_s() == float("inf"):
            return None
        return max(0.0, self._quiet_since + self._limit_s() - self._loop.time())

    def _ended_idle(self) -> Outcome:
        idle_ms = self._assignment.idle_timeout_ms
        if idle_ms is not None and idle_ms / 1000 < (self._definition.idle_s or float("inf")):
            self._stop.request("timeout:idle")  # the policy's limit, which is a failure
            return Outcome(kind="stopped", forced=False)
        summary = f"{self._answered} requests answered; nobody put another one for {self._definition.idle_s:g} s"
        return Outcome(kind="succeeded", result=self._facts(), summary=summary)

    def _facts(self) -> dict[str, Any]:
        return {"requests": self._answered, "restarts": self._restarts}

    async def _stopped(self) -> Outcome:
        stop = self._stop
        if stop.why == "lost":
            return Outcome(kind="released", forced=True)
        if stop.why == "cancel":
            await self._reporter.cancel_delivered()
        grace_ms = self._assignment.grace_ms if stop.grace_ms is None else stop.grace_ms
        lost = self._loop.create_task(stop.lost.wait())
        closing = self._loop.create_task(self._close(grace_ms / 1000))
        await asyncio.wait((closing, lost), return_when=asyncio.FIRST_COMPLETED)
        lost.cancel()
        is_forced = closing.result() if closing.done() else True
        with contextlib.suppress(asyncio.CancelledError):
            if not closing.done():
                closing.cancel()
                await closing
        if stop.why == "cancel" and not is_forced:
            await self._reporter.cancel_acknowledged()
        return Outcome(kind="stopped", forced=is_forced)

    async def _close(self, grace_s: float) -> bool:
        session, self._session = self._session, None
        if session is None:
            return False
        session.end()
        return await session.aclose(grace_s)


def _for_client(definition: ServerDefinition, given: Mapping[str, Any]) -> ServerDefinition:
    """The server in the eyes of the client that opened the session: what both the client and the definition allow is declared."""
    wanted = given.get("clientCapabilities") or {}
    allowed = {name: value for name, value in definition.capabilities.items() if name in wanted}
    info = given.get("clientInfo") or None
    return replace(definition, capabilities=allowed, client_info=info)
