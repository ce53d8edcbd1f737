"""What answers about tools, workers, queues and health look like, for the OpenAPI document. See `shapes`."""

from __future__ import annotations

from typing import Any, Literal, Required, TypedDict

from ringback.api.shapes import CapabilityDescriptor


class Tool(TypedDict, total=False):
    resourceId: Required[str]
    revisionId: Required[str]
    channel: Required[str]
    name: Required[str]
    description: Required[str]
    runtime: Required[Literal["command", "function", "script", "mcp"]]
    inputSchema: Required[dict[str, Any]]
    mode: Required[Literal["job", "task", "inline"]]
    profile: Required[dict[str, Any]]
    policy: dict[str, Any]
    summary: Any
    requiresIdempotencyKey: bool


class ToolList(TypedDict):
    items: list[Tool]


class ToolChange(TypedDict, total=False):
    """`diff` names each place that differs by its JSON pointer."""

    resourceType: Required[Literal["tool", "agent", "mcp_server"]]
    name: Required[str]
    change: Required[Literal["added", "changed", "unchanged"]]
    revisionId: Required[str]
    previousRevisionId: str
    diff: dict[str, Any]


class ToolChanges(TypedDict):
    changes: list[ToolChange]
    dryRun: bool


class WorkerSession(TypedDict):
    sessionId: str
    name: str
    incarnation: str
    status: Literal["attached", "detached"]
    slots: int
    held: int
    offers: list[str]
    labels: dict[str, str]
    capabilities: list[CapabilityDescriptor]
    attachedAt: str
    lastHeartbeatAt: str
    leaseExpiresAt: str
    runtimeConnectionId: str
    epoch: int


class WorkerSessionList(TypedDict):
    items: list[WorkerSession]


class Queue(TypedDict, total=False):
    pool: Required[str]
    paused: Required[bool]
    waiting: Required[int]
    held: Required[int]
    pausedSince: str
    pausedBy: str


class QueueList(TypedDict):
    items: list[Queue]


class Health(TypedDict, total=False):
    status: Required[Literal["ok", "ready", "closing"]]
    workers: int


class Attached(TypedDict):
    """`epoch` is `connectionEpoch` under its older name."""

    sessionId: str
    runtimeConnectionId: str
    connectionEpoch: int
    epoch: int
    protocolVersion: int
    effectiveSdkCapabilities: list[CapabilityDescriptor]
    capabilitySnapshotId: str
    heartbeatIntervalMs: int
    leaseMs: int
    leaseExpiresAt: str


class HeldByRuntime(TypedDict):
    runId: str
    attemptId: str
    fence: int


class RuntimeConnection(TypedDict, total=False):
    runtimeConnectionId: Required[str]
    connectionEpoch: Required[int]
    sessionId: Required[str]
    status: Required[Literal["attached", "detached", "lost", "superseded", "reconnecting"]]
    name: Required[str]
    incarnation: Required[str]
    protocolVersion: Required[int]
    slots: Required[int]
    attachedAt: Required[str]
    lastHeartbeatAt: Required[str]
    leaseExpiresAt: Required[str]
    capabilitySnapshotId: str
    orgId: str
    effectiveSdkCapabilities: list[CapabilityDescriptor]
    attempts: list[HeldByRuntime]
    heldByOthers: int
    endedAt: str
    endReason: str


class RuntimeConnectionList(TypedDict):
    items: list[RuntimeConnection]


class RunSpaceStep(TypedDict):
    status: Literal["provisioning", "ready", "occupied", "reclaiming", "terminated", "failed"]
    at: str


class RunSpace(TypedDict, total=False):
    """`runId` says for which run it was made, `currentRunId` that it still serves it."""

    runSpaceId: Required[str]
    orgId: Required[str]
    providerType: Required[str]
    kind: Required[Literal["workspace", "instance", "slot", "invocation", "custom"]]
    status: Required[Literal["provisioning", "ready", "occupied", "reclaiming", "terminated", "failed"]]
    sessionId: Required[str]
    createdAt: Required[str]
    changedAt: Required[str]
    runId: str
    attemptId: str
    currentRunId: str
    currentAttemptId: str
    locator: str
    reason: str
    kept: bool
    history: list[RunSpaceStep]


class RunSpaceList(TypedDict, total=False):
    items: Required[list[RunSpace]]
    nextCursor: str


class StopOrder(TypedDict, total=False):
    runId: Required[str]
    fence: Required[int]
    graceMs: Required[int]
    reason: str


class WorkGiven(TypedDict, total=False):
    claims: Required[list[dict[str, Any]]]
    cancels: Required[list[StopOrder]]
    leaseExpiresAt: str


class ReportResult(TypedDict, total=False):
    ok: Required[bool]
    code: str
    detail: str
    childRunId: str
    childJobId: str
    value: Any
    version: int
    written: bool
    callbackPath: str
    callbackUrl: str
    delivery: dict[str, Any]
    requests: list[dict[str, Any]]
    children: list[dict[str, Any]]
    continuation: dict[str, Any]


class ReportResults(TypedDict, total=False):
    results: Required[list[ReportResult]]
    claims: Required[list[dict[str, Any]]]
    cancels: Required[list[StopOrder]]
    leaseExpiresAt: str


class HeldAttempt(TypedDict):
    runId: str
    fence: int


class HeartbeatResult(TypedDict):
    leaseExpiresAt: str
    cancels: list[StopOrder]
    lost: list[HeldAttempt]
