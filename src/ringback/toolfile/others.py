"""From `[servers.NAME]` and `[agents.NAME]` to definitions: keys are translated, the rules are the domain's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from ringback.domain.agent_definitions import agent_flaws
from ringback.domain.errors import Flaw
from ringback.domain.server_definitions import server_flaws
from ringback.toolfile import mcp, policies
from ringback.toolfile.tables import Table

NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
NAME_RULE: Final = "a name is lower-case letters, digits and _, at most 64, and begins with a letter"
SERVER_KEYS: Final = ("description", "pool", *mcp.SERVER_KEYS, *policies.KEYS)
AGENT_KEYS: Final = ("description", "pool", "model", "instructions", "callables", "script", *policies.KEYS)
_AGENT: Final = ("model", "instructions", "script")
_CALLABLE: Final = {
    "name": "name",
    "alias": "alias",
    "type": "resourceType",
    "channel": "releaseChannel",
    "relation": "relation",
}
_DESCRIPTION_MAX: Final = 4_000
_POOL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def read_server(table: Table, folder: Path) -> dict[str, Any]:
    """The definition of an MCP server that workers host; its problems are noted on the table."""
    table.refuse_unknown(SERVER_KEYS)
    server = mcp.read_server(table, folder)
    for flaw in server_flaws(server, ""):
        mcp.note(table, flaw.pointer.split("/")[1:], flaw.detail)
    return _definition(table, "mcp_server", "mcp", {"server": server})


def read_agent(table: Table, _folder: Path) -> dict[str, Any]:
    """The definition of an agent; its problems are noted on the table."""
    table.refuse_unknown(AGENT_KEYS)
    profile = {name: table.data[name] for name in _AGENT if name in table.data}
    if "callables" in table.data:
        profile["callables"] = _callables(table)
    for flaw in _own(agent_flaws(profile)):
        key, _, below = flaw.pointer.removeprefix("/profile/").partition("/")
        table.note(key, f"{below}: {flaw.detail}" if below else flaw.detail)
    return _definition(table, "agent", "agent", profile)


def _own(flaws: Iterator[Flaw]) -> list[Flaw]:
    return list(flaws)[:20]


def _callables(table: Table) -> Any:
    value = table.data["callables"]
    return [_callable(each) for each in value] if isinstance(value, list) else value


def _callable(each: Any) -> Any:
    if not isinstance(each, Mapping):
        return each
    return {_CALLABLE.get(key, key): value for key, value in each.items()}


def _definition(table: Table, kind: str, runtime: str, profile: dict[str, Any]) -> dict[str, Any]:
    name = table.path[-1]
    if not NAME.fullmatch(name):
        table.note("", NAME_RULE)
    pool = table.matching("pool", "default", _POOL, "a name of letters, digits, and . _ -, at most 64")
    return {
        "resourceType": kind,
        "name": name,
        "description": table.text("description", length_max=_DESCRIPTION_MAX).strip(),
        "runtime": runtime,
        "profile": {"pool": pool, **profile},
        "policy": policies.read_policy(table, name, {}),
    }
