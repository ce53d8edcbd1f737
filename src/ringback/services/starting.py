"""From a request to a queued run: resolve, check, freeze, and put down in one transaction.

The handle is returned only when the run, its first event, its links and its idempotency key are durable together. A second
request with the same key, however close behind, meets the first one's record on the same desk and gets the same handle.
"""

from __future__ import annotations

from dataclasses import dataclass

from ringback.domain.errors import (
    IdempotencyKeyError,
    ShuttingDownError,
)
from ringback.domain.idempotency import KeyRecord, KeyRef, replayed
from ringback.domain.ids import ProjectId, RunId
from ringback.domain.records import replace
from ringback.domain.runs import Run, RunFacts
from ringback.engine.claims import Claims
from ringback.ports.clock import Ids
from ringback.ports.store import Desk, Store
from ringback.services.agents import frozen_callables
from ringback.services.births import Newborn, Parent, put_down
from ringback.services.callables import Callables
from ringback.services.drafts import draft
from ringback.services.lineage import Bound, bounds_above
from ringback.services.resources import AGENT, TOOL
from ringback.services.start_request import StartRequest


@dataclass(frozen=True, slots=True)
class Started:
    """A run as it was created, and whether the answer is a repetition."""

    run: Run
    facts: RunFacts | None
    is_replay: bool


@dataclass(slots=True, kw_only=True)
class Starting:
    """Creates runs. `started` counts them since the process began."""

    store: Store
    callables: Callables
    ids: Ids
    claims: Claims
    accepts: bool = True
    started: int = 0

    async def start(
        self, project_id: ProjectId, owner: str, request: StartRequest, *, request_id: str, parent: Parent | None = None
    ) -> Started:
        """Create a run, or find the one that the key stands for.

        Raises:
            NotFoundError: nothing of that kind and name.
            BudgetExceededError: an ancestor's family may not grow further.
            InvalidInputError: what is wrong with the arguments or options, by JSON pointer.
            DependencyError: an upstream run is unknown.
            IdempotencyKeyError, IdempotencyConflictError: about the key.
        """
        if not self.accepts and parent is None:
            raise ShuttingDownError
        target = await self.callables.find(project_id, request)
        resource = target.resource
        if request.idempotency_key is None and resource.definition.get("requiresIdempotencyKey"):
            raise IdempotencyKeyError(f"tool {resource.name} needs an Idempotency-Key")
        request.check()
        if request.body is None:
            resource.check(request.arguments, request.arguments_pointer)
        upstream = request.upstream()
        facts, template = draft(
            RunId(self.ids.new()),
            resource,
            request,
            project_id=target.project_id,
            owner=owner,
            request_id=request_id,
            upstream=upstream,
        )
        if resource.type == AGENT:
            profile = resource.profile_snapshot
            own, given = target.project_id, facts.input
            callables = await frozen_callables(self.callables, own, project_id, profile, given)
            facts = replace(facts, profile={**profile, "callables": callables})
        bounds: list[Bound] = []
        if parent is not None:
            facts = replace(facts, parent_id=parent.run_id, relation=parent.relation)
            bounds = await bounds_above(self.store, parent.run_id)
        ref = None if request.idempotency_key is None else KeyRef(project_id, owner, request.idempotency_key)
        digest = request.fingerprint() if ref else ""
        newborn = Newborn(facts, template, request, project_id, parent, tuple(bounds), target.grant)
        hands = self.claims.hands.sessions_for(template.lane)

        def work(desk: Desk) -> Started:
            if ref is not None and (record := desk.key(ref)) is not None:
                return Started(replace(template, run_id=replayed(record, digest)), None, True)
            run = put_down(desk, newborn)
            if hands:
                self.claims.hand_over(desk, run, hands)
            if ref is not None:
                desk.put_key(KeyRecord(ref=ref, fingerprint=digest, run_id=run.run_id, created_at=desk.now))
            return Started(run, facts, False)

        started = await self.store.commit(work, runs=newborn.others(), keys=(ref,) if ref else (), sessions=hands)
        self.started += not started.is_replay
        return started

    async def rerun(self, run: Run, owner: str, *, idempotency_key: str | None, request_id: str) -> Started:
        """Do a run again: same arguments, limits and priority, by the tool's current revision. See `start`."""
        facts = (await self.store.reads.facts([run.run_id]))[run.run_id]
        limits = facts.policy.get("timeouts") or {}
        request = StartRequest(
            tool=run.tool,
            kind=facts.resource_type,
            channel=facts.channel_id,
            body=facts.input if facts.resource_type != TOOL else None,
            arguments=facts.input.get("arguments", {}),
            arguments_pointer="",
            idempotency_key=idempotency_key,
            run_on="always" if run.runs_always else "success",
            timeout_s=limits.get("attemptS"),
            total_timeout_s=limits.get("totalS"),
            priority=facts.policy.get("priority"),
            thread_id=run.thread_id,
            context_id=facts.context_id,
            tags=facts.tags,
            caller_context=facts.input.get("callerContext"),
            traceparent=facts.traceparent,
            source="rerun",
            rerun_of=run.run_id,
        )
        return await self.start(run.project_id, owner, request, request_id=request_id)
