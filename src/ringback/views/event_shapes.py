"""What the events of a run hold on the wire: one shape for each type that is ever recorded, beside the members of all.

A test compares the table with the code that records events, and another validates the events of real runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Required, TypedDict

from msgspec import Meta

from ringback.domain.runs import AttemptOutcome, AttemptReason
from ringback.domain.states import EndReason, FailureKind, Status, TimeLimit

Number = Annotated[int, Meta(ge=1)]
Count = Annotated[int, Meta(ge=0)]
Stream = Literal["stdout", "stderr"]

StatusChanged = TypedDict(
    "StatusChanged",
    {
        "status": Required[Status],
        "from": Status,
        "tool": str,
        "attemptId": str,
        "attemptNo": Number,
        "reason": AttemptReason,
        "failureKind": FailureKind,
        "endReason": EndReason,
        "timeLimit": TimeLimit,
        "error": str,
        "summary": str,
        "resultSequence": Number,
    },
    total=False,
)


class AttemptStarted(TypedDict):
    attemptId: str
    attemptNo: Number
    reason: AttemptReason


class AttemptEnded(TypedDict, total=False):
    attemptId: Required[str]
    attemptNo: Required[Number]
    outcome: Required[AttemptOutcome]
    error: str


class Failure(TypedDict, total=False):
    """Why an attempt failed; `detail` is the work's own."""

    kind: Required[FailureKind]
    message: Required[str]
    detail: Any


class ToolResult(TypedDict, total=False):
    """The run's own result; with `callId` that of a call which an agent made."""

    callId: str
    name: str
    result: Any
    exitCode: int
    signal: str | int
    error: Failure


class MessageCompleted(TypedDict):
    role: Literal["assistant"]
    content: str


class ToolCallCompleted(TypedDict, total=False):
    """An agent's call went out; `runId` is the run that carries it out, absent where people answer."""

    callId: Required[str]
    name: Required[str]
    arguments: Required[dict[str, Any]]
    runId: str


class ArtifactUpdated(TypedDict):
    kind: Literal["page"]
    items: list[Any]


class Progress(TypedDict, total=False):
    done: float | int
    total: float | int
    message: str


class StateUpdated(TypedDict):
    progress: Progress


class OutputChunk(TypedDict):
    stream: Stream
    offset: Count
    length: Count
    encoding: Literal["utf-8", "base64"]
    data: str


class OutputDropped(TypedDict):
    stream: Stream
    offset: Count
    bytes: Count


class CancelRequested(TypedDict, total=False):
    by: str
    reason: str


class CancelDelivered(TypedDict):
    pass


class CancelAcknowledged(TypedDict):
    pass


class LinkCreated(TypedDict):
    relationType: Literal["tool_subrun", "delegation", "handoff", "mcp_session"]
    toRunId: str


class InteractionRequested(TypedDict):
    interactionId: str
    blocking: bool
    reason: str


class InteractionResponded(TypedDict):
    interactionId: str
    status: Literal["answered", "rejected"]


class InteractionUpdated(TypedDict):
    interactionId: str
    status: Literal["expired", "withdrawn"]


class McpOpened(TypedDict, total=False):
    """Beside the version and the number of restarts, what the server said of itself, as it said it."""

    protocolVersion: Required[str]
    restarts: Required[Count]
    capabilities: Any
    serverInfo: Any
    instructions: Any


class McpRequest(TypedDict):
    request: dict[str, Any]
    by: str


class McpResponse(TypedDict):
    """`number` is the sequence of the request."""

    number: Number
    response: dict[str, Any]


class McpNotification(TypedDict, total=False):
    method: Required[str]
    params: dict[str, Any]


SHAPES: Mapping[str, Any] = {
    "run.status.changed": StatusChanged,
    "attempt.started": AttemptStarted,
    "attempt.ended": AttemptEnded,
    "tool_result": ToolResult,
    "message.completed": MessageCompleted,
    "tool_call.completed": ToolCallCompleted,
    "artifact.updated": ArtifactUpdated,
    "state.updated": StateUpdated,
    "output.chunk": OutputChunk,
    "output.dropped": OutputDropped,
    "cancel.requested": CancelRequested,
    "cancel.delivered": CancelDelivered,
    "cancel.acknowledged": CancelAcknowledged,
    "link.created": LinkCreated,
    "interaction.requested": InteractionRequested,
    "interaction.responded": InteractionResponded,
    "interaction.updated": InteractionUpdated,
    "mcp.opened": McpOpened,
    "mcp.request": McpRequest,
    "mcp.response": McpResponse,
    "mcp.notification": McpNotification,
}
