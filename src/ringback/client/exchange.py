"""The protocol without a socket: what to send, when to try again, what an answer means.

Every operation of the client is a generator of *steps*. It yields what it needs (`Send`, `Open`, `Read`, `Pause`), is
resumed with what came back, and returns its result; `Emit` hands one item of a sequence to the caller. A driver that
obeys the steps is all that a sync, an async or a test client needs, so no rule is written twice.

    law        the caller of a driver sees a result or a RingbackError, nothing else
    repeating  only what is safe to repeat is repeated after it may have been received: GET, PUT, DELETE, and a POST
               that carries an idempotency key; anything may be repeated that provably never left
"""

import json
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

from ringback.client.errors import ProtocolError, RefusedError, UnreachableError, refusal
from ringback.client.retry import RetryPolicy

T = TypeVar("T")
REPEATABLE_METHODS = frozenset({"GET", "HEAD", "PUT", "DELETE"})
IDEMPOTENCY_HEADER = "Idempotency-Key"


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request, relative to the server's address. `within_s` bounds the wait for each piece of the answer."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    within_s: float = 30.0

    @property
    def is_repeatable(self) -> bool:
        """Whether sending it twice does no more than sending it once."""
        return self.method in REPEATABLE_METHODS or IDEMPOTENCY_HEADER in self.headers


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer. Names of headers are lower case; the body of an opened stream is empty."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def json(self) -> Any:
        """The body as JSON.

        Raises:
            ProtocolError: it is not JSON.
        """
        try:
            return json.loads(self.body)
        except ValueError:
            raise ProtocolError(f"expected JSON, got {self.headers.get('content-type', 'no content type')}") from None


@dataclass(frozen=True, slots=True)
class Send:
    """Send a request; resumed with its whole `Answer`."""

    request: Request


@dataclass(frozen=True, slots=True)
class Open:
    """Send a request and keep its body open; resumed with the `Answer` (its body only when the status is an error)."""

    request: Request


@dataclass(frozen=True, slots=True)
class Read:
    """Resumed with the next bytes of the open body; empty at its end."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Resumed after so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Emit:
    """One item for the caller."""

    item: Any


class LostError(Exception):
    """Thrown into the generator by a driver: the connection failed. `was_sent` is False when nothing can have arrived."""

    def __init__(self, detail: str, *, was_sent: bool) -> None:
        super().__init__(detail)
        self.detail, self.was_sent = detail, was_sent


Step = Send | Open | Read | Pause | Emit
Steps = Generator[Step, Any, T]


class Flow(Generic[T]):
    """A generator of steps being obeyed: `step` is what to do next, None once `value` is there."""

    def __init__(self, steps: Steps[T]) -> None:
        """Runs to the first step."""
        self._steps = steps
        self._value: T | None = None
        self.step: Step | None = None
        self._move(lambda: next(steps))

    def resume(self, outcome: object) -> None:
        """The step was done and this came of it. Errors of the operation pass through."""
        self._move(lambda: self._steps.send(outcome))

    def fail(self, lost: LostError) -> None:
        """The connection failed while the step was being done."""
        self._move(lambda: self._steps.throw(lost))

    def close(self) -> None:
        """Nobody wants the rest."""
        self._steps.close()

    @property
    def value(self) -> T:
        """What the operation returned."""
        return cast(T, self._value)

    def _move(self, onward: Callable[[], Step]) -> None:
        try:
            self.step = onward()
        except StopIteration as end:
            self.step, self._value = None, end.value


@dataclass(frozen=True, slots=True)
class Link:
    """What every operation needs besides its own arguments: identity, patience and a clock in seconds.

    Attributes:
        source: which front of ours this is; jobs that come through one are announced in the caller's inbox.
    """

    url: str | None = None
    token: str | None = None
    project: str | None = None
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    clock: Callable[[], float] = time.monotonic
    source: str | None = None

    def headers(self) -> dict[str, str]:
        """The headers of every request."""
        named = {"Accept": "application/json"}
        if self.token:
            named["Authorization"] = f"Bearer {self.token}"
        if self.project:
            named["Ringback-Project"] = self.project
        if self.source:
            named["Ringback-Source"] = self.source
        return named


def exchange(link: Link, request: Request, *, opens: bool = False) -> Steps[Answer]:
    """Send until there is an answer that counts.

    Raises:
        RefusedError: the server said no, and asking again would not help or was tried often enough.
        UnreachableError: no answer.
    """
    step: Step = Open(request) if opens else Send(request)
    tries = 0
    while True:
        tries += 1
        try:
            answer: Answer = yield step
        except LostError as lost:
            is_safe = request.is_repeatable or not lost.was_sent
            delay_s = link.retry.delay_s(tries) if is_safe else None
            if delay_s is None:
                raise UnreachableError(link.url, lost.detail) from lost
        else:
            if answer.status < 400:
                return answer
            refused = refused_by(answer)
            is_safe = request.is_repeatable and _may_change(refused)
            delay_s = link.retry.delay_s(tries, retry_after_s(answer)) if is_safe else None
            if delay_s is None:
                raise refused
        yield Pause(delay_s)


def refused_by(answer: Answer) -> RefusedError:
    """The error that an answer with an error status means; a body that is no problem document is tolerated."""
    problem: Any = None
    if "json" in answer.headers.get("content-type", ""):
        try:
            problem = answer.json()
        except ProtocolError:
            problem = None
    if not isinstance(problem, Mapping):
        problem = {"title": f"HTTP {answer.status}"}
    return refusal(answer.status, problem)


def retry_after_s(answer: Answer) -> float | None:
    """`Retry-After` in seconds; the date form is left alone, no Ringback sends it."""
    value = answer.headers.get("retry-after", "")
    return float(value) if value.isascii() and value.isdigit() else None


def _may_change(refused: RefusedError) -> bool:
    if refused.status in {429, 502, 503, 504}:
        return True
    # The first request with this key is still on its way (RFC draft idempotency-key: 409): its answer will be ours.
    return refused.status == 409 and refused.retryable and "idempotency" in refused.code
