"""What an attempt asks of the server through its runtime: children, questions, callbacks, spaces, kept values and so on.

Knowing a run's fence is not enough: the session that sends the request must hold the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from ringback.domain.agent_definitions import RELATIONS
from ringback.domain.errors import Flaw, InvalidInputError, NotFoundError, RingbackError, StaleFenceError
from ringback.domain.ids import job_id_of, run_id_of
from ringback.domain.json_values import escape
from ringback.domain.runs import Run
from ringback.domain.sessions import Session
from ringback.ports.store import Store
from ringback.services.births import Parent
from ringback.services.callbacks import Callbacks
from ringback.services.continuations import Continuations
from ringback.services.facilities import Facilities
from ringback.services.interactions import Interactions
from ringback.services.reports import (
    Asked,
    AskReport,
    CallbackReport,
    ChildReport,
    ContinueReport,
    LookReport,
    RequestsReport,
    SpaceReport,
    UseReport,
    WithdrawReport,
)
from ringback.services.results import Results
from ringback.services.spaces import Spaces
from ringback.services.start_request import StartRequest
from ringback.services.starting import Starting

_SESSION_INPUT = frozenset(("clientInfo", "clientCapabilities", "sessionContext", "metadata"))


@dataclass(slots=True, kw_only=True)
class AttemptRequests:
    """Answers the requests of attempts."""

    store: Store
    starting: Starting
    interactions: Interactions
    callbacks: Callbacks
    continuations: Continuations
    results: Results
    spaces: Spaces
    facilities: Facilities

    async def answer(self, session: Session, report: Asked) -> dict[str, Any]:
        """`{"ok": true, …}` with what was asked for, or why not."""
        try:
            return {"ok": True, **await self._answer(session, report)}
        except RingbackError as error:
            return {"ok": False, "code": error.code, "detail": str(error)}

    async def _answer(self, session: Session, report: Asked) -> dict[str, Any]:
        if isinstance(report, SpaceReport):  # its own rule: a space may outlive its attempt
            return await self.spaces.report(session, report)
        run = await self.store.reads.run(report.run_id)
        if run is None:
            raise StaleFenceError(report.run_id, report.fence, 0)
        check_holder(run, session, report.fence)
        match report:
            case ChildReport():
                return await self._start_child(run, report)
            case AskReport():
                return await self._ask(report)
            case WithdrawReport():
                return await self._withdraw(report)
            case CallbackReport():
                return await self._open_callback(report)
            case RequestsReport():
                return await self._requests(run, report)
            case UseReport():
                return await self.facilities.use(run, report)
            case LookReport():
                return await self._look(run, report)
            case ContinueReport():
                return await self._continue(run, report)
            case _:
                assert_never(report)

    async def _ask(self, report: AskReport) -> dict[str, Any]:
        questions, (run_id, fence) = self.interactions, (report.run_id, report.fence)
        if report.interaction_id is not None:
            asked = await questions.held(run_id, fence, report.interaction_id)
        else:
            asked = await questions.ask(run_id, fence, report.question)
        told = {"interactionId": asked.interaction_id, "interactionStatus": asked.status}
        return told if asked.response is None else {**told, "response": asked.response}

    async def _withdraw(self, report: WithdrawReport) -> dict[str, Any]:
        found = await self.interactions.take_back(report.run_id, report.fence, report.key)
        return {} if found is None else {"interactionStatus": found.status}

    async def _open_callback(self, report: CallbackReport) -> dict[str, Any]:
        opened = await self.callbacks.open(report.run_id, report.fence, report.start_no, report.secret)
        told: dict[str, Any] = {"callbackPath": opened.path}
        if opened.url is not None:
            told["callbackUrl"] = opened.url
        return told if opened.delivery is None else {**told, "delivery": opened.delivery}

    async def _requests(self, run: Run, report: RequestsReport) -> dict[str, Any]:
        if run.fence != report.fence or not run.is_held:
            raise StaleFenceError(report.run_id, report.fence, run.fence)
        return {"requests": await self.continuations.waiting(run, after=report.after)}

    async def _start_child(self, parent: Run, report: ChildReport) -> dict[str, Any]:
        kind = next((kind for kind, types in RELATIONS.items() if report.relation in types), None)
        if kind is None:
            raise InvalidInputError(Flaw("/relation", "no relation in which a run starts another one"))
        request = StartRequest(
            tool="" if report.revision_id is not None else report.tool,
            kind=kind,
            revision_id=report.revision_id,
            arguments=report.arguments if kind == "tool" else {},
            body=_INPUTS[kind](report.arguments) if kind in _INPUTS else None,
            idempotency_key=f"child:{parent.run_id}:{report.request_id}",
            thread_id=parent.thread_id,
            source="run",
        )
        link = Parent(run_id=parent.run_id, fence=report.fence, relation=report.relation)
        owner = f"run:{parent.run_id}"
        started = await self.starting.start(
            parent.project_id, owner, request, request_id=report.request_id, parent=link
        )
        return {"childRunId": started.run.run_id, "childJobId": job_id_of(started.run.run_id)}

    async def _look(self, parent: Run, report: LookReport) -> dict[str, Any]:
        return {"children": [await self._ending(await self._child(parent, each)) for each in report.children]}

    async def _continue(self, parent: Run, report: ContinueReport) -> dict[str, Any]:
        child = await self._child(parent, report.child)
        await self.continuations.check(child)
        found = await self.continuations.put(child, report.request, by=f"run:{parent.run_id}")
        told = {"status": found.status}
        return {"continuation": told if found.response is None else {**told, "response": found.response}}

    async def _child(self, parent: Run, name: str) -> Run:
        """A run that `parent` itself started."""
        run_id = run_id_of(name)
        child = None if run_id is None else await self.store.reads.run(run_id)
        if child is None:
            raise NotFoundError("child", name)
        facts = (await self.store.reads.facts([child.run_id]))[child.run_id]
        if facts.parent_id != parent.run_id:
            raise NotFoundError("child", name)
        return child

    async def _ending(self, child: Run) -> dict[str, Any]:
        """How a child stands; with its result once it has ended."""
        facts = {
            "runId": child.run_id,
            "status": child.status.value,
            "failureKind": child.failure_kind and child.failure_kind.value,
            "errorMessage": child.error,
            "summary": child.summary,
            "value": await self.results.value(child) if child.is_terminal else None,
        }
        return {name: value for name, value in facts.items() if value is not None}


def _agent_input(given: Mapping[str, Any]) -> dict[str, Any]:
    """What an agent is given, as a run's input has it; its parts are checked as those of any request are.

    Raises:
        InvalidInputError: there is no list of messages.
    """
    if not isinstance(given.get("messages"), list) or given.keys() - {"messages"}:
        raise InvalidInputError(Flaw("/arguments/messages", "must be a list of messages, and nothing else is taken"))
    for index, message in enumerate(given["messages"]):
        is_one = isinstance(message, Mapping) and message.keys() == {"role", "content"}
        if not is_one or message["role"] not in _ROLES or not isinstance(message["content"], str | list):
            rule = f"must have a role ({', '.join(_ROLES)}) and a content"
            raise InvalidInputError(Flaw(f"/arguments/messages/{index}", rule))
    return {"mode": "agent", **given}


def _session_input(given: Mapping[str, Any]) -> dict[str, Any]:
    """What opens a session, as a run's input has it.

    Raises:
        InvalidInputError: names each member that is none of it.
    """
    flaws = [Flaw(f"/arguments/{escape(name)}", "unknown member") for name in given if name not in _SESSION_INPUT]
    flaws += [
        Flaw(f"/arguments/{escape(name)}", "must be an object")
        for name, value in given.items()
        if name in _SESSION_INPUT and not isinstance(value, Mapping)
    ]
    if flaws:
        raise InvalidInputError(*flaws)
    return {"mode": "mcp_server", "clientInfo": {"name": "ringback", "version": "1"}, "clientCapabilities": {}, **given}


def check_holder(run: Run, session: Session, fence: int) -> None:
    """Raises StaleFenceError: another session holds the run."""
    if run.attempt is not None and run.attempt.session_id != session.session_id:
        raise StaleFenceError(run.run_id, fence, run.fence)


_ROLES = ("system", "user", "assistant")
_INPUTS = {"agent": _agent_input, "mcp_server": _session_input}
