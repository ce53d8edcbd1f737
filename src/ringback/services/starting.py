"""From a request to a queued run: resolve, check, freeze, and put down in one transaction.

The handle is returned only when the run, its first event, its links and its idempotency key are durable together. A second
request with the same key, however close behind, meets the first one's record on the same desk and gets the same handle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ringback.domain.admission import lane_of
from ringback.domain.decide import create, decide
from ringback.domain.definitions import need_of, policy_flaws
from ringback.domain.errors import (
    DependencyError,
    Flaw,
    IdempotencyKeyError,
    InvalidInputError,
    NotFoundError,
    ShuttingDownError,
)
from ringback.domain.idempotency import KeyRecord, KeyRef, replayed
from ringback.domain.ids import ProjectId, RunId, run_id_of
from ringback.domain.json_values import fingerprint, flaws_of
from ringback.domain.moments import Moment, parse_moment
from ringback.domain.policy import policy_of
from ringback.domain.records import replace
from ringback.domain.runs import NoteChild, NoteDependent, Run, RunFacts
from ringback.domain.states import Status
from ringback.ports.clock import Ids
from ringback.ports.store import Desk, Link, Store
from ringback.services.tools import Tool, Tools

DEPENDS_ON_MAX = 100
TAGS_MAX = 50
TEXT_MAX = 200
SECONDS_MAX = 10 * 365 * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRequest:
    """What a caller asks for, the same from every door.

    Attributes:
        arguments_pointer: where the arguments stand in the caller's document, for error pointers.
        timeout_s: limit of one attempt, in seconds; None leaves the tool's own.
        total_timeout_s: limit of the whole run, queue time included.
        not_before: RFC 3339 text.
        run_on: "success", or "always" to start even when an upstream run did not succeed.
        rerun_of: the run that this one does again.
    """

    tool: str
    arguments: Mapping[str, Any]
    arguments_pointer: str = "/arguments"
    idempotency_key: str | None = None
    depends_on: tuple[str, ...] = ()
    run_on: str = "success"
    timeout_s: float | None = None
    total_timeout_s: float | None = None
    not_before: str | None = None
    priority: int | None = None
    thread_id: str | None = None
    context_id: str | None = None
    tags: tuple[str, ...] = ()
    caller_context: Mapping[str, Any] | None = None
    traceparent: str | None = None
    source: str = "api"
    rerun_of: RunId | None = None

    def fingerprint(self) -> str:
        """What makes two requests the same: all that was sent, but for the key and the trace."""
        sent = {
            "tool": self.tool,
            "arguments": self.arguments,
            "depends_on": sorted(set(self.depends_on)),
            "run_on": self.run_on,
            "timeout_s": self.timeout_s,
            "total_timeout_s": self.total_timeout_s,
            "not_before": self.not_before,
            "priority": self.priority,
            "thread_id": self.thread_id,
            "context_id": self.context_id,
            "tags": self.tags,
            "caller_context": self.caller_context,
            "rerun_of": self.rerun_of,
        }
        return fingerprint({name: value for name, value in sent.items() if value not in (None, (), [])})


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
    tools: Tools
    ids: Ids
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
        tool = await self.tools.resolve(project_id, request.tool)
        if request.idempotency_key is None and tool.definition.get("requiresIdempotencyKey"):
            raise IdempotencyKeyError(f"tool {tool.name} needs an Idempotency-Key")
        _check(request)
        tool.check(request.arguments, request.arguments_pointer)
        upstream = _upstream(request)
        facts, template = self._draft(project_id, owner, tool, request, upstream, request_id)
        if parent is not None:
            facts = replace(facts, parent_id=parent.run_id, relation=parent.relation)
        ref = None if request.idempotency_key is None else KeyRef(project_id, owner, request.idempotency_key)
        digest = request.fingerprint() if ref else ""

        def work(desk: Desk) -> Started:
            if ref is not None and (record := desk.key(ref)) is not None:
                return Started(replace(template, run_id=replayed(record, digest)), None, True)
            run = _put_down(desk, facts, template, request, parent)
            if ref is not None:
                desk.put_key(KeyRecord(ref=ref, fingerprint=digest, run_id=run.run_id, created_at=desk.now))
            return Started(run, facts, False)

        needed = (*upstream, *((parent.run_id,) if parent else ()))
        started = await self.store.commit(work, runs=needed, keys=(ref,) if ref else ())
        self.started += not started.is_replay
        return started

    async def rerun(self, run: Run, owner: str, *, idempotency_key: str | None, request_id: str) -> Started:
        """Do a run again: same arguments, limits and priority, by the tool's current revision. See `start`."""
        facts = (await self.store.reads.facts([run.run_id]))[run.run_id]
        limits = facts.policy.get("timeouts") or {}
        request = StartRequest(
            tool=run.tool,
            arguments=facts.input["arguments"],
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

    def _draft(
        self,
        project_id: ProjectId,
        owner: str,
        tool: Tool,
        request: StartRequest,
        upstream: tuple[RunId, ...],
        request_id: str,
    ) -> tuple[RunFacts, Run]:
        run_id = RunId(self.ids.new())
        definition = tool.definition
        policy = _policy(definition, request)
        body: dict[str, Any] = {"mode": "tool", "arguments": request.arguments}
        if request.caller_context is not None:
            body["callerContext"] = request.caller_context
        facts = RunFacts(
            run_id=run_id,
            project_id=project_id,
            request_id=request_id,
            resource_type="tool",
            resource_id=tool.resource_id,
            revision_id=tool.revision_id,
            channel_id=tool.channel,
            input=body,
            profile={"runtime": definition["runtime"], **definition.get("profile", {})},
            policy=policy,
            summary_spec=definition.get("summary", "auto"),
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
            tool=tool.name,
            lane=lane_of(facts.profile.get("pool", "default"), need_of(definition), policy.get("concurrencyKey")),
            status=Status.QUEUED,
            policy=policy_of(policy),
            created_at=0,
            thread_id=request.thread_id,
            not_before=None if request.not_before is None else parse_moment(request.not_before),
            runs_always=request.run_on == "always",
            waiting_on=upstream,
        )
        return facts, run


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


def _upstream(request: StartRequest) -> tuple[RunId, ...]:
    """The upstream runs, each once. A malformed id is as unknown as a foreign one."""
    found: dict[RunId, None] = {}
    for index, text in enumerate(request.depends_on):
        run_id = run_id_of(text)
        if run_id is None:
            raise DependencyError(Flaw(f"/depends_on/{index}", "no such run"))
        found[run_id] = None
    return tuple(found)


def _policy(definition: Mapping[str, Any], request: StartRequest) -> Mapping[str, Any]:
    """The tool's policy with what the caller overrides: the frozen snapshot."""
    policy = dict(definition.get("policy", {}))
    if request.priority is not None:
        policy["priority"] = request.priority
    limits = {"attemptS": request.timeout_s, "totalS": request.total_timeout_s}
    if chosen := {name: value for name, value in limits.items() if value is not None}:
        policy["timeouts"] = {**policy.get("timeouts", {}), **chosen}
    return policy


def _check(request: StartRequest) -> None:
    flaws = list(flaws_of(request.arguments, request.arguments_pointer))
    flaws.extend(flaws_of(request.caller_context, "/callerContext"))
    if len(request.depends_on) > DEPENDS_ON_MAX:
        flaws.append(Flaw("/depends_on", f"at most {DEPENDS_ON_MAX} runs"))
    if len(request.tags) > TAGS_MAX or any(not 1 <= len(tag) <= TEXT_MAX for tag in request.tags):
        flaws.append(Flaw("/tags", f"at most {TAGS_MAX} tags of 1 to {TEXT_MAX} characters"))
    texts = {"/thread_id": request.thread_id, "/context_id": request.context_id, "/traceparent": request.traceparent}
    for pointer, text in {**texts, **{f"/tags/{i}": tag for i, tag in enumerate(request.tags)}}.items():
        if text is not None and not 1 <= len(text) <= TEXT_MAX:
            flaws.append(Flaw(pointer, f"must have 1 to {TEXT_MAX} characters"))
        flaws.extend(flaws_of(text, pointer))
    if request.run_on not in ("success", "always"):
        flaws.append(Flaw("/run_on", "must be success or always"))
    for pointer, seconds in (
        ("/timeout_seconds", request.timeout_s),
        ("/total_timeout_seconds", request.total_timeout_s),
    ):
        if seconds is not None and not 0.001 <= seconds <= SECONDS_MAX:
            flaws.append(Flaw(pointer, f"must lie between 0.001 and {SECONDS_MAX}"))
    if request.priority is not None:
        flaws.extend(Flaw("/priority", flaw.detail) for flaw in policy_flaws({"priority": request.priority}))
    if request.not_before is not None:
        try:
            parse_moment(request.not_before)
        except ValueError as error:
            flaws.append(Flaw("/not_before", str(error)))
    if flaws:
        raise InvalidInputError(*flaws)
