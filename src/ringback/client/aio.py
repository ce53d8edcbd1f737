"""The asyncio driver: obeys the steps of `exchange` over an `AsyncWire`. It decides nothing.

It mirrors `sync` line by line; the only difference is who waits.
"""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, Protocol, TypeVar

from ringback.client.exchange import Answer, Emit, Flow, LostError, Open, Pause, Read, Request, Send, Step, Steps

T = TypeVar("T")


class AsyncBody(Protocol):
    """The open body of an answer."""

    async def read(self) -> bytes:
        """The next bytes, empty at the end. Raises `LostError`."""
        ...

    async def close(self) -> None:
        """Give the connection back."""
        ...


class AsyncWire(Protocol):
    """Something that carries one request to one server."""

    async def send(self, request: Request) -> Answer:
        """The whole answer. Raises `LostError`."""
        ...

    async def open(self, request: Request) -> tuple[Answer, AsyncBody]:
        """The answer with its body still open. Raises `LostError`."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


class AsyncDriver:
    """Runs operations on one wire."""

    def __init__(self, wire: AsyncWire) -> None:
        """Nothing is opened yet."""
        self.wire = wire

    async def run(self, steps: Steps[T]) -> T:
        """The result of an operation."""
        performer, flow = _Performer(self.wire), Flow(steps)
        try:
            while flow.step is not None:
                await performer.advance(flow)
            return flow.value
        finally:
            await performer.close()

    async def iterate(self, steps: Steps[None]) -> AsyncGenerator[Any, None]:
        """What an operation emits, as it comes; leaving early closes the connection."""
        performer, flow = _Performer(self.wire), Flow(steps)
        try:
            while (step := flow.step) is not None:
                if isinstance(step, Emit):
                    yield step.item
                await performer.advance(flow)
        finally:
            await performer.close()
            flow.close()


class _Performer:
    """Carries out the steps of one operation; holds its open body."""

    def __init__(self, wire: AsyncWire) -> None:
        self._wire = wire
        self._body: AsyncBody | None = None

    async def advance(self, flow: Flow[Any]) -> None:
        assert flow.step is not None
        try:
            outcome = await self._perform(flow.step)
        except LostError as lost:
            flow.fail(lost)
        else:
            flow.resume(outcome)

    async def _perform(self, step: Step) -> object:
        match step:
            case Send(request):
                return await self._wire.send(request)
            case Open(request):
                await self.close()
                answer, self._body = await self._wire.open(request)
                return answer
            case Read():
                assert self._body is not None
                return await self._body.read()
            case Pause(seconds):
                await self.close()
                await asyncio.sleep(seconds)
            case Emit():
                pass  # taken by the caller
        return None

    async def close(self) -> None:
        body, self._body = self._body, None
        if body is not None:
            await body.close()
