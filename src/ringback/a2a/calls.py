"""What the methods of A2A do, in the words of the core: each authorizes, calls one service, and shows a run as a task."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any

from ringback.a2a.message import answer_of, content_of, wanted_of
from ringback.core import Core
from ringback.domain.errors import Flaw, IllegalTransitionError, InvalidInputError
from ringback.domain.moments import SECOND
from ringback.domain.runs import Run
from ringback.domain.states import Status, a2a_word
from ringback.services.access import Principal, Project
from ringback.services.start_request import StartRequest
from ringback.views.a2a import INTERRUPTED, Seen, artifacts, skill, status, task

WAIT_MAX_S = 20.0
ARTIFACT_BYTES = 64 * 1024
LIST_MAX = 100
Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """The calls of one principal about the project that it named."""

    core: Core
    principal: Principal
    project: str | None
    request_id: str

    def _project(self, scope: str) -> Project:
        return self.core.access.authorize(self.principal, scope, self.project)

    # --- messages

    async def send(self, message: Mapping[str, Any], *, waits: bool) -> Json:
        """Start a run, or answer the question of one; the task when it has ended or asks something, after 20 s at most."""
        run = await self._heeded(message)
        if waits:
            with suppress(TimeoutError):
                async with asyncio.timeout(WAIT_MAX_S), aclosing(self._follow(run)) as looks:
                    async for seen in looks:
                        run = seen.run
                        if run.is_terminal or seen.question is not None:
                            break
        return task(await self._seen(run))

    async def stream(self, message: Mapping[str, Any]) -> AsyncGenerator[tuple[str, Json]]:
        """The same, with what happens on the way: `task` first, then `statusUpdate` and `artifactUpdate`."""
        run = await self._heeded(message)
        async with aclosing(self._updates(run, ends_when_blocked=True)) as updates:
            async for update in updates:
                yield update

    async def _heeded(self, message: Mapping[str, Any]) -> Run:
        content = content_of(message.get("parts") or [])
        if task_id := message.get("taskId"):
            return await self._answered(task_id, message, content)
        project = self._project("runs:write")
        resources = self.core.catalogue.resources
        agents = await resources.released(project.project_id, kind="agent")
        wanted = wanted_of(content, await resources.released(project.project_id), agents.keys())
        request = StartRequest(
            tool=wanted.name,
            kind=wanted.kind,
            arguments=wanted.arguments,
            body=wanted.body,
            arguments_pointer="/message/parts/data/arguments",
            idempotency_key=f"a2a:{message['messageId']}",
            context_id=message.get("contextId") or None,
            source="a2a",
        )
        started = await self.core.starting.start(
            project.project_id, self.principal.owner, request, request_id=self.request_id
        )
        return await self.core.runs.get(project.project_id, started.run.run_id)

    async def _answered(self, task_id: str, message: Mapping[str, Any], content: Any) -> Run:
        project = self._project("interactions:answer")
        run = await self.core.runs.get(project.project_id, task_id)
        question = (await self._seen(run)).question
        if question is None:
            raise IllegalTransitionError(run.run_id, run.status, "take another message: it asks nothing")
        by = self.core.access.respondent(self.principal, project.project_id)
        answer = answer_of(content, question)
        await self.core.interactions.respond(project.project_id, question.interaction_id, answer, by=by)
        return await self.core.runs.get(project.project_id, task_id)

    # --- tasks

    async def get(self, task_id: str) -> Json:
        """The task as it stands."""
        return task(await self._seen(await self._run(task_id)))

    async def cancel(self, task_id: str) -> Json:
        """Ask for its end; the task as it then stands, which may still be at work."""
        project = self._project("runs:write")
        run = await self.core.runs.cancel(project.project_id, task_id, by=self.principal.owner)
        run = await self.core.runs.wait(run, within_s=min(run.policy.cancel_grace / SECOND + 1, WAIT_MAX_S))
        return task(await self._seen(run))

    async def subscribe(self, task_id: str) -> AsyncGenerator[tuple[str, Json]]:
        """What happens to a task from now on, until it has ended."""
        run = await self._run(task_id)
        async with aclosing(self._updates(run, ends_when_blocked=False)) as updates:
            async for update in updates:
                yield update

    async def tasks(
        self, *, state: str | None, cursor: str | None, limit: int, with_artifacts: bool, context_id: str | None
    ) -> tuple[list[Json], str | None]:
        """Tasks, newest first, and the cursor of the next page."""
        if context_id:
            raise InvalidInputError(Flaw("/contextId", "tasks can't be listed by context"))
        project = self._project("runs:read")
        statuses = () if state is None else _statuses_of(state)
        found = await self.core.runs.page(
            project.project_id, statuses=statuses, cursor=cursor, limit=max(1, min(limit, LIST_MAX))
        )
        shown = [task(await self._seen(run, with_artifacts=with_artifacts)) for run in found.items]
        return [each for each in shown if state is None or each["status"]["state"] == state], found.next_cursor

    async def skills(self) -> list[Json]:
        """What the project offers to members."""
        project, resources = self._project("runs:read"), self.core.catalogue.resources
        offered = [await resources.released(project.project_id, kind=kind) for kind in ("agent", "tool")]
        return [skill(each) for named in offered for _, each in sorted(named.items())]

    # --- looking

    async def _run(self, task_id: str) -> Run:
        return await self.core.runs.get(self._project("runs:read").project_id, task_id)

    async def _seen(self, run: Run, *, with_artifacts: bool = True) -> Seen:
        facts = (await self.core.store.reads.facts([run.run_id]))[run.run_id]
        question = None
        if run.blocking is not None and not run.is_terminal:
            found, _ = await self.core.interactions.get(run.project_id, run.blocking.interaction_id)
            question = found if found.is_open else None
        brought = None
        if with_artifacts and run.status in (Status.SUCCEEDED, Status.FAILED):
            brought = await self.core.results.page(run, max_bytes=ARTIFACT_BYTES)
        return Seen(run=run, context_id=facts.context_id or run.run_id, question=question, brought=brought)

    async def _follow(self, run: Run) -> AsyncGenerator[Seen]:
        """The run as it stands, and again after each change; whoever may no longer read it sees no more."""
        yield await self._seen(run)
        if run.is_terminal:
            return
        async with aclosing(self.core.runs.follow(run, after=run.event_sequence)) as batches:
            async for batch in batches:
                if batch:
                    yield await self._seen(await self._run(run.run_id))

    async def _updates(self, run: Run, *, ends_when_blocked: bool) -> AsyncGenerator[tuple[str, Json]]:
        shown: Json | None = None
        async with aclosing(self._follow(run)) as looks:
            async for seen in looks:
                now = status(seen)
                if shown is None:
                    yield "task", task(seen)
                elif _without_id(now) != _without_id(shown):
                    for each in artifacts(seen):
                        yield "artifactUpdate", {**_named(seen), "artifact": each, "lastChunk": True}
                    yield "statusUpdate", {**_named(seen), "status": now}
                shown = now
                if seen.run.is_terminal or (ends_when_blocked and now["state"] in INTERRUPTED):
                    return


def _named(seen: Seen) -> Json:
    return {"taskId": seen.run.run_id, "contextId": seen.context_id}


def _without_id(shown: Json) -> Json:
    message = {name: value for name, value in shown.get("message", {}).items() if name != "messageId"}
    return {**shown, "message": message}


def _statuses_of(state: str) -> tuple[Status, ...]:
    """The statuses that may show as `state`: of a first or a later attempt, blocked or not."""
    word = state.removeprefix("TASK_STATE_")
    kinds = (None, "auth", "input")
    return tuple(
        each
        for each in Status
        if any(a2a_word(each, attempt_no, blocked_by=kind) == word for attempt_no in (1, 2) for kind in kinds)
    )
