"""From `[tools.NAME.mcp]` to the profile of a tool of an MCP server: keys are translated, the rules are the domain's."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from ringback.domain.server_definitions import call_flaws
from ringback.toolfile.tables import DAY_S, Table

_PLAIN: Final = {
    "command": "command",
    "url": "url",
    "env": "env",
    "env_allow": "envAllow",
    "secrets": "secrets",
    "headers": "headers",
    "asks": "asks",
    "roots": "roots",
    "sessions": "sessions",
}
_DURATIONS: Final = {"idle": "idleS", "start_within": "startWithinS"}
_PLACES: Final = {"cwd": "cwd", "secrets_file": "secretsFile"}
_RESTART: Final = {"delay": "delayS", "max_delay": "delayMaxS"}
SERVER_KEYS: Final = ("restart", *_PLAIN, *_DURATIONS, *_PLACES)
KEYS: Final = ("tool", "method", *SERVER_KEYS)
_SPELLED: Final = {public: key for key, public in (_PLAIN | _DURATIONS | _PLACES | _RESTART).items()}


def read_mcp(table: Table, folder: Path) -> dict[str, Any]:
    """The members that a tool of an MCP server adds to its profile; relative folders begin at `folder`."""
    mcp = table.inner("mcp")
    mcp.refuse_unknown(KEYS)
    profile: dict[str, Any] = {"server": read_server(mcp, folder)}
    profile |= {name: mcp.data[name] for name in ("tool", "method") if name in mcp.data}
    for flaw in call_flaws(profile):
        note(mcp, flaw.pointer.split("/")[2:], flaw.detail)
    return profile


def read_server(table: Table, folder: Path) -> dict[str, Any]:
    """Which server it is and how it is hosted, from the keys of a table."""
    server: dict[str, Any] = {public: table.data[key] for key, public in _PLAIN.items() if key in table.data}
    for key, public in _DURATIONS.items():
        if (value := table.seconds(key, low=0, high=DAY_S)) is not None:
            server[public] = value
    for key, public in _PLACES.items():
        if key in table.data:
            server[public] = str(folder / table.text(key, ".", length_max=4096))
    if "command" in server:
        server.setdefault("cwd", str(folder))
    if "restart" in table.data:
        server["restart"] = _restart(table.inner("restart"))
    return server


def _restart(table: Table) -> dict[str, Any]:
    table.refuse_unknown(_RESTART)
    found = {public: table.seconds(key, low=0, high=DAY_S) for key, public in _RESTART.items() if key in table.data}
    return {name: value for name, value in found.items() if value is not None}


def note(table: Table, path: list[str], rule: str) -> None:
    """Note a flaw at its key, spelled as in the file."""
    if path[:1] == ["server"]:
        path = path[1:]
    while len(path) > 1 and isinstance(table.data.get(_SPELLED.get(path[0], path[0])), dict):
        table, path = table.inner(_SPELLED.get(path[0], path[0])), path[1:]
    table.note(_SPELLED.get(path[0], path[0]) if path else "", rule)
