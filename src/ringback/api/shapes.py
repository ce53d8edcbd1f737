"""What answers look like, for the OpenAPI document. The views make them; a test holds every answer against these shapes."""

from __future__ import annotations

from typing import Any, Literal, Required, TypedDict


class Flaw(TypedDict):
    pointer: str
    detail: str


class Problem(TypedDict, total=False):
    """RFC 9457. Clients branch on `code`."""

    type: Required[str]
    title: Required[str]
    status: Required[int]
    detail: Required[str]
    code: Required[str]
    retryable: Required[bool]
    requestId: Required[str]
    errors: list[Flaw]
    supportedVersions: list[int]


class Progress(TypedDict, total=False):
    done: float | int
    total: float | int
    message: str


class JobAccepted(TypedDict):
    """The answer to every start."""

    job_id: str
    status: Literal["queued"]


JobStatus = Literal["queued", "running", "done", "failed", "cancelled"]


class Job(TypedDict, total=False):
    job_id: Required[str]
    status: Required[JobStatus]
    tool: Required[str]
    attempts: Required[int]
    created_at: Required[str]
    progress: Progress
    summary: str
    error_kind: str
    error_message: str
    time_limit: Literal["attempt", "queue", "idle", "deadline"]
    end_reason: str
    cancel_requested_at: str
    thread_id: str
    started_at: str
    finished_at: str
    deadline_at: str
    queue_position: int
    waiting_for: dict[str, Any]
    tags: list[str]
    depends_on: list[str]
    parent_job_id: str
    request_id: str
    expires_at: str


class JobList(TypedDict, total=False):
    jobs: Required[list[Job]]
    next_cursor: str


class JobEnding(TypedDict, total=False):
    """The end of a long output, on the first of several pages."""

    tail: Required[str]
    bytes: Required[int]
    exit_code: int


class JobResult(TypedDict, total=False):
    job_id: Required[str]
    status: Required[JobStatus]
    complete: Required[bool]
    items: list[Any]
    output: str
    output_dropped_bytes: int
    result: Any
    exit_code: int
    signal: str | int
    error: dict[str, Any]
    summary: str
    ending: JobEnding
    next_cursor: str


RunStatus = Literal["queued", "submitted", "running", "retrying", "canceling", "succeeded", "failed", "canceled"]


class CapabilityDescriptor(TypedDict):
    surface: Literal["core", "platform"]
    name: str
    supportLevel: Literal["native", "polyfilled", "unsupported"]


class Attempt(TypedDict, total=False):
    attemptId: Required[str]
    attemptNo: Required[int]
    fence: Required[int]
    reason: Required[Literal["first", "retry", "lost", "answer"]]
    sessionId: Required[str]
    claimedAt: Required[str]
    startedAt: str
    endedAt: str
    provider: str
    runSpaceId: str
    runtimeConnectionId: str
    connectionEpoch: int
    capabilitySnapshotId: str
    effectiveSdkCapabilities: list[CapabilityDescriptor]
    outcome: Literal["succeeded", "failed", "timed_out", "stopped", "released", "lost"]
    errorSummary: str


class Continuation(TypedDict, total=False):
    """`response` holds a JSON-RPC `result` or `error`; `over` means that the session ended without one."""

    runId: Required[str]
    number: Required[int]
    status: Required[Literal["open", "answered", "over"]]
    request: Required[dict[str, Any]]
    askedAt: Required[str]
    askedBy: str
    answeredAt: str
    response: dict[str, Any]


class Run(TypedDict, total=False):
    runId: Required[str]
    jobId: Required[str]
    projectId: Required[str]
    tool: Required[str]
    status: Required[RunStatus]
    version: Required[int]
    createdAt: Required[str]
    orgId: str
    resourceType: Literal["tool", "agent", "mcp_server"]
    resourceId: str
    resourceRevisionId: str
    releaseChannelId: str
    threadId: str
    contextId: str
    requestId: str
    input: dict[str, Any]
    executionProfileSnapshot: dict[str, Any]
    runPolicySnapshot: dict[str, Any]
    attempts: list[Attempt]
    attemptCount: int
    currentAttemptId: str
    blockingInteractionId: str
    blockedReason: str
    waitingSince: str
    openInteractionCount: int
    dependsOn: list[str]
    runOn: Literal["always"]
    notBefore: str
    deadlineAt: str
    startedAt: str
    endedAt: str
    failureKind: str
    endReason: str
    timeLimit: Literal["attempt", "queue", "idle", "deadline"]
    errorMessage: str
    eventSequence: int
    cancelRequestedAt: str
    cancelDeliveredAt: str
    cancelAcknowledgedAt: str
    cancelRequestedBy: str
    cancelReason: str
    waitingFor: dict[str, Any]
    queuePosition: int
    progress: Progress
    summary: str
    tags: list[str]
    traceparent: str
    createdBy: str
    source: str
    parentRunId: str
    parentRelation: str


class RunList(TypedDict, total=False):
    items: Required[list[Run]]
    nextCursor: str


class AttemptList(TypedDict):
    items: list[Attempt]


class RunLink(TypedDict):
    fromRunId: str
    toRunId: str
    relationType: str
    createdAt: str


class RunLinkList(TypedDict):
    items: list[RunLink]


class RunNode(TypedDict):
    runId: str
    jobId: str
    status: RunStatus
    tool: str
    createdAt: str


class RunGraph(TypedDict, total=False):
    """`truncated` when there are more runs than are shown."""

    nodes: Required[list[RunNode]]
    edges: Required[list[RunLink]]
    truncated: bool


class RunTree(TypedDict, total=False):
    run: Required[Run]
    children: Required[list[RunTree]]
    relationType: str
    truncated: bool


class Replay(TypedDict):
    identical: bool
    projection: dict[str, Any]


class RunEnding(TypedDict, total=False):
    """The end of a long output, on the first of several pages."""

    tail: Required[str]
    bytes: Required[int]
    exitCode: int


class RunResult(TypedDict, total=False):
    runId: Required[str]
    jobId: Required[str]
    status: Required[RunStatus]
    complete: Required[bool]
    items: list[Any]
    output: str
    outputDroppedBytes: int
    result: Any
    exitCode: int
    signal: str | int
    error: dict[str, Any]
    summary: str
    ending: RunEnding
    nextCursor: str


class Event(TypedDict, total=False):
    """One event; its further members depend on `type`."""

    type: Required[str]
    eventId: Required[str]
    createdAt: Required[str]


class EventEnvelope(TypedDict, total=False):
    runId: Required[str]
    sequence: Required[int]
    event: Required[Event]
    threadId: str


class EventList(TypedDict, total=False):
    """`nextAfter` is where to go on, `nextCursor` the same where there is more at once."""

    items: Required[list[EventEnvelope]]
    nextAfter: Required[str]
    nextCursor: str


class BatchItem(TypedDict, total=False):
    """Which run it became, or the problem with it."""

    runId: str
    jobId: str
    status: RunStatus
    replayed: bool
    problem: Problem


class BatchResult(TypedDict):
    """An item for each run, in the order given."""

    items: list[BatchItem]


class Interaction(TypedDict, total=False):
    """A question of a run. `response` is the answer that counts."""

    interactionId: Required[str]
    runId: Required[str]
    jobId: Required[str]
    kind: Required[Literal["approval", "input", "auth", "confirmation"]]
    blocking: Required[bool]
    status: Required[Literal["open", "answered", "rejected", "expired", "withdrawn"]]
    prompt: Required[dict[str, str]]
    options: list[dict[str, Any]]
    responseSchema: Any
    respondents: list[str]
    expiresAt: str
    onExpiry: Literal["default", "reject", "fail"]
    openedAt: Required[str]
    closedAt: str
    response: dict[str, Any]


class InteractionList(TypedDict):
    items: list[Interaction]


class AsyncRun(TypedDict, total=False):
    """A run as R1's `read_async_run` reads it. What is null is left out."""

    id: Required[str]
    request_id: Required[str]
    method: Required[str]
    path: Required[str]
    status: Required[Literal["queued", "pending", "running", "succeeded", "failed", "cancelled"]]
    source: Required[str]
    created_at: Required[str]
    target_kind: str
    target_ref: str
    error_kind: str
    error_message: str
    started_at: str
    finished_at: str
    http_status: int
    queue_position: int
    output: Any
