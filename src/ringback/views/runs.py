"""The run surface (camelCase): a run with everything that is known about it. An absent fact is absent, never null."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ringback.domain.ids import job_id_of
from ringback.domain.moments import rfc3339
from ringback.domain.runs import Attempt, EndedAttempt, Run, RunFacts
from ringback.domain.spaces import shared_space_of
from ringback.domain.states import Status
from ringback.ports.store import Link
from ringback.services.family import Branch, Graph
from ringback.services.runs import Details
from ringback.views.moments import shown


def created(run: Run, facts: RunFacts, *, org_id: str) -> dict[str, Any]:
    """A run as it was when it was created, from frozen facts alone: a repeated start gets these bytes again."""
    facts_of_birth = {
        "runId": run.run_id,
        "jobId": job_id_of(run.run_id),
        "orgId": org_id,
        **_frozen(run, facts),
        "status": Status.QUEUED.value,
        "version": 1,
        "createdAt": rfc3339(run.created_at),
        "notBefore": shown(run.not_before),
        "deadlineAt": shown(run.deadline_at),
    }
    return _present(facts_of_birth)


def run_ref(run: Run) -> dict[str, str]:
    """Which run, and how it stands."""
    return {"runId": run.run_id, "jobId": job_id_of(run.run_id), "status": run.status.value}


def tree(branch: Branch) -> dict[str, Any]:
    """A run with its descendants; `truncated` where some are left out."""
    body: dict[str, Any] = {"run": run_in_list(branch.run), "children": [tree(child) for child in branch.children]}
    if branch.relation is not None:
        body["relationType"] = branch.relation
    if branch.is_cut:
        body["truncated"] = True
    return body


def graph(found: Graph) -> dict[str, Any]:
    """Runs as nodes and their links as edges; `truncated` when there are more."""
    body: dict[str, Any] = {
        "nodes": [_node(run) for run in found.runs.values()],
        "edges": [link(each) for each in found.links],
    }
    return {**body, "truncated": True} if found.is_cut else body


def _node(run: Run) -> dict[str, Any]:
    return {**run_ref(run), "tool": run.tool, "createdAt": rfc3339(run.created_at)}


def run_in_list(run: Run) -> dict[str, Any]:
    """A run among others: what can change, without the snapshots."""
    cancellation, blocking = run.cancellation, run.blocking
    facts = {
        "runId": run.run_id,
        "jobId": job_id_of(run.run_id),
        "projectId": run.project_id,
        "tool": run.tool,
        "threadId": run.thread_id,
        "status": run.status.value,
        "failureKind": run.failure_kind and run.failure_kind.value,
        "endReason": run.end_reason and run.end_reason.value,
        "timeLimit": run.time_limit and run.time_limit.value,
        "errorMessage": run.error,
        "summary": run.summary,
        "progress": run.progress,
        "currentAttemptId": run.attempt and run.attempt.attempt_id,
        "attemptCount": run.attempt_no,
        "blockingInteractionId": blocking and blocking.interaction_id,
        "blockedReason": blocking and blocking.reason,
        "waitingSince": blocking and rfc3339(blocking.since),
        "openInteractionCount": run.open_interactions,
        "cancelRequestedAt": cancellation and rfc3339(cancellation.requested_at),
        "cancelDeliveredAt": cancellation and shown(cancellation.delivered_at),
        "cancelAcknowledgedAt": cancellation and shown(cancellation.acknowledged_at),
        "cancelRequestedBy": cancellation and cancellation.requested_by,
        "cancelReason": cancellation and cancellation.reason,
        "eventSequence": run.event_sequence,
        "version": run.version,
        "createdAt": rfc3339(run.created_at),
        "notBefore": shown(run.not_before),
        "startedAt": shown(run.started_at),
        "endedAt": shown(run.ended_at),
        "deadlineAt": shown(run.deadline_at),
    }
    return _present(facts)


def run_in_full(details: Details, attempts: Sequence[EndedAttempt], *, org_id: str) -> dict[str, Any]:
    """A run looked at by itself."""
    run = details.run
    more = {
        "orgId": org_id,
        **_frozen(run, details.facts),
        "attempts": attempts_of(attempts, run.attempt),
        "waitingFor": details.waiting_for,
        "queuePosition": details.queue_position,
    }
    return run_in_list(run) | _present(more)


def attempts_of(
    ended: Sequence[EndedAttempt],
    current: Attempt | None,
    capabilities: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
) -> list[dict[str, Any]]:
    """Attempts, oldest first, the one under way last; with what their runtimes could do where that is given by name."""
    agreed = capabilities or {}
    shown_attempts = [
        _attempt(each.attempt, agreed)
        | _present(
            {
                "endedAt": rfc3339(each.ended_at),
                "outcome": each.outcome.value,
                "errorSummary": each.error,
                "lateOutcome": each.late,
            }
        )
        for each in ended
    ]
    return shown_attempts if current is None else [*shown_attempts, _attempt(current, agreed)]


def link(each: Link) -> dict[str, Any]:
    """An edge between two runs."""
    return {
        "fromRunId": each.from_run_id,
        "toRunId": each.to_run_id,
        "relationType": each.relation,
        "createdAt": rfc3339(each.created_at),
    }


def _frozen(run: Run, facts: RunFacts) -> dict[str, Any]:
    return {
        "projectId": facts.project_id,
        "resourceType": facts.resource_type,
        "resourceId": facts.resource_id,
        "resourceRevisionId": facts.revision_id,
        "releaseChannelId": facts.channel_id,
        "tool": run.tool,
        "threadId": run.thread_id,
        "contextId": facts.context_id,
        "requestId": facts.request_id,
        "input": facts.input,
        "executionProfileSnapshot": profile_shown(facts.profile),
        "runPolicySnapshot": facts.policy,
        "dependsOn": list(facts.depends_on),
        "runOn": "always" if run.runs_always else None,
        "tags": list(facts.tags),
        "traceparent": facts.traceparent,
        "createdBy": facts.created_by,
        "source": facts.source,
        "parentRunId": facts.parent_id,
        "parentRelation": facts.relation,
    }


def profile_shown(profile: Mapping[str, Any]) -> dict[str, Any]:
    """A profile with the names of its environment; the values are the operator's. A script's source has a route of its own."""
    body = {name: value for name, value in profile.items() if name != "source"}
    if isinstance(server := body.get("server"), Mapping):
        hidden = {name: sorted(server[name]) for name in ("env", "headers") if name in server}
        body["server"] = {**server, **hidden}
    return {**body, "env": sorted(body["env"])} if "env" in body else body


def _attempt(attempt: Attempt, agreed: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    facts = {
        "attemptId": attempt.attempt_id,
        "attemptNo": attempt.attempt_no,
        "fence": attempt.fence,
        "reason": attempt.reason.value,
        "provider": attempt.provider,
        "runSpaceId": attempt.run_space_id or shared_space_of(attempt.session_id),
        "sessionId": attempt.session_id,
        "runtimeConnectionId": attempt.connection_id,
        "connectionEpoch": attempt.epoch,
        "capabilitySnapshotId": attempt.capability_set,
        "effectiveSdkCapabilities": agreed.get(attempt.capability_set or ""),
        "claimedAt": rfc3339(attempt.claimed_at),
        "startedAt": shown(attempt.started_at),
    }
    return _present(facts)


def _present(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if value is not None}
