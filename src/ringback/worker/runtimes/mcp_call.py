"""One attempt of an MCP tool: a request to a hosted server, with all that the server tells and asks meanwhile.

The ends, and what each means:

* an answer: the result, or a failure of the tool when it says `isError`, or a failure in the protocol's words
* a stop: the server is told (`notifications/cancelled`). If it answers in time, that counts: a result that it reached
  is a result. If not, its process gets SIGTERM and what is left of the grace, because nobody else could say that the
  work has ended. A server at an address can only be told; the session with it is ended
* the server's death: a failure that names how it died
"""

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ringback.worker.assignment import Assignment, Outcome, Reporter, Stop
from ringback.worker.hosting.errors import AnswerError, GoneError, HostError
from ringback.worker.hosting.session import Session
from ringback.worker.jsonable import clean, preview
from ringback.worker.runtimes.interpreter import signal_name
from ringback.worker.runtimes.mcp_host import McpHost
from ringback.worker.wire import RESULT_MAX

ANSWER_WITHIN_S: Final = 1.0
INVALID_PARAMS: Final = -32602
METHOD_NOT_FOUND: Final = -32601
LISTS: Final[Mapping[str, str]] = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}
_MESSAGE_MAX: Final = 4_000
_PRIVATE: Final = ("_meta", "resultType", "isError", "ttlMs", "cacheScope")


class McpCall(McpHost):
    """Carries out one assignment in one session, and is its `Host` meanwhile."""

    def __init__(self, session: Session, assignment: Assignment, reporter: Reporter, stop: Stop) -> None:
        super().__init__(session.definition, assignment, reporter)
        self._session = session
        self._stop = stop
        self.is_fit = False
        """Whether the session may serve somebody else."""
        self.has_failed = False
        """Whether the server died or broke the session."""

    async def carry_out(self) -> Outcome:
        """Ask, and follow it to its end."""
        self._session.begin(self)
        await self._use(self._session)
        asked = self._loop.create_task(self._ask())
        stopped = self._loop.create_task(self._until_stopped())
        try:
            await asyncio.wait((asked, stopped), return_when=asyncio.FIRST_COMPLETED)
            outcome = await (self._ended(asked) if asked.done() else self._halt(asked))
            if self._session.process is not None and not self._stop.lost.is_set():
                await self._session.process.hear_out()
        finally:
            for task in (asked, stopped):
                task.cancel()
            await asyncio.gather(asked, stopped, return_exceptions=True)
            self._session.end()
        if not self._stop.lost.is_set():
            await self._output.finish()
        return outcome

    async def _ask(self) -> dict[str, Any]:
        profile = self._assignment.profile
        arguments = {**(profile.get("defaults") or {}), **self._assignment.arguments}
        method = str(profile.get("method") or "tools/call")
        if method in LISTS:
            return await self._session.listed(method, LISTS[method], host=self)
        params = {"name": profile["tool"], "arguments": arguments} if method == "tools/call" else arguments
        return await self._session.call(method, params, host=self, progress_token=self._assignment.attempt_id)

    # --- what the server says and asks (`Host`) ---

    async def notified(self, method: str, params: Mapping[str, Any]) -> None:
        """See `Host`."""
        if method == "notifications/progress" and params.get("progressToken") == self._assignment.attempt_id:
            message = params.get("message")
            text = self._mask.text(clean(str(message), 200)) if message is not None else None
            await self._reporter.progress(_number(params.get("progress")), _number(params.get("total")), text)
        elif method == "notifications/message":
            await self._log(params)

    # --- stopping ---

    async def _until_stopped(self) -> None:
        idle_ms = self._assignment.idle_timeout_ms
        while not self._stop.requested.is_set():
            idle_at = float("inf") if idle_ms is None else self._last_alive_at() + idle_ms / 1000
            if idle_at <= self._loop.time():
                self._stop.request("timeout:idle")
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(None if idle_ms is None else idle_at):
                    await self._stop.requested.wait()

    def _last_alive_at(self) -> float:
        if self._open_questions:
            return self._loop.time()
        return max(self._answered_at, self._session.peer.heard_at, self._output.last_at)

    async def _halt(self, asked: "asyncio.Task[dict[str, Any]]") -> Outcome:
        stop = self._stop
        if stop.why == "lost":
            return Outcome(kind="released", forced=True)
        grace_s = (self._assignment.grace_ms if stop.grace_ms is None else stop.grace_ms) / 1000
        ends_at, answer_s = self._loop.time() + grace_s, min(grace_s / 2, ANSWER_WITHIN_S)
        with contextlib.suppress(TimeoutError, HostError):
            async with asyncio.timeout(answer_s):
                await self._session.peer.cancel(str(stop.why))
        if stop.why == "cancel":
            await self._reporter.cancel_delivered()
        lost = self._loop.create_task(stop.lost.wait())
        await asyncio.wait((asked, lost), timeout=answer_s, return_when=asyncio.FIRST_COMPLETED)
        lost.cancel()
        if asked.done() and not isinstance(asked.exception(), GoneError):
            return await self._answered_to_stop(asked)
        left_s = 0.0 if stop.lost.is_set() else max(0.0, ends_at - self._loop.time())
        is_forced = await self._session.aclose(left_s)
        if self._session.process is None:
            is_forced = True
            note = "the MCP server was told to stop and did not say that it has; the session with it was ended\n"
            await self._output.write("stderr", note.encode())
        if stop.why == "cancel" and not is_forced:
            await self._reporter.cancel_acknowledged()
        return Outcome(kind="stopped", forced=is_forced)

    async def _answered_to_stop(self, asked: "asyncio.Task[dict[str, Any]]") -> Outcome:
        """The server answered although, or because, it was told to stop."""
        self.is_fit = True
        if asked.exception() is None and not asked.result().get("isError"):
            return self._succeeded(asked.result())
        if self._stop.why == "cancel":
            await self._reporter.cancel_acknowledged()
        return Outcome(kind="stopped", forced=False)

    # --- the end ---

    async def _ended(self, asked: "asyncio.Task[dict[str, Any]]") -> Outcome:
        try:
            result = asked.result()
        except AnswerError as error:
            self.is_fit = True
            return self._refused(error)
        except GoneError as error:
            self.has_failed = True
            code = error.code
            return Outcome(
                kind="failed",
                error_kind="tool_error",
                error_message=self._mask.text(f"{error} before it answered"),
                exit_code=code if code is not None and code >= 0 else None,
                signal=signal_name(-code) if code is not None and code < 0 else None,
            )
        except HostError as error:
            self.is_fit = True
            return Outcome(kind="failed", error_kind="tool_error", error_message=self._mask.text(str(error)))
        self.is_fit = True
        return self._failed(result) if result.get("isError") else self._succeeded(result)

    def _succeeded(self, result: Mapping[str, Any]) -> Outcome:
        shown = self._mask.value({name: value for name, value in result.items() if name not in _PRIVATE})
        size = len(msgspec.json.encode(shown))
        if size > RESULT_MAX:
            text = f"the MCP server's result has {size} bytes; {RESULT_MAX} are the most"
            return Outcome(kind="failed", error_kind="tool_error", error_message=text, retryable=False)
        summary = _first_line(_text_of(shown)) or preview(shown.get("structuredContent", shown))
        return Outcome(kind="succeeded", result=shown, summary=summary)

    def _failed(self, result: Mapping[str, Any]) -> Outcome:
        text = self._mask.text(_text_of(result)) or "the tool failed without a word"
        detail = self._mask.value({name: value for name, value in result.items() if name not in _PRIVATE})
        if len(msgspec.json.encode(detail)) > _MESSAGE_MAX:
            detail = None
        return Outcome(
            kind="failed",
            error_kind="tool_error",
            error_message=clean(text, _MESSAGE_MAX),
            error_detail=detail,
            summary=_first_line(text),
        )

    def _refused(self, error: AnswerError) -> Outcome:
        is_ours = error.code == INVALID_PARAMS
        return Outcome(
            kind="failed",
            error_kind="invalid_params" if is_ours else "tool_error",
            error_message=clean(self._mask.text(f"{error.message} ({error.code})"), _MESSAGE_MAX),
            error_detail=self._mask.value({"code": error.code, "data": error.data}),
            retryable=not is_ours,
        )


def _text_of(result: Mapping[str, Any]) -> str:
    blocks = result.get("content")
    found = blocks if isinstance(blocks, list) else []
    texts = (block.get("text") for block in found if isinstance(block, Mapping) and block.get("type") == "text")
    return "\n".join(text for text in texts if isinstance(text, str))


def _first_line(text: str) -> str | None:
    return clean(text.strip().splitlines()[0], 500) if text.strip() else None


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
