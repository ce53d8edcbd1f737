"""A run before it is put down: the request, the tool and the caller, frozen into snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ringback.domain.ids import ProjectId, RunId
from ringback.domain.moments import parse_moment
from ringback.domain.policy import policy_of
from ringback.domain.runs import Run, RunFacts
from ringback.domain.states import Status
from ringback.services.resources import Resource
from ringback.services.start_request import StartRequest


def draft(
    run_id: RunId,
    resource: Resource,
    request: StartRequest,
    *,
    project_id: ProjectId,
    owner: str,
    request_id: str,
    upstream: tuple[RunId, ...],
) -> tuple[RunFacts, Run]:
    """The facts of the new run and the run itself, but for its moments."""
    body = request.body or _tool_input(request)
    overrides = _overrides(resource.policy_snapshot, request)
    facts = RunFacts(
        run_id=run_id,
        project_id=project_id,
        request_id=request_id,
        resource_type=resource.type,
        resource_id=resource.resource_id,
        revision_id=resource.revision_id,
        channel_id=resource.channel,
        input=body,
        profile=resource.profile_snapshot,
        policy=resource.policy_snapshot if overrides is None else overrides,
        summary_spec=resource.definition.get("summary", "auto"),
        depends_on=upstream,
        context_id=request.context_id,
        tags=request.tags,
        traceparent=request.traceparent,
        created_by=owner,
        source=request.source,
    )
    run = Run(
        run_id=run_id,
        project_id=project_id,
        tool=resource.name,
        lane=resource.lane,
        status=Status.QUEUED,
        policy=resource.policy if overrides is None else policy_of(overrides),
        created_at=0,
        thread_id=request.thread_id,
        notify=owner if request.wants_notice else None,
        not_before=None if request.not_before is None else parse_moment(request.not_before),
        runs_always=request.run_on == "always",
        waiting_on=upstream,
    )
    return facts, run


def _tool_input(request: StartRequest) -> dict[str, Any]:
    body: dict[str, Any] = {"mode": "tool", "arguments": request.arguments}
    return body if request.caller_context is None else {**body, "callerContext": request.caller_context}


def _overrides(policy: Mapping[str, Any], request: StartRequest) -> Mapping[str, Any] | None:
    """The tool's policy with what the caller sets itself, or None when it sets nothing."""
    limits = {"attemptS": request.timeout_s, "totalS": request.total_timeout_s}
    chosen = {name: value for name, value in limits.items() if value is not None}
    if request.priority is None and not chosen:
        return None
    changed = {**policy, "timeouts": {**(policy.get("timeouts") or {}), **chosen}}
    return changed if request.priority is None else {**changed, "priority": request.priority}
