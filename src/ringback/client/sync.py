"""The blocking driver: obeys the steps of `exchange` over a `Wire`. It decides nothing."""

import time
from collections.abc import Callable, Generator
from typing import Any, Protocol, TypeVar

from ringback.client.exchange import Answer, Emit, Flow, LostError, Open, Pause, Read, Request, Send, Step, Steps

T = TypeVar("T")


class Body(Protocol):
    """The open body of an answer."""

    def read(self) -> bytes:
        """The next bytes, empty at the end. Raises `LostError`."""
        ...

    def close(self) -> None:
        """Give the connection back."""
        ...


class Wire(Protocol):
    """Something that carries one request to one server."""

    def send(self, request: Request) -> Answer:
        """The whole answer. Raises `LostError`."""
        ...

    def open(self, request: Request) -> tuple[Answer, Body]:
        """The answer with its body still open. Raises `LostError`."""
        ...

    def close(self) -> None:
        """Close all connections."""
        ...


class Driver:
    """Runs operations on one wire. As thread-safe as the wire."""

    def __init__(self, wire: Wire, sleep: Callable[[float], None] = time.sleep) -> None:
        """`sleep` carries out a `Pause`."""
        self.wire = wire
        self._sleep = sleep

    def run(self, steps: Steps[T]) -> T:
        """The result of an operation."""
        performer, flow = _Performer(self.wire, self._sleep), Flow(steps)
        try:
            while flow.step is not None:
                performer.advance(flow)
            return flow.value
        finally:
            performer.close()

    def iterate(self, steps: Steps[None]) -> Generator[Any, None, None]:
        """What an operation emits, as it comes; leaving early closes the connection."""
        performer, flow = _Performer(self.wire, self._sleep), Flow(steps)
        try:
            while (step := flow.step) is not None:
                if isinstance(step, Emit):
                    yield step.item
                performer.advance(flow)
        finally:
            performer.close()
            flow.close()


class _Performer:
    """Carries out the steps of one operation; holds its open body."""

    def __init__(self, wire: Wire, sleep: Callable[[float], None]) -> None:
        self._wire, self._sleep = wire, sleep
        self._body: Body | None = None

    def advance(self, flow: Flow[Any]) -> None:
        assert flow.step is not None
        try:
            outcome = self._perform(flow.step)
        except LostError as lost:
            flow.fail(lost)
        else:
            flow.resume(outcome)

    def _perform(self, step: Step) -> object:
        match step:
            case Send(request):
                return self._wire.send(request)
            case Open(request):
                self.close()
                answer, self._body = self._wire.open(request)
                return answer
            case Read():
                assert self._body is not None
                return self._body.read()
            case Pause(seconds):
                self.close()
                self._sleep(seconds)
            case Emit():
                pass  # taken by the caller
        return None

    def close(self) -> None:
        body, self._body = self._body, None
        if body is not None:
            body.close()
