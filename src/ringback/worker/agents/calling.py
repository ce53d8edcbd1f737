"""Carries out what a model calls: every call is a run of its own, linked to the agent's by what it is.

A tool is a `tool_subrun`; another agent a `delegation`, whose answer is awaited, or a `handoff`, which takes over; a server is
an `mcp_session`, opened with the first request and kept; an ephemeral tool is a question to whoever started the run. Runs
are started under the call's number, so a call that is made again after a loss finds the run that there is.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from ringback.worker.agents.model import Call

LOOK_FIRST_S: Final = 0.05
LOOK_LAST_S: Final = 2.0
ENDED: Final = ("succeeded", "failed", "canceled")


class ChildDoor(Protocol):
    """What an agent asks of the server."""

    async def start_child(self, request_id: str, wanted: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
        """Start a run below this one, once for each `request_id`; its id."""
        ...

    async def standing(self, run_ids: Sequence[str]) -> Sequence[Mapping[str, Any]]:
        """How children stand."""
        ...

    async def proceed(self, run_id: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Put a request to a session, or look for its answer."""
        ...

    async def ask(self, question: Mapping[str, Any]) -> tuple[str, Mapping[str, Any] | None]:
        """Ask people something, and wait until that is over."""
        ...


class Calls:
    """The callables of one attempt.

    Args:
        callables: as they are frozen on the run.
        ephemeral: tools that the run's starter answers for.
    """

    def __init__(
        self, door: ChildDoor, callables: Sequence[Mapping[str, Any]], ephemeral: Sequence[Mapping[str, Any]]
    ) -> None:
        self._door = door
        self._callables = {str(each["alias"]): each for each in callables}
        self._ephemeral = {str(each["name"]): each for each in ephemeral}

    def hands_over(self, call: Call) -> bool:
        """Whether the agent is through with this call."""
        return self._callables.get(call.callable, {}).get("relation") == "handoff"

    async def start(self, call: Call, call_id: str) -> str | None:
        """The run of a call; None for a call that is a question, and for one of what there is not."""
        wanted = self._callables.get(call.callable)
        if wanted is None:
            return None
        if wanted["resourceType"] == "mcp_server":
            opening = {"clientInfo": {"name": "ringback-agent", "version": "1"}, "clientCapabilities": {}}
            return await self._door.start_child(f"session:{call.callable}", wanted, opening)
        return await self._door.start_child(call_id, wanted, call.arguments)

    async def result(self, call: Call, call_id: str, run_id: str | None) -> dict[str, Any]:
        """What came of it, for the model: `{status, …}`."""
        if call.callable in self._ephemeral:
            return await self._asked(self._ephemeral[call.callable], call, call_id)
        if run_id is None:
            return {"status": "failed", "error": f"there is nothing to call by the name {call.callable!r}"}
        if self._callables[call.callable]["resourceType"] == "mcp_server":
            return await self._proceeded(run_id, call, call_id)
        return await self._ended(run_id)

    async def _asked(self, tool: Mapping[str, Any], call: Call, call_id: str) -> dict[str, Any]:
        question: dict[str, Any] = {
            "kind": "input",
            "title": f"{tool['name']}: {tool['description']}"[:200],
            "description": f"arguments: {dict(call.arguments)}"[:2_000],
            "blocking": False,
            "key": f"call:{call_id}",
        }
        status, response = await self._door.ask(question)
        answer = {} if response is None else dict(response)
        return {"status": status} | ({"result": answer["payload"]} if "payload" in answer else {})

    async def _proceeded(self, run_id: str, call: Call, call_id: str) -> dict[str, Any]:
        request = {"id": call_id, "method": call.arguments.get("method", "tools/call")}
        request |= {"params": call.arguments.get("params", {})}
        wait_s = LOOK_FIRST_S
        while True:
            found = await self._door.proceed(run_id, request)
            if found["status"] != "open":
                return {"status": found["status"], **found.get("response", {})}
            await asyncio.sleep(wait_s)
            wait_s = min(wait_s * 1.5, LOOK_LAST_S)

    async def _ended(self, run_id: str) -> dict[str, Any]:
        wait_s = LOOK_FIRST_S
        while True:
            (found,) = await self._door.standing([run_id])
            if found["status"] in ENDED:
                told = {"status": found["status"], "run_id": run_id}
                told |= {name: found[name] for name in ("summary", "failureKind", "errorMessage") if name in found}
                value = found.get("value", {})
                return told | ({"result": value["result"]} if "result" in value else {})
            await asyncio.sleep(wait_s)
            wait_s = min(wait_s * 1.5, LOOK_LAST_S)
