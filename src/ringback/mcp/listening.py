"""`subscriptions/listen`: tells a client when its tasks change and when the list of tools does, until it goes away.

The acknowledgement comes first and names what is honoured; each task is told as it stands right afterwards, so that nothing is
missed between its creation and this stream. Only these two kinds of message are sent here, each tagged with the subscription.
"""

from __future__ import annotations

import asyncio
from typing import Any

import mcp_types as types
from mcp.server.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp.shared.exceptions import MCPError

from ringback.client.errors import RingbackError
from ringback.mcp import tasks
from ringback.mcp.caller import Caller, segment
from ringback.mcp.clients import Context, require_tasks, takes_questions
from ringback.mcp.offers import all_tools

TASKS_MAX = 100
TOOLS_EVERY_S = 3.0
TELLING = frozenset(
    ("run.status.changed", "state.updated", "interaction.requested", "interaction.updated", "interaction.responded")
)
ENDED = frozenset(("completed", "failed", "cancelled"))


async def listen(
    caller: Caller, ctx: Context, params: types.SubscriptionsListenRequestParams
) -> types.SubscriptionsListenResult:
    """Serve one stream; it ends by itself once all tasks have ended and nothing else was asked for."""
    asked = _task_ids(ctx, params)
    stream = _Stream(caller, ctx)
    task_ids = [each for each in asked if await stream.knows(each)]
    if wants_tools := bool(params.notifications.tools_list_changed):
        await all_tools(caller)  # who may not see the list is refused, and not left waiting
    honoured: dict[str, Any] = {"toolsListChanged": True} if wants_tools else {}
    if asked:
        honoured["taskIds"] = task_ids
    await stream.send("notifications/subscriptions/acknowledged", {"notifications": honoured})
    async with asyncio.TaskGroup() as watches:
        for task_id in task_ids:
            watches.create_task(stream.watch_task(task_id))
        if wants_tools or not asked:
            watches.create_task(stream.watch_tools(tells=wants_tools))
    return types.SubscriptionsListenResult.model_validate({"_meta": stream.tag, "resultType": "complete"})


def _task_ids(ctx: Context, params: types.SubscriptionsListenRequestParams) -> list[str]:
    given = (params.notifications.model_extra or {}).get("taskIds")
    if given is None:
        return []
    require_tasks(ctx)
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given) or len(given) > TASKS_MAX:
        raise MCPError(types.INVALID_PARAMS, f"taskIds must be a list of at most {TASKS_MAX} strings")
    return list(dict.fromkeys(given))


class _Stream:
    """One subscription."""

    def __init__(self, caller: Caller, ctx: Context) -> None:
        self._caller, self._ctx = caller, ctx
        self._asks = takes_questions(ctx)
        self.tag = {SUBSCRIPTION_ID_META_KEY: ctx.request_id}

    async def send(self, method: str, params: dict[str, Any]) -> None:
        note: Any = types.Notification[dict[str, Any], str](method=method, params={**params, "_meta": self.tag})
        await self._ctx.session.send_notification(note, related_request_id=self._ctx.request_id)

    async def knows(self, task_id: str) -> bool:
        try:
            await tasks.detail(self._caller, task_id, asks=False)
        except MCPError:
            return False
        return True

    async def watch_task(self, task_id: str) -> None:
        """Tell the task as it stands, and again whenever that changes, up to its end."""
        try:
            run = await self._caller.get(f"/v1/runs/{segment(task_id)}")
            last = await self._tell(task_id, None)
            async for event in self._caller.events(task_id, after=run["eventSequence"]):
                if last is None or last["status"] in ENDED:
                    return
                if event.type in TELLING:
                    last = await self._tell(task_id, last)
        except (RingbackError, MCPError):  # the stream ends; its client asks again, or looks
            return

    async def _tell(self, task_id: str, last: dict[str, Any] | None) -> dict[str, Any]:
        now = await tasks.detail(self._caller, task_id, asks=self._asks)
        if last is None or _told(now) != _told(last):
            await self.send("notifications/tasks", now)
        return now

    async def watch_tools(self, *, tells: bool) -> None:
        """Look at the list of tools now and then; that is also what keeps a stream open that asked for nothing."""
        last: list[Any] | None = None
        while True:
            try:
                now = await all_tools(self._caller)
            except RingbackError:
                now = last or []
            if tells and last is not None and now != last:
                await self.send("notifications/tools/list_changed", {})
            last = now
            await asyncio.sleep(TOOLS_EVERY_S)


def _told(task: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in task.items() if name != "pollIntervalMs"}
