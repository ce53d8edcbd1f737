"""From a request to a queued run: resolve, check, freeze, and put down in one transaction.

The handle is returned only when the run, its first event, its links and its idempotency key are durable together. A second
request with the same key, however close behind, meets the first one's record on the same desk and gets the same handle.
"""

from __future__ import annotations

from dataclasses import dataclass

from ringback.domain.decide import create, decide
from ringback.domain.errors import (
    DependencyError,
    Flaw,
    IdempotencyKeyError,
    NotFoundError,
    ShuttingDownError,
)
from ringback.domain.idempotency import KeyRecord, KeyRef, replayed
from ringback.domain.ids import ProjectId, RunId, run_id_of
from ringback.domain.moments import Moment
from ringback.domain.records import replace
from ringback.domain.runs import NoteChild, NoteDependent, Run, RunFacts
from ringback.engine.claims import Claims
from ringback.ports.clock import Ids
from ringback.ports.store import Desk, Link, Store
from ringback.services.drafts import draft
from ringback.services.resources import STABLE, TOOL, Resource, Resources
from ringback.services.start_request import StartRequest


@dataclass(frozen=True, slots=True)
class Started:
    """A run as it was created, and whether the answer is a repetition."""

    run: Run
    facts: RunFacts | None
    is_replay: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """The attempt that starts a child."""

    run_id: RunId
    fence: int
    relation: str = "tool_subrun"


@dataclass(slots=True, kw_only=True)
class Starting:
    """Creates runs. `started` counts them since the process began."""

    store: Store
    resources: Resources
    ids: Ids
    claims: Claims
    accepts: bool = True
    started: int = 0

    async def start(
        self, project_id: ProjectId, owner: str, request: StartRequest, *, request_id: str, parent: Parent | None = None
    ) -> Started:
        """Create a run, or find the one that the key stands for.

        Raises:
            NotFoundError: no such tool.
            InvalidInputError: what is wrong with the arguments or options, by JSON pointer.
            DependencyError: an upstream run is unknown.
            IdempotencyKeyError, IdempotencyConflictError: about the key.
        """
        if not self.accepts and parent is None:
            raise ShuttingDownError
        resource = await self._resolve(project_id, request)
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
            project_id=project_id,
            owner=owner,
            request_id=request_id,
            upstream=upstream,
        )
        if parent is not None:
            facts = replace(facts, parent_id=parent.run_id, relation=parent.relation)
        ref = None if request.idempotency_key is None else KeyRef(project_id, owner, request.idempotency_key)
        digest = request.fingerprint() if ref else ""
        hands = self.claims.hands.sessions_for(template.lane)

        def work(desk: Desk) -> Started:
            if ref is not None and (record := desk.key(ref)) is not None:
                return Started(replace(template, run_id=replayed(record, digest)), None, True)
            run = _put_down(desk, facts, template, request, parent)
            if hands:
                self.claims.hand_over(desk, run, hands)
            if ref is not None:
                desk.put_key(KeyRecord(ref=ref, fingerprint=digest, run_id=run.run_id, created_at=desk.now))
            return Started(run, facts, False)

        needed = (*upstream, *((parent.run_id,) if parent else ()))
        started = await self.store.commit(work, runs=needed, keys=(ref,) if ref else (), sessions=hands)
        self.started += not started.is_replay
        return started

    async def _resolve(self, project_id: ProjectId, request: StartRequest) -> Resource:
        """The revision that the run is to have, frozen from here on."""
        if request.revision_id is not None:
            found = await self.resources.pinned(project_id, request.revision_id)
            if found.type == request.kind and request.tool in ("", found.name):
                return found
            raise NotFoundError(request.kind, request.tool or request.revision_id)
        return await self.resources.resolve(
            project_id, request.tool, kind=request.kind, channel=request.channel or STABLE
        )

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


def _put_down(desk: Desk, facts: RunFacts, template: Run, request: StartRequest, parent: Parent | None) -> Run:
    upstream = {each: _upstream_run(desk, facts.project_id, each, request) for each in facts.depends_on}
    if parent is not None:
        desk.save(decide(desk.run(parent.run_id), NoteChild(parent.fence, facts.run_id, parent.relation), now=desk.now))
    total = template.policy.limits.total
    deadline_at: Moment | None = None if total is None else desk.now + total
    born = replace(template, created_at=desk.now, deadline_at=deadline_at)
    run = desk.add(facts, create(born, {each: up.status for each, up in upstream.items()}, now=desk.now))
    for upstream_id, up in upstream.items():
        if not up.is_terminal:
            desk.save(decide(up, NoteDependent(), now=desk.now))
        desk.link(Link(from_run_id=run.run_id, to_run_id=upstream_id, relation="depends_on", created_at=desk.now))
    if parent is not None:
        link = Link(from_run_id=parent.run_id, to_run_id=run.run_id, relation=parent.relation, created_at=desk.now)
        desk.link(link)
    if request.rerun_of is not None:
        desk.link(Link(from_run_id=run.run_id, to_run_id=request.rerun_of, relation="rerun_of", created_at=desk.now))
    return run


def _upstream_run(desk: Desk, project_id: ProjectId, run_id: RunId, request: StartRequest) -> Run:
    try:
        run = desk.run(run_id)
    except NotFoundError:
        run = None
    if run is None or run.project_id != project_id:
        index = next(i for i, text in enumerate(request.depends_on) if run_id_of(text) == run_id)
        raise DependencyError(Flaw(f"/depends_on/{index}", "no such run"))
    return run
