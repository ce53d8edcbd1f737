"""The official Python client with a Tasks extension, over either transport."""

import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar, Literal

import httpx2
import mcp_types as types
from mcp.client.extension import ClaimContext, ClientExtension, NotificationBinding, ResultClaim
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from pydantic import BaseModel, ConfigDict, TypeAdapter

from mcp import Client
from ringback.mcp.clients import TASKS

ROOT = Path(__file__).resolve().parent.parent.parent
ENDED = frozenset(("completed", "failed", "cancelled"))
ANY: Any = TypeAdapter(dict[str, Any])


class Created(types.Result):
    """The answer to a call that became a task."""

    model_config = ConfigDict(extra="allow")
    result_type: Literal["task"]
    task_id: str


class Told(BaseModel):
    """What a notification about a task says."""

    model_config = ConfigDict(extra="allow")


class _Params(types.RequestParams):
    model_config = ConfigDict(extra="allow")


class TaskRequest(types.Request[_Params, str]):
    """A request that names a task."""

    name_param: ClassVar[str | None] = "taskId"


class Tasks(ClientExtension):
    """Keeps handles instead of following them, so that tests may look in between."""

    identifier = TASKS

    def __init__(self) -> None:
        self.created: list[Created] = []
        self.told: list[dict[str, Any]] = []

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return (ResultClaim(result_type="task", model=Created, resolve=self._keep),)

    def notifications(self) -> Sequence[NotificationBinding[Any]]:
        return (NotificationBinding(method="notifications/tasks", params_type=Told, handler=self._hear),)

    async def _keep(self, created: Created, _: ClaimContext) -> types.CallToolResult:
        self.created.append(created)
        handle = {"job_id": created.task_id, "status": "running"}  # the client holds it against the output schema
        return types.CallToolResult(content=[], structured_content=handle)

    async def _hear(self, told: Told) -> None:
        self.told.append(told.model_dump())


class Peer:
    """A connected client."""

    def __init__(self, client: Client, tasks: Tasks) -> None:
        self.client, self.tasks = client, tasks

    async def begin(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that becomes a task; its handle."""
        seen = len(self.tasks.created)
        await self.client.call_tool(tool, arguments)
        assert len(self.tasks.created) == seen + 1, f"{tool} became no task"
        return self.tasks.created[-1].model_dump(by_alias=True)

    async def ask(self, method: str, task_id: str, **more: Any) -> dict[str, Any]:
        params = _Params.model_validate({"taskId": task_id, **more})
        answer: dict[str, Any] = await self.client.session.send_request(TaskRequest(method=method, params=params), ANY)
        return {name: value for name, value in answer.items() if name != "_meta"}

    async def until(self, task_id: str, *statuses: str) -> dict[str, Any]:
        """Poll until the task stands so."""
        import anyio

        with anyio.fail_after(90):
            while (task := await self.ask("tasks/get", task_id))["status"] not in statuses:
                assert task["status"] not in ENDED, task
                await anyio.sleep(0.05)
        return task

    async def ended(self, task_id: str) -> dict[str, Any]:
        return await self.until(task_id, *ENDED)


async def _never(context: Any, params: Any) -> types.ElicitResult:
    raise AssertionError("elicitation comes through tasks only")


@asynccontextmanager
async def over_http(
    url: str, token: str, *, project: str = "default", takes_tasks: bool = True, **more: Any
) -> AsyncIterator[Peer]:
    """A client of `/mcp` for one project."""
    headers = {"authorization": f"Bearer {token}", "ringback-project": project}
    async with httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http:
        yielded = Tasks()
        extensions = [yielded] if takes_tasks else None
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, extensions=extensions, elicitation_callback=_never, **more) as client:
            yield Peer(client, yielded)


def front(variables: Mapping[str, str], *words: str) -> StdioServerParameters:
    """`ringback mcp` as a host starts it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RINGBACK_")}
    env = {**kept, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "src"))), **variables}
    return StdioServerParameters(command=sys.executable, args=["-m", "ringback", "mcp", *words], env=env)


@asynccontextmanager
async def over_stdio(variables: Mapping[str, str], *, takes_tasks: bool = True, **more: Any) -> AsyncIterator[Peer]:
    """A client of `ringback mcp`."""
    yielded = Tasks()
    extensions = [yielded] if takes_tasks else None
    async with Client(front(variables), extensions=extensions, elicitation_callback=_never, **more) as client:
        yield Peer(client, yielded)
