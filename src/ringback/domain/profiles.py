"""What the profile of a definition may hold: one set of members and one rule for each runtime."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from ringback.domain.agent_definitions import AGENT_MEMBERS, agent_flaws
from ringback.domain.errors import Flaw
from ringback.domain.json_values import escape
from ringback.domain.server_definitions import call_flaws, server_flaws
from ringback.domain.spaces import space_flaws

POOL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
SOURCE_MAX = 64 * 1024

Profile: TypeAlias = Mapping[str, Any]
Rule: TypeAlias = Callable[[Profile], Iterator[Flaw]]

_PROCESS = frozenset(
    ("pool", "command", "shell", "cwd", "env", "envAllow", "secrets", "limits", "function", "defaults", "allowOptions")
)


def profile_flaws(profile: Any, kind: str, runtime: Any) -> Iterator[Flaw]:
    """Everything that is wrong with the profile of a resource of that kind, by pointers below `/profile`."""
    if not isinstance(profile, Mapping):
        yield Flaw("/profile", "must be an object")
        return
    members, rule = _RULES.get((kind, str(runtime)), (_PROCESS, _nothing))
    yield from unknown_members(profile, members, "/profile")
    pool = profile.get("pool", "default")
    if not isinstance(pool, str) or not POOL.fullmatch(pool):
        yield Flaw("/profile/pool", "must match [A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
    yield from rule(profile)


def unknown_members(part: Mapping[str, Any], known: frozenset[str], pointer: str) -> Iterator[Flaw]:
    """A flaw for each member that nobody reads."""
    for member in part:
        if member not in known:
            yield Flaw(f"{pointer}/{escape(str(member))}", f"unknown member; known are {', '.join(sorted(known))}")


def _nothing(_: Profile) -> Iterator[Flaw]:
    yield from ()


def _command(profile: Profile) -> Iterator[Flaw]:
    if not profile.get("command"):
        yield Flaw("/profile/command", "a command tool needs a command")
    yield from space_flaws(profile)


def _script(profile: Profile) -> Iterator[Flaw]:
    source = profile.get("source")
    if not isinstance(source, str):
        yield Flaw("/profile/source", "a script needs its source")
    elif not 1 <= len(source.encode(errors="replace")) <= SOURCE_MAX:
        yield Flaw("/profile/source", f"must have 1 to {SOURCE_MAX} bytes")


def _server(profile: Profile) -> Iterator[Flaw]:
    yield from server_flaws(profile.get("server"), "/profile/server")


_RULES: Mapping[tuple[str, str], tuple[frozenset[str], Rule]] = {
    ("tool", "command"): (_PROCESS | {"space"}, _command),
    ("tool", "function"): (_PROCESS, _nothing),
    ("tool", "script"): (_PROCESS | {"source"}, _script),
    ("tool", "mcp"): (frozenset(("pool", "server", "tool", "method", "defaults")), call_flaws),
    ("tool", "http"): (frozenset(("pool", "secrets", "defaults", "http")), _nothing),
    ("agent", "agent"): (AGENT_MEMBERS, agent_flaws),
    ("mcp_server", "mcp"): (frozenset(("pool", "server")), _server),
}
