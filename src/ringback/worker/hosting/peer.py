"""JSON-RPC with a hosted server: requests with their answers, notifications, and what the server asks of us.

A `ping` is answered whether somebody uses the session or not. Notifications are handed on one after the other and in
order, requests each for itself. When the transport is gone every open request ends with that, and so does every later
one.
"""

import asyncio
import contextlib
import logging
import re
from collections.abc import Mapping
from typing import Any, Final, Protocol

from ringback.worker.hosting.errors import AnswerError, GoneError, HostError
from ringback.worker.hosting.transport import MESSAGE_MAX, Message, Noise, TooLarge, Transport

METHOD_NOT_FOUND: Final = -32601
INTERNAL_ERROR: Final = -32603
ASKED_MAX: Final = 32
NO_LONGER_WANTED: Final = "the server no longer wants to know"
"""What a `Host` finds in the `CancelledError` of a question that its server took back."""
_ID: Final = re.compile(rb'"id"\s*:\s*(\d+)')

_log = logging.getLogger("ringback.worker.hosting")


class Host(Protocol):
    """Whoever uses the session now."""

    async def noise(self, data: bytes) -> None:
        """Something that is no message, from where messages come."""
        ...

    async def notified(self, method: str, params: Mapping[str, Any]) -> None:
        """The server tells something."""
        ...

    async def asked(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The server asks something; the result.

        Raises:
            AnswerError: what it is told instead.
        """
        ...


class Peer:
    """One conversation, from `start` to `aclose`."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.host: Host | None = None
        self.gone: asyncio.Future[GoneError] = asyncio.get_running_loop().create_future()
        self.heard_at = asyncio.get_running_loop().time()
        self._open: dict[int, asyncio.Future[Any]] = {}
        self._asked: dict[str | int, asyncio.Task[None]] = {}
        self._numbers = 0
        self._reading = asyncio.create_task(self._read(), name="hosted-mcp-server")

    async def request(self, method: str, params: Mapping[str, Any], *, number: int | None = None) -> dict[str, Any]:
        """Ask the server, and wait for its answer however long that takes.

        Raises:
            AnswerError: it answered with an error.
            GoneError: it is not there (any more).
        """
        number = self.number() if number is None else number
        answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._open[number] = answered
        try:
            if self.gone.done():
                raise _again(self.gone.result())
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": dict(params)}
            await self.transport.send(message)
            answer = await answered
        finally:
            self._open.pop(number, None)
        return answer if isinstance(answer, dict) else {}

    def number(self) -> int:
        """A number for a request, which nobody else has."""
        self._numbers += 1
        return self._numbers

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Tell the server something.

        Raises:
            GoneError: it is not there (any more).
        """
        await self.transport.send({"jsonrpc": "2.0", "method": method, "params": dict(params)})

    async def cancel(self, reason: str, number: int | None = None) -> None:
        """Tell the server that an open request, or each of them, is no longer wanted.

        Raises:
            GoneError: it is not there (any more).
        """
        for each in [open_ for open_ in self._open if number is None or open_ == number]:
            await self.notify("notifications/cancelled", {"requestId": each, "reason": reason})

    def forget_asked(self) -> None:
        """Whoever was asked is no longer there: what is open is not answered any more."""
        for task in self._asked.values():
            task.cancel()

    async def aclose(self, grace_s: float) -> bool:
        """End the conversation and the server; whether that took force."""
        try:
            return await self.transport.aclose(grace_s)
        finally:
            self._reading.cancel()
            self.forget_asked()
            await asyncio.gather(self._reading, *self._asked.values(), return_exceptions=True)
            self._end(GoneError("the session was closed"))

    async def _read(self) -> None:
        try:
            while True:
                for found in await self.transport.receive():
                    self.heard_at = asyncio.get_running_loop().time()
                    await self._take(found)
        except GoneError as error:
            self._end(error)
        except Exception as error:  # noqa: BLE001 - the outermost line: no request may be left waiting
            _log.exception("reading from a hosted server failed")
            self._end(GoneError(f"{type(error).__name__}: {error}"))

    def _end(self, error: GoneError) -> None:
        if not self.gone.done():
            self.gone.set_result(error)
        for answered in self._open.values():
            if not answered.done():
                answered.set_exception(_again(error))
                answered.exception()

    async def _take(self, found: Message | Noise | TooLarge) -> None:
        if isinstance(found, TooLarge):
            self._refuse(found)
        elif isinstance(found, Noise):
            if self.host is not None:
                await self.host.noise(found.data)
        elif "method" not in found:
            self._answer(found)
        elif "id" in found:
            await self._serve(found)
        else:
            await self._hear(found["method"], _params(found))

    def _answer(self, message: Message) -> None:
        answered = self._open.get(message["id"]) if isinstance(message.get("id"), int) else None
        if answered is None or answered.done():
            return  # late, or nobody's
        if isinstance(error := message.get("error"), dict):
            code = error.get("code")
            known = code if isinstance(code, int) else INTERNAL_ERROR
            answered.set_exception(
                AnswerError(known, str(error.get("message") or "no reason given"), error.get("data"))
            )
        else:
            answered.set_result(message.get("result"))

    def _refuse(self, found: TooLarge) -> None:
        """Tell whoever waits for the answer that was too large; if it does not say whose it is, everybody."""
        numbers = [int(each) for each in _ID.findall(found.ends)]
        meant = [number for number in numbers if number in self._open] or list(self._open)
        for number in meant:
            if not self._open[number].done():
                text = f"the MCP server's answer has {found.size} bytes; {MESSAGE_MAX} are the most"
                self._open[number].set_exception(HostError(text))

    async def _hear(self, method: str, params: Mapping[str, Any]) -> None:
        if method == "notifications/cancelled":
            task = self._asked.get(params.get("requestId", ""))
            if task is not None:
                task.cancel(NO_LONGER_WANTED)
        elif self.host is not None:
            await self.host.notified(method, params)

    async def _serve(self, message: Message) -> None:
        number, method = message["id"], message["method"]
        if not isinstance(number, str | int) or number in self._asked or len(self._asked) >= ASKED_MAX:
            await self._reply(number, error=AnswerError(INTERNAL_ERROR, f"at most {ASKED_MAX} requests at a time"))
        else:
            task = asyncio.create_task(self._ask(number, method, _params(message)))
            self._asked[number] = task
            task.add_done_callback(lambda _: self._asked.pop(number, None))

    async def _ask(self, number: str | int, method: str, params: Mapping[str, Any]) -> None:
        try:
            result = await self._result(method, params)
        except AnswerError as error:
            await self._reply(number, error=error)
        except Exception as error:  # noqa: BLE001 - the server gets an answer, whatever happened
            await self._reply(number, error=AnswerError(INTERNAL_ERROR, f"{type(error).__name__}: {error}"[:500]))
        else:
            await self._reply(number, result=result)

    async def _result(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        if method == "ping":
            return {}
        if self.host is None:
            raise AnswerError(METHOD_NOT_FOUND, f"{method}: nobody is there to ask")
        return await self.host.asked(method, params)

    async def _reply(self, number: Any, *, result: Any = None, error: AnswerError | None = None) -> None:
        body = {"result": result} if error is None else {"error": error.to_wire()}
        with contextlib.suppress(GoneError):
            await self.transport.send({"jsonrpc": "2.0", "id": number, **body})


def _params(message: Message) -> Mapping[str, Any]:
    params = message.get("params")
    return params if isinstance(params, dict) else {}


def _again(error: GoneError) -> GoneError:
    """A new one of the same: an exception that is raised twice grows its traceback."""
    return GoneError(str(error), code=error.code)
