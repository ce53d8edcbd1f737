"""`ringback wrap`: the tools of one MCP server as tools of the project, shown under their own names by a front of their own.

The wrapped server runs at a worker, never here, so what it does outlives this front. Its list of tools is asked for
by a job like any other. What an earlier front applied is shown at once, and looked at again behind the scenes.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any
from urllib.parse import urlsplit

import jsonschema_rs
import mcp_types as types
from mcp.shared.exceptions import MCPError

from ringback.client.errors import InvalidInputError, RingbackError
from ringback.mcp import jobs
from ringback.mcp.builtin import builtin_tools
from ringback.mcp.caller import Caller
from ringback.mcp.clients import Context

log = logging.getLogger(__name__)

LISTED_WITHIN_S = 25
RESULT_BYTES = 1_000_000
NAME_MAX = 64
PREFIX_MAX = 24
DESCRIPTION_MAX = 4_000
OWN = frozenset(("get_job_status", "get_job_result", "stop_job", "list_jobs", "wait_for_jobs", "answer_interaction"))
_LAUNCHERS = frozenset(
    (
        "npx",
        "uvx",
        "bunx",
        "pnpx",
        "node",
        "bun",
        "deno",
        "python",
        "python3",
        "uv",
        "pipx",
        "docker",
        "podman",
        "sh",
        "run",
        "exec",
        "dlx",
    )
)
_PLACE = ("command", "url", "cwd")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapped:
    """What is wrapped.

    Attributes:
        prefix: how its tools are called in the project, followed by a digest of the server.
        server: its definition, as a profile has it.
        mode: `task`, `job` or `inline`, for all of its tools.
    """

    prefix: str
    server: Mapping[str, Any]
    mode: str

    @property
    def stem(self) -> str:
        """What the names of its tools in the project begin with: another server, folder or mode has another one."""
        place = json.dumps([self.mode, *(self.server.get(member) for member in _PLACE)]).encode()
        return f"{self.prefix}_{hashlib.sha256(place).hexdigest()[:6]}"


class Wrapping:
    """Learns the tools, applies them, and tells which are shown; implements `Scope`."""

    def __init__(self, wrapped: Wrapped) -> None:
        self._wrapped = wrapped
        self._names: dict[str, str] | None = None
        self._learning = asyncio.Lock()
        self._refreshing: asyncio.Task[None] | None = None
        self._job_id: str | None = None

    def name_of(self, item: Mapping[str, Any]) -> str | None:
        """See `Scope`: a tool has the name that its server gave it."""
        return (self._names or {}).get(item["name"])

    def shows_own(self, name: str) -> bool:
        """See `Scope`."""
        return name in OWN

    async def ready(self, caller: Caller) -> None:
        """Return when it is known which tools there are.

        Raises:
            RingbackError: the API refused something.
            MCPError: the wrapped server did not start, or not yet.
        """
        async with self._learning:
            if self._names is not None:
                return
            known = await self._applied(caller)
            if known:
                self._names = known
                self._refreshing = asyncio.create_task(self._refresh(caller))
            else:
                self._names = await self._learn(caller)

    async def _refresh(self, caller: Caller) -> None:
        try:
            self._names = await self._learn(caller)
        except (RingbackError, MCPError) as error:
            log.warning("the wrapped server could not be asked for its tools again: %s", error)

    async def _applied(self, caller: Caller) -> dict[str, str]:
        """The tools that an earlier front of the same server applied."""
        found: dict[str, str] = {}
        cursor: str | None = None
        while True:
            page = await caller.get("/v1/tools", cursor=cursor)
            for item in page["items"]:
                tool = item["profile"].get("tool") if item["runtime"] == "mcp" else None
                if tool is not None and item["name"].startswith(f"{self._wrapped.stem}_"):
                    found[item["name"]] = tool
            cursor = page.get("nextCursor")
            if cursor is None:
                return _shown(found)

    async def _learn(self, caller: Caller) -> dict[str, str]:
        """Ask the server for its tools, and make them the project's."""
        definitions = definitions_of(self._wrapped, await self._listed(caller))
        try:
            await caller.put("/v1/tools", {"definitions": definitions})
        except InvalidInputError as error:
            definitions = _without(definitions, error)
            await caller.put("/v1/tools", {"definitions": definitions})
        return _shown({each["name"]: each["profile"]["tool"] for each in definitions})

    async def _listed(self, caller: Caller) -> list[Mapping[str, Any]]:
        if self._job_id is None:
            catalogue = _catalogue(self._wrapped)
            await caller.put("/v1/tools", {"definitions": [catalogue]})
            started = await caller.post("/jobs", {"tool": catalogue["name"], "arguments": {}})
            self._job_id = str(started["job_id"])
        job = await jobs.look(caller, self._job_id, wait_s=LISTED_WITHIN_S)
        if job["status"] not in jobs.ENDED:
            waits_for = (job.get("waiting_for") or {}).get("reason") or "it is starting"
            raise MCPError(
                types.INTERNAL_ERROR, f"the wrapped server did not list its tools yet ({waits_for}); ask again"
            )
        self._job_id = None
        if job["status"] != "done":
            raise MCPError(types.INTERNAL_ERROR, f"the wrapped server can't be used: {job.get('error_message')}")
        tools: list[Mapping[str, Any]] = (await _result(caller, job["job_id"]))["tools"]
        return tools


async def _result(caller: Caller, job_id: str) -> Mapping[str, Any]:
    """What a job returned, which stands behind all of its output."""
    cursor: str | None = None
    while True:
        page = await jobs.result(caller, job_id, cursor=cursor, max_bytes=RESULT_BYTES)
        if "result" in page:
            found: Mapping[str, Any] = page["result"]
            return found
        cursor = page["next_cursor"]


def wants_tools(ctx: Context) -> bool:
    """Whether a request needs to know the wrapped server's tools."""
    if ctx.method == "tools/call":
        return (ctx.params or {}).get("name") not in OWN
    return ctx.method in ("tools/list", "subscriptions/listen")


def definitions_of(wrapped: Wrapped, tools: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The server's tools as tools of the project."""
    found: dict[str, dict[str, Any]] = {}
    for tool in tools:
        if (tool.get("execution") or {}).get("taskSupport") == "required":
            log.warning("a tool that can only be called as a task of the server's own is left out: %s", tool["name"])
            continue
        name = _name(wrapped.stem, str(tool["name"]), found)
        hints = tool.get("annotations") or {}
        is_idempotent = bool(hints.get("idempotentHint") or hints.get("readOnlyHint"))
        found[name] = {
            "name": name,
            "description": str(tool.get("description") or tool.get("title") or tool["name"])[:DESCRIPTION_MAX],
            "runtime": "mcp",
            "inputSchema": _schema(tool.get("inputSchema")),
            "mode": wrapped.mode,
            "profile": {"server": dict(wrapped.server), "tool": str(tool["name"])},
            "policy": {"idempotent": True} if is_idempotent else {},
        }
    return list(found.values())


def prefix_of(command: list[str], url: str | None) -> str:
    """A name for the server, from its command or its address."""
    if url is not None:
        labels = [label for label in (urlsplit(url).hostname or "").split(".") if label not in ("www", "mcp", "api")]
        return _plain(labels[0] if labels else "server")
    words = [word for word in command if not word.startswith("-") and PurePath(word).name not in _LAUNCHERS]
    name = PurePath(words[0] if words else command[0]).name.partition("@")[0]
    name = re.sub(r"\.(?:m?js|ts|py|sh)$", "", name)
    return _plain(re.sub(r"^(?:mcp[-_])?(?:server[-_])?|(?:[-_](?:server|mcp))*$", "", name) or name)


def _plain(text: str) -> str:
    """Small letters, digits and underscores, a letter first."""
    found = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    return (found if found[:1].isalpha() else f"mcp_{found}".rstrip("_"))[:PREFIX_MAX].rstrip("_")


def _name(stem: str, tool: str, taken: Mapping[str, Any]) -> str:
    name = f"{stem}_{re.sub(r'[^a-z0-9]+', '_', tool.lower()).strip('_')}"[:NAME_MAX]
    if name not in taken:
        return name
    return f"{name[: NAME_MAX - 7]}_{hashlib.sha256(tool.encode()).hexdigest()[:6]}"


def _shown(tools: Mapping[str, str]) -> dict[str, str]:
    """The name of each tool at this front: its server's own, unless Ringback has one of that name here."""
    return {name: f"server_{tool}" if tool in builtin_tools() else tool for name, tool in tools.items()}


def _schema(schema: Any) -> dict[str, Any]:
    """The tool's own schema, if it is one; otherwise the server itself has to look at the arguments."""
    if not isinstance(schema, dict):
        return {"type": "object"}
    try:
        jsonschema_rs.Draft202012Validator(schema)
    except (jsonschema_rs.ValidationError, ValueError) as error:
        log.warning("a tool's schema is not taken over: %s", str(error).splitlines()[0])
        return {"type": "object"}
    return schema


def _catalogue(wrapped: Wrapped) -> dict[str, Any]:
    return {
        "name": f"{wrapped.stem}_tools"[:NAME_MAX],
        "description": "List the tools of the wrapped MCP server.",
        "runtime": "mcp",
        "mode": "job",
        "profile": {"server": dict(wrapped.server), "method": "tools/list"},
        "policy": {"idempotent": True},
    }


def _without(definitions: list[dict[str, Any]], error: InvalidInputError) -> list[dict[str, Any]]:
    """Those that were not refused."""
    refused = {int(found[1]) for flaw in error.errors if (found := re.match(r"/definitions/(\d+)", flaw.pointer))}
    for index in refused:
        log.warning("a tool of the wrapped server is left out: %s", definitions[index]["profile"]["tool"])
    return [each for index, each in enumerate(definitions) if index not in refused]
