"""The runtime of agents: a coroutine in the worker for each, since it only waits: for its model, for people, for runs.

What an agent calls runs elsewhere, as runs of their own; nothing that a user wrote runs here.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

from ringback.worker.agents.calling import Calls, ChildDoor
from ringback.worker.agents.loop import Loop
from ringback.worker.agents.model import Message, ScriptedModel
from ringback.worker.assignment import Assignment, Outcome, Reporter, Stop
from ringback.worker.masking import Mask
from ringback.worker.reporting import ChildRefusedError


class AgentRuntime:
    """Carries out agents.

    Args:
        secret_values: what is masked in all that an agent says (the worker's token).
    """

    name: Final = "agent"

    def __init__(self, *, secret_values: Iterable[str] = ()) -> None:
        self._mask = Mask(secret_values)

    async def run(self, assignment: Assignment, reporter: Reporter, stop: Stop) -> Outcome:
        """Carry out one attempt. Children that follow their parent are stopped by the server when it is."""
        loop = self._loop(assignment, reporter)
        working = asyncio.ensure_future(loop.carry_on())
        stopped = asyncio.ensure_future(stop.requested.wait())
        try:
            await asyncio.wait({working, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                return _outcome(working)
            if stop.lost.is_set() or stop.why == "drain":
                return Outcome(kind="released")
            await reporter.cancel_delivered()
            if stop.limit is not None:
                return Outcome(kind="timed_out", limit=stop.limit, error_message=f"time limit: {stop.limit}")
            await reporter.cancel_acknowledged()
            return Outcome(kind="stopped")
        finally:
            working.cancel()
            stopped.cancel()
            await asyncio.gather(working, stopped, return_exceptions=True)

    async def aclose(self) -> None:
        """Nothing is held between assignments."""

    def _loop(self, assignment: Assignment, reporter: Reporter) -> Loop:
        profile, given = assignment.profile, assignment.input
        model = ScriptedModel(profile.get("script", ()))
        door = cast("ChildDoor", reporter)
        calls = Calls(door, profile.get("callables", ()), given.get("ephemeralTools", ()))
        return Loop(model, calls, _Masked(reporter, self._mask), _messages(profile, given, assignment.checkpoint))


class _Masked:
    """A reporter behind a mask."""

    def __init__(self, reporter: Reporter, mask: Mask) -> None:
        self._reporter, self._mask = reporter, mask

    async def tell(self, kind: str, value: Mapping[str, Any]) -> None:
        await self._reporter.tell(kind, self._mask.value(dict(value)))

    async def checkpoint(self, value: Any) -> None:
        await self._reporter.checkpoint(value)


def _messages(profile: Mapping[str, Any], given: Mapping[str, Any], checkpoint: Any) -> Sequence[Message]:
    if isinstance(checkpoint, dict) and isinstance(checkpoint.get("messages"), list):
        kept: list[Message] = checkpoint["messages"]
        return kept
    told = [dict(message) for message in given.get("messages", ())]
    instructions = profile.get("instructions")
    return [{"role": "system", "content": instructions}, *told] if instructions else told


def _outcome(working: "asyncio.Future[Outcome]") -> Outcome:
    error = working.exception()
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if error is None:
        return working.result()
    if isinstance(error, ChildRefusedError):
        return Outcome(kind="failed", error_kind="tool_error", error_message=str(error), retryable=False)
    raise error
