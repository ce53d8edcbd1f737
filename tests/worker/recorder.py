"""A reporter that keeps what it is told, and lets a test wait for the thing itself."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ringback.worker.assignment import OutputStream
from ringback.worker.reporting import ChildRefusedError, QuestionRefusedError


class Recorder:
    """Remembers everything, in order."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []
        self.children: list[tuple[str, Mapping[str, Any]]] = []
        self.questions: list[Mapping[str, Any]] = []
        self.withdrawn: list[str] = []
        self.replies: list[tuple[str, Mapping[str, Any] | None]] = []
        self.put: list[Mapping[str, Any]] = []
        self.used: list[tuple[str, Mapping[str, Any]]] = []
        self.answers: list[Mapping[str, Any]] = []
        self._changed = asyncio.Event()

    def ask_session(self, method: str, **more: Any) -> int:
        """Put a request to the session; its number."""
        number = len(self.put) + 1
        members = {"number": number, "request": {"method": method, **more}}
        self.put.append(members)
        self._changed.set()
        return number

    async def answer_to(self, number: int) -> Mapping[str, Any]:
        """The answer of the session to a request."""
        await self.until(lambda recorder: any(value["number"] == number for (value,) in recorder.of("mcp.response")))
        found: Mapping[str, Any] = next(
            value["response"] for (value,) in self.of("mcp.response") if value["number"] == number
        )
        return found

    async def until(self, is_there: Callable[["Recorder"], bool]) -> None:
        """Wait, a minute at most."""
        async with asyncio.timeout(60):
            while not is_there(self):
                self._changed.clear()
                await self._changed.wait()

    async def until_started(self) -> None:
        """Wait for the first progress."""
        await self.until(lambda recorder: bool(recorder.of("progress")))

    def of(self, kind: str) -> list[list[Any]]:
        """The events of one kind, without the kind."""
        return [rest for name, *rest in self.events if name == kind]

    def text(self, stream: str) -> str:
        """All output of a stream."""
        return b"".join(data for name, data in self.of("output") if name == stream).decode()

    def items(self) -> list[Any]:
        """The items of all pages."""
        return [item for (page,) in self.of("page") for item in page]

    def _note(self, *event: Any) -> None:
        self.events.append(event)
        self._changed.set()

    async def output(self, stream: OutputStream, data: bytes) -> None:
        self._note("output", stream, data)

    async def dropped(self, stream: OutputStream, byte_count: int) -> None:
        self._note("dropped", stream, byte_count)

    async def progress(self, done: float | None = None, total: float | None = None, message: str | None = None) -> None:
        self._note("progress", done, total, message)

    async def page(self, items: list[Any]) -> None:
        self._note("page", items)

    async def checkpoint(self, value: Any) -> None:
        self._note("checkpoint", value)

    async def child(self, tool: str, arguments: Mapping[str, Any]) -> str:
        self.children.append((tool, arguments))
        if tool == "refused":
            raise ChildRefusedError("not_found", "there is no such tool")
        if tool == "never answered":
            await asyncio.Event().wait()
        return f"child-{len(self.children)}"

    async def ask(self, question: Mapping[str, Any], *, parks: bool = False) -> tuple[str, Mapping[str, Any] | None]:
        self.questions.append(question)
        self._changed.set()
        if question["title"] == "refused":
            raise QuestionRefusedError("illegal_transition", "another one is open")
        if question["title"] == "never answered":
            await asyncio.Event().wait()
        return self.replies.pop(0)

    async def withdraw(self, key: str) -> str | None:
        self.withdrawn.append(key)
        self._note("withdrawn", key)
        return "withdrawn" if any(question["key"] == key for question in self.questions) else None

    async def callback(self, start_no: int, secret: str | None) -> tuple[str, Mapping[str, Any] | None]:
        raise AssertionError("there is no server to call back")

    async def news(self) -> None:
        raise AssertionError("there is no server with news")

    async def requests(self, after: int) -> Sequence[Mapping[str, Any]]:
        while not (found := [each for each in self.put if each["number"] > after]):
            self._changed.clear()
            await self._changed.wait()
        return found

    async def tell(self, kind: str, value: Mapping[str, Any]) -> None:
        self._note(kind, value)

    async def use(self, capability: str, members: Mapping[str, Any]) -> Mapping[str, Any]:
        self.used.append((capability, members))
        if members["key"] == "refused":
            raise ChildRefusedError("unsupported_capability", "it was not agreed on")
        return self.answers.pop(0)

    async def cancel_delivered(self) -> None:
        self._note("cancel_delivered")

    async def cancel_acknowledged(self) -> None:
        self._note("cancel_acknowledged")
