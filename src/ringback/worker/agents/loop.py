"""The loop of an agent: ask the model, carry out its calls side by side, ask again, until it has the last word.

What was said is kept as a checkpoint after each step, so a lost attempt goes on and calls nothing twice.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from ringback.worker.agents.calling import Calls
from ringback.worker.agents.model import Call, Message, Model
from ringback.worker.assignment import Outcome

TURNS_MAX: Final = 200


class Telling(Protocol):
    """Where the loop tells what happens."""

    async def tell(self, kind: str, value: Mapping[str, Any]) -> None:
        """An event."""
        ...

    async def checkpoint(self, value: Any) -> None:
        """The state from which another attempt may go on."""
        ...


class Loop:
    """One agent's conversation.

    Args:
        messages: what was said so far: the input, or what an earlier attempt kept.
    """

    def __init__(self, model: Model, calls: Calls, telling: Telling, messages: Sequence[Message]) -> None:
        self._model, self._calls, self._telling = model, calls, telling
        self._messages = [dict(message) for message in messages]

    async def carry_on(self) -> Outcome:
        """Until the model has the last word, or hands over."""
        for _ in range(TURNS_MAX):
            open_calls = self._open_calls()
            if not open_calls:
                reply = await self._model.reply(self._messages)
                if not reply.calls:
                    return await self._over(reply.text or "")
                open_calls = await self._noted(reply.calls)
            heir = next((each for each in open_calls if self._calls.hands_over(each[0])), None)
            if heir is not None:
                return await self._handed_over(*heir)
            await self._carry_out(open_calls)
        message = f"the agent did not come to an end within {TURNS_MAX} turns"
        return Outcome(kind="failed", error_kind="tool_error", error_message=message)

    def _open_calls(self) -> list[tuple[Call, str]]:
        """The calls of the last answer, if an earlier attempt left before their results were there."""
        if not self._messages or not self._messages[-1].get("calls"):
            return []
        return [(Call(each["callable"], each["arguments"]), each["id"]) for each in self._messages[-1]["calls"]]

    async def _noted(self, calls: Sequence[Call]) -> list[tuple[Call, str]]:
        turn = sum(message["role"] == "assistant" for message in self._messages)
        numbered = [(call, f"{turn}.{index}") for index, call in enumerate(calls)]
        listed = [{"id": number, "callable": c.callable, "arguments": dict(c.arguments)} for c, number in numbered]
        self._messages.append({"role": "assistant", "content": "", "calls": listed, "scripted": True})
        await self._telling.checkpoint({"messages": self._messages})
        return numbered

    async def _carry_out(self, numbered: Sequence[tuple[Call, str]]) -> None:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._called(call, number)) for call, number in numbered]
        for (call, number), task in zip(numbered, tasks, strict=True):
            result = task.result()
            self._messages.append({"role": "tool", "call": number, "name": call.callable, "content": result})
            await self._telling.tell("tool_result", {"callId": number, "name": call.callable, "result": result})
        await self._telling.checkpoint({"messages": self._messages})

    async def _called(self, call: Call, number: str) -> dict[str, Any]:
        run_id = await self._calls.start(call, number)
        told = {"callId": number, "name": call.callable, "arguments": dict(call.arguments)}
        await self._telling.tell("tool_call.completed", told if run_id is None else {**told, "runId": run_id})
        return await self._calls.result(call, number, run_id)

    async def _handed_over(self, call: Call, number: str) -> Outcome:
        run_id = await self._calls.start(call, number)
        told = {"callId": number, "name": call.callable, "arguments": dict(call.arguments), "runId": run_id}
        await self._telling.tell("tool_call.completed", told)
        summary = f"handed over to {call.callable}"
        return Outcome(kind="succeeded", result={"handedOverTo": run_id}, summary=summary)

    async def _over(self, text: str) -> Outcome:
        self._messages.append({"role": "assistant", "content": text, "scripted": True})
        await self._telling.tell("message.completed", {"role": "assistant", "content": text})
        first = text.strip().splitlines()[0] if text.strip() else "done"
        return Outcome(kind="succeeded", result={"message": text}, summary=first)
