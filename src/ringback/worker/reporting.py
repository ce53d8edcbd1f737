"""What a runtime tells about its attempt, turned into the protocol's reports.

Output, pages and drops wait for room in the outbox: that is the back-pressure which the runtime passes on to the work.
Progress never waits and is thinned out to some five a second, the last one always before the settle. A checkpoint has
returned only when the server has it. Reports of events are numbered for each attempt, so that a batch which is sent
again adds nothing twice. A muted attempt (lost, or thrown away) may go on calling; nothing happens then.
"""

import asyncio
import contextlib
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from ringback.worker.assignment import OutputStream
from ringback.worker.backoff import Backoff
from ringback.worker.batching import Outbox
from ringback.worker.messages import Key, Result, report
from ringback.worker.settlement import RETRY_CODES

PROGRESS_EVERY_S: Final = 0.2
PROGRESS_MESSAGE_MAX: Final = 200
LOOK_EVERY_S: Final = 10.0


class ChildRefusedError(Exception):
    """The server did not start the child; `code` says why."""

    def __init__(self, code: str, message: str) -> None:
        """Both as the server said them."""
        super().__init__(f"{message} ({code})" if message else code)
        self.code = code


class QuestionRefusedError(ChildRefusedError):
    """The server did not ask the question; `code` says why."""


class CallbackRefusedError(ChildRefusedError):
    """The server opened no address; `code` says why."""


class AttemptReporter:
    """The `Reporter` of one attempt."""

    def __init__(self, key: Key, outbox: Outbox) -> None:
        """Offsets count from zero."""
        self._key = key
        self._outbox = outbox
        self._offsets: dict[OutputStream, int] = {"stdout": 0, "stderr": 0}
        self._seq = 0
        self._news = asyncio.Event()
        self._looks = 0
        self._heard = 0
        self._progress: dict[str, Any] | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def output(self, stream: OutputStream, data: bytes) -> None:
        """The next bytes of a stream, already masked."""
        offset = self._advance(stream, len(data))
        await self._put({"type": "output.chunk", "stream": stream, "offset": offset, "data": data})

    async def dropped(self, stream: OutputStream, byte_count: int) -> None:
        """So many bytes of the stream are not kept."""
        offset = self._advance(stream, byte_count)
        await self._put({"type": "output.dropped", "stream": stream, "offset": offset, "bytes": byte_count})

    async def progress(self, done: float | None = None, total: float | None = None, message: str | None = None) -> None:
        """How far the work is; the newest replaces one that has not been sent."""
        text = message and message[:PROGRESS_MESSAGE_MAX].encode(errors="replace").decode()
        facts = {"done": done, "total": total, "message": text}
        self._progress = {"type": "progress", **{name: fact for name, fact in facts.items() if fact is not None}}
        if self._timer is None:
            self._send_progress()

    async def page(self, items: list[Any]) -> None:
        """The next items of a paged result."""
        await self._put({"type": "page", "items": items})

    async def checkpoint(self, value: Any) -> None:
        """Keep the state from which a later attempt may go on; returns when the server has it."""
        await self._outbox.post(self._key, self._events({"type": "checkpoint", "value": value}))

    async def child(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Start a run below this one and return its id; a lost answer does not start a second one.

        Raises:
            ChildRefusedError: the server did not start it.
        """
        members = {"requestId": str(uuid.uuid4()), "tool": tool, "arguments": arguments, "relation": "tool_subrun"}
        result = await self._outbox.post(self._key, report(self._key, "child", members))
        if not result.ok or result.child_run_id is None:
            raise ChildRefusedError(result.code or "refused", result.detail or "")
        return result.child_run_id

    async def start_child(self, request_id: str, wanted: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
        """Start a run of something that is frozen on this one, once for each `request_id`; its id.

        Raises:
            ChildRefusedError: the server did not start it.
        """
        members = {"requestId": request_id, "relation": wanted["relation"], "arguments": arguments}
        granted = wanted.get("grantId")
        members |= {"tool": granted or wanted["name"]}
        if granted is None:
            members["resourceRevisionId"] = wanted["resourceRevisionId"]
        result = await self._insist("child", members)
        if result.child_run_id is None:
            raise ChildRefusedError(result.code or "refused", result.detail or "")
        return result.child_run_id

    async def standing(self, run_ids: Sequence[str]) -> Sequence[Mapping[str, Any]]:
        """How runs stand that this one started.

        Raises:
            ChildRefusedError: one of them is none.
        """
        return (await self._insist("look", {"children": list(run_ids)})).children

    async def proceed(self, run_id: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Put a request to a session that this run opened, or look for its answer: `{status, response?}`.

        Raises:
            ChildRefusedError: the session takes none.
        """
        return (await self._insist("continue", {"child": run_id, "request": request})).continuation or {
            "status": "open"
        }

    async def _insist(self, kind: str, members: Mapping[str, Any]) -> Result:
        backoff = Backoff()
        while True:
            result = await self._outbox.post(self._key, report(self._key, kind, members))
            if result.ok:
                return result
            if result.code not in RETRY_CODES:
                raise ChildRefusedError(result.code or "refused", result.detail or "")
            await asyncio.sleep(backoff.wait_s())

    async def ask(self, question: Mapping[str, Any], *, parks: bool = False) -> tuple[str, Mapping[str, Any] | None]:
        """Ask people something and wait until that is over; its status then, and the answer.

        Who parks doesn't wait: the attempt gives its slot back when the question is open.
        The same report is sent again to see how the question stands: when the server says that there is news, and now and then.

        Raises:
            QuestionRefusedError: it can't be asked.
        """
        backoff = Backoff()
        asked: dict[str, Any] = {"question": question}
        while True:
            looks = self._looks
            result = await self._outbox.post(self._key, report(self._key, "ask", asked))
            if result.code in RETRY_CODES:
                await asyncio.sleep(backoff.wait_s())
                continue
            if not result.ok or result.interaction_status is None:
                raise QuestionRefusedError(result.code or "refused", result.detail or "")
            if result.interaction_status != "open" or parks:
                return result.interaction_status, result.response
            if result.interaction_id is not None:
                asked["interactionId"] = result.interaction_id  # what is withdrawn meanwhile is not asked anew
            await self._until_news(looks)

    async def requests(self, after: int) -> Sequence[Mapping[str, Any]]:
        """Requests that were put to the session behind the number `after`; none when there was no news for a while.

        Raises:
            ChildRefusedError: the attempt may not have them.
        """
        looks = self._looks
        result = await self._outbox.post(self._key, report(self._key, "requests", {"after": after}))
        if not result.ok and result.code not in RETRY_CODES:
            raise ChildRefusedError(result.code or "refused", result.detail or "")
        if not result.requests:
            await self._until_news(looks)
        return result.requests

    async def tell(self, kind: str, value: Mapping[str, Any]) -> None:
        """An event of a session: `mcp.opened`, `mcp.response` or `mcp.notification`."""
        await self._put({"type": kind, "value": value})

    async def _until_news(self, looks: int) -> None:
        """Wait until there was one more look than `looks`, a while at most. Several may wait at a time."""
        if self._looks == looks:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY_S):
                    await self._news.wait()

    async def use(self, capability: str, members: Mapping[str, Any]) -> Mapping[str, Any]:
        """Use what the server serves; a lost answer does not write twice.

        Raises:
            ChildRefusedError: the server refuses it.
        """
        body, backoff = report(self._key, capability, {**members, "requestId": str(uuid.uuid4())}), Backoff()
        while (result := await self._outbox.post(self._key, body)).code in RETRY_CODES:  # noqa: ASYNC110
            await asyncio.sleep(backoff.wait_s())
        if not result.ok:
            raise ChildRefusedError(result.code or "refused", result.detail or "")
        facts = {"value": result.value, "version": result.version, "written": result.written}
        return {name: fact for name, fact in facts.items() if fact is not None and fact is not msgspec.UNSET}

    async def withdraw(self, key: str) -> str | None:
        """Take back what was asked under `key`; its status then, None where nothing was asked.

        Raises:
            QuestionRefusedError: the server can't do that.
        """
        backoff = Backoff()
        while True:
            result = await self._outbox.post(self._key, report(self._key, "withdraw", {"key": key}))
            if result.code in RETRY_CODES:
                await asyncio.sleep(backoff.wait_s())
                continue
            if not result.ok:
                raise QuestionRefusedError(result.code or "refused", result.detail or "")
            self.look()
            return result.interaction_status

    async def callback(self, start_no: int, secret: str | None) -> tuple[str, Mapping[str, Any] | None]:
        """The one-time address of the run's job number `start_no` (its path where the server knows no more), and what came in.

        Raises:
            CallbackRefusedError: there is none, and why.
        """
        backoff = Backoff()
        wanted = {"start": start_no} if secret is None else {"start": start_no, "secret": secret}
        while True:
            result = await self._outbox.post(self._key, report(self._key, "callback", {"callback": wanted}))
            if result.code in RETRY_CODES:
                await asyncio.sleep(backoff.wait_s())
                continue
            if not result.ok or result.callback_path is None:
                raise CallbackRefusedError(result.code or "refused", result.detail or "")
            return result.callback_url or result.callback_path, result.delivery

    async def news(self) -> None:
        """Wait until the server says that something came in for the attempt; it may have been for nothing."""
        while self._looks == self._heard:
            await self._news.wait()
        self._heard = self._looks

    def look(self) -> None:
        """A question is over, a callback or a request came in."""
        self._looks += 1
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def cancel_delivered(self) -> None:
        """The work was told to stop."""
        self._note({"type": "cancel.delivered"})

    async def cancel_acknowledged(self) -> None:
        """The work itself ended in answer to the stop."""
        self._note({"type": "cancel.acknowledged"})

    def finish(self) -> None:
        """Send the last progress; the settle follows."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._flush_progress()

    def _advance(self, stream: OutputStream, size: int) -> int:
        offset = self._offsets[stream]
        self._offsets[stream] = offset + size
        return offset

    def _send_progress(self) -> None:
        """Send what is new and hold the next one back for a while; stop the timer when there was nothing new."""
        self._timer = None
        if self._flush_progress():
            self._timer = asyncio.get_running_loop().call_later(PROGRESS_EVERY_S, self._send_progress)

    def _flush_progress(self) -> bool:
        event, self._progress = self._progress, None
        if event is None:
            return False
        self._note(event)
        return True

    def _events(self, event: dict[str, Any]) -> bytes:
        self._seq += 1
        return report(self._key, "events", {"seq": self._seq, "events": [event]})

    def _note(self, event: dict[str, Any]) -> None:
        self._outbox.note(self._key, self._events(event))

    async def _put(self, event: dict[str, Any]) -> None:
        await self._outbox.put(self._key, self._events(event))
