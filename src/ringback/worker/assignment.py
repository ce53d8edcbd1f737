"""The words that the worker's parts share: what is to be done, how it ended, and how the two talk meanwhile.

An `Assignment` is one attempt as the server handed it out. A `Runtime` carries it out, tells what happens through a
`Reporter`, watches a `Stop`, and returns an `Outcome` as a value: a failure of the work is never an exception. Nothing
here knows HTTP, processes or interpreters, so each part can be tested with recordings of the others.

The one order that everybody relies on: `Runtime.run` returns only when nothing of the attempt is left alive.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, Self

OutcomeKind = Literal["succeeded", "failed", "timed_out", "stopped", "released"]
ErrorKind = Literal["tool_error", "invalid_params", "internal", "expired"]
Limit = Literal["attempt", "idle", "deadline"]
StopReason = Literal["cancel", "timeout:attempt", "timeout:idle", "timeout:deadline", "lost", "drain"]
OutputStream = Literal["stdout", "stderr"]

LIGHT: Final = frozenset({"http", "agent"})
"""Runtimes whose attempts wait for others and cost next to nothing: they give their slot back while they run."""
LIGHT_MAX: Final = 1_000
GRACE_DEFAULT_MS: Final = 5_000
ERROR_MESSAGE_MAX: Final = 4_000
SUMMARY_MAX: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One attempt of one run, with everything that is needed to carry it out."""

    run_id: str
    attempt_id: str
    tool: str
    runtime: str
    job_id: str = ""
    attempt_no: int = 1
    fence: int = 0
    project_id: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    resource_type: str = "tool"
    input: Mapping[str, Any] = field(default_factory=dict)
    profile: Mapping[str, Any] = field(default_factory=dict)
    policy: Mapping[str, Any] = field(default_factory=dict)
    summary: str | Mapping[str, Any] = "auto"
    timeout_ms: int | None = None
    idle_timeout_ms: int | None = None
    grace_ms: int = GRACE_DEFAULT_MS
    is_started: bool = False
    checkpoint: Any = None
    created_at: str | None = None
    deadline_at: str | None = None
    traceparent: str | None = None
    run_token: str = field(default="", repr=False)
    prefix: tuple[str, ...] = ()
    """What stands before a command, so that it runs in a space; never from the server."""

    @classmethod
    def from_wire(cls, body: Mapping[str, Any]) -> Self:
        """Read the JSON object of a claim; members that this version does not know are left alone.

        Raises:
            KeyError: one of runId, attemptId, tool or runtime is absent.
        """
        required: dict[str, Any] = {name: str(body[wire]) for name, wire in _REQUIRED.items()}
        present = {name: body[wire] for name, wire in _OPTIONAL.items() if body.get(wire) is not None}
        return cls(**required, **present)


_REQUIRED: Final = {"run_id": "runId", "attempt_id": "attemptId", "tool": "tool", "runtime": "runtime"}
_OPTIONAL: Final = {
    "job_id": "jobId",
    "attempt_no": "attemptNo",
    "fence": "fence",
    "project_id": "projectId",
    "arguments": "arguments",
    "resource_type": "resourceType",
    "input": "input",
    "profile": "profile",
    "policy": "policy",
    "summary": "summary",
    "timeout_ms": "timeoutMs",
    "idle_timeout_ms": "idleTimeoutMs",
    "grace_ms": "graceMs",
    "is_started": "started",
    "checkpoint": "checkpoint",
    "created_at": "createdAt",
    "deadline_at": "deadlineAt",
    "traceparent": "traceparent",
    "run_token": "runToken",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How an attempt ended. `released` gives the claim back without a verdict (drain), or parked: until an answer is there."""

    kind: OutcomeKind
    result: Any = None
    summary: str | None = None
    exit_code: int | None = None
    signal: str | None = None
    error_kind: ErrorKind | None = None
    error_message: str | None = None
    error_detail: Any = None
    limit: Limit | None = None
    forced: bool | None = None
    retryable: bool = True
    parked: bool = False

    def to_wire(self) -> dict[str, Any]:
        """The members of a settle report that describe the outcome; absent is absent, never null."""
        body: dict[str, Any] = {"outcome": self.kind}
        optional = {
            "result": self.result,
            "summary": self.summary and self.summary[:SUMMARY_MAX],
            "exitCode": self.exit_code,
            "signal": self.signal,
            "error": self._error(),
            "limit": self.limit,
            "forced": self.forced,
        }
        body |= {name: value for name, value in optional.items() if value is not None}
        if not self.retryable:
            body["retryable"] = False
        if self.parked:
            body["parked"] = True
        return body

    def _error(self) -> dict[str, Any] | None:
        if self.error_kind is None:
            return None
        error: dict[str, Any] = {"kind": self.error_kind, "message": (self.error_message or "")[:ERROR_MESSAGE_MAX]}
        if self.error_detail is not None:
            error["detail"] = self.error_detail
        return error


class Stop:
    """The request that an attempt end early, and the leave not to be busy while people are asked.

    The first reason stays, except that a lost lease beats all others: `lost` is set then, and a grace that has begun ends.
    """

    def __init__(self) -> None:
        """Nothing is requested yet."""
        self.requested = asyncio.Event()
        self.lost = asyncio.Event()
        self.why: StopReason | None = None
        self.grace_ms: int | None = None
        self._is_resting = False
        self._rested_until = 0.0

    def rest(self, is_resting: bool) -> None:
        """The work waits for people: meanwhile it is not idle, and its idle limit counts from the end of that."""
        if self._is_resting and not is_resting:
            self._rested_until = asyncio.get_running_loop().time()
        self._is_resting = is_resting

    def alive_at(self, last_active_at: float) -> float:
        """When the work gave its last sign of life (by the loop's clock), the time that people take included."""
        if self._is_resting:
            return asyncio.get_running_loop().time()
        return max(last_active_at, self._rested_until)

    def request(self, why: StopReason, *, grace_ms: int | None = None) -> None:
        """Ask for the end; `grace_ms` None means the grace of the assignment, and `lost` has no grace at all."""
        if self.why is None or (why == "lost" and self.why != "lost"):
            self.why = why
            self.grace_ms = 0 if why == "lost" else grace_ms
        self.requested.set()
        if why == "lost":
            self.lost.set()

    @property
    def limit(self) -> Limit | None:
        """The limit that fired, when the reason is a timeout."""
        match self.why:
            case "timeout:attempt":
                return "attempt"
            case "timeout:idle":
                return "idle"
            case "timeout:deadline":
                return "deadline"
            case _:
                return None


class Reporter(Protocol):
    """Where a runtime tells what happens. Awaiting is back-pressure; the order of calls is the order of events."""

    async def output(self, stream: OutputStream, data: bytes) -> None:
        """The next bytes of a stream, already masked; offsets count from the calls before, drops included."""
        ...

    async def dropped(self, stream: OutputStream, byte_count: int) -> None:
        """So many bytes of the stream are not kept; the next output comes after them."""
        ...

    async def progress(self, done: float | None = None, total: float | None = None, message: str | None = None) -> None:
        """How far the work is."""
        ...

    async def page(self, items: list[Any]) -> None:
        """The next items of a result that is delivered in pages."""
        ...

    async def checkpoint(self, value: Any) -> None:
        """The state from which a later attempt may go on."""
        ...

    async def child(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Start a run below this one; returns its id."""
        ...

    async def ask(self, question: Mapping[str, Any], *, parks: bool = False) -> tuple[str, Mapping[str, Any] | None]:
        """Ask people something; its status once that is over, and the answer. `parks`: `open` comes back at once."""
        ...

    async def withdraw(self, key: str) -> str | None:
        """Take back what was asked under `key`; its status then, None where nothing was asked."""
        ...

    async def callback(self, start_no: int, secret: str | None) -> tuple[str, Mapping[str, Any] | None]:
        """A one-time address at the server (or only its path), and the delivery that came in at it."""
        ...

    async def news(self) -> None:
        """Wait until something came in for the attempt."""
        ...

    async def requests(self, after: int) -> Sequence[Mapping[str, Any]]:
        """Requests that were put to the session which the attempt is; waits for some, a while at most."""
        ...

    async def tell(self, kind: str, value: Mapping[str, Any]) -> None:
        """What happened in the session."""
        ...

    async def use(self, capability: str, members: Mapping[str, Any]) -> Mapping[str, Any]:
        """Use a capability that the server serves: `kv.read`, `kv.write`."""
        ...

    async def cancel_delivered(self) -> None:
        """The work was told to stop."""
        ...

    async def cancel_acknowledged(self) -> None:
        """The work itself ended in answer to the stop."""
        ...


class Runtime(Protocol):
    """One way to carry out assignments."""

    @property
    def name(self) -> str:
        """The word that assignments use for it: `command`, `function`, `script` or `http`."""
        ...

    async def run(self, assignment: Assignment, reporter: Reporter, stop: Stop) -> Outcome:
        """Carry it out; when this returns (or was cancelled) no process of the attempt is left."""
        ...

    async def aclose(self) -> None:
        """Give back what is held between assignments."""
        ...
