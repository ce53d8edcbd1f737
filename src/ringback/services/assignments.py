"""What a worker is told of a run that it is to carry out."""

from __future__ import annotations

from typing import Any

from ringback.domain.ids import job_id_of
from ringback.domain.moments import MILLISECOND, Moment, rfc3339
from ringback.domain.runs import Run, RunFacts


def assignment_of(run: Run, facts: RunFacts, *, now: Moment) -> dict[str, Any]:
    """A claimed run as its worker is told of it (public JSON shape). Times that are left are in ms from `now`."""
    attempt = run.attempt
    assert attempt is not None
    limits = run.policy.limits
    told: dict[str, Any] = {
        "runId": run.run_id,
        "jobId": job_id_of(run.run_id),
        "attemptId": attempt.attempt_id,
        "attemptNo": attempt.attempt_no,
        "fence": attempt.fence,
        "projectId": run.project_id,
        "tool": run.tool,
        "runtime": facts.profile["runtime"],
        "arguments": facts.input.get("arguments", {}),
        "profile": facts.profile,
        "policy": facts.policy,
        "summary": facts.summary_spec,
        "graceMs": run.policy.cancel_grace // MILLISECOND,
        "createdAt": rfc3339(run.created_at),
        "started": attempt.started_at is not None,
    }
    optional = {
        "resourceType": None if facts.resource_type == "tool" else facts.resource_type,
        "input": None if facts.resource_type == "tool" else facts.input,
        "timeoutMs": None if limits.attempt is None else max(1, limits.attempt // MILLISECOND),
        "idleTimeoutMs": None if limits.idle is None else max(1, limits.idle // MILLISECOND),
        "deadlineAt": None if run.deadline_at is None else rfc3339(run.deadline_at),
        "deadlineInMs": None if run.deadline_at is None else max(1, (run.deadline_at - now) // MILLISECOND),
        "traceparent": facts.traceparent,
    }
    told.update((name, value) for name, value in optional.items() if value is not None)
    return told
