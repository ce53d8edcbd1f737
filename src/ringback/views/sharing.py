"""What a grant shows of a run that belongs to another project: its status always, the rest by aspect, the set-up never."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Aspects = frozenset[str] | None  # None: the project's own run, of which all is shown

_RUN: Mapping[str, tuple[str, ...]] = {
    "status": (
        "runId",
        "jobId",
        "orgId",
        "projectId",
        "resourceType",
        "tool",
        "threadId",
        "contextId",
        "requestId",
        "status",
        "failureKind",
        "endReason",
        "timeLimit",
        "cancelRequestedAt",
        "cancelDeliveredAt",
        "cancelAcknowledgedAt",
        "cancelRequestedBy",
        "cancelReason",
        "eventSequence",
        "version",
        "createdAt",
        "notBefore",
        "startedAt",
        "endedAt",
        "deadlineAt",
    ),
    "output": ("summary", "progress", "errorMessage"),
    "input": ("input", "tags"),
    "attempts": ("attempts", "attemptCount", "currentAttemptId"),
    "links": ("dependsOn", "runOn", "parentRunId", "parentRelation"),
    "interactions": ("blockingInteractionId", "blockedReason", "waitingSince", "openInteractionCount"),
}
_JOB: Mapping[str, tuple[str, ...]] = {
    "status": (
        "job_id",
        "run_id",
        "tool",
        "status",
        "error_kind",
        "end_reason",
        "time_limit",
        "created_at",
        "started_at",
        "finished_at",
        "expires_at",
        "cancel_requested_at",
    ),
    "output": ("summary", "progress", "error_message", "exit_code"),
    "interactions": ("waiting_for",),
}


def shared_run(body: dict[str, Any], aspects: Aspects) -> dict[str, Any]:
    """A run's view without what the grant does not show."""
    return _only(body, aspects, _RUN)


def shared_job(body: dict[str, Any], aspects: Aspects) -> dict[str, Any]:
    """A job's view without what the grant does not show."""
    return _only(body, aspects, _JOB)


def _only(body: dict[str, Any], aspects: Aspects, members: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    if aspects is None:
        return body
    shown = {name for aspect in aspects for name in members.get(aspect, ())}
    return {name: value for name, value in body.items() if name in shown}
