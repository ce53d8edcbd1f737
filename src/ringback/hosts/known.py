"""The hosts that Ringback knows how to configure: which file, which member, which words.

Each entry follows the host's own documentation; `docs/hosts.md` says what was driven and what was only read. A token never goes
into a file: the local owner's is found in the data folder, any other is taken from `RINGBACK_TOKEN`.
"""

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from ringback.hosts import jsonc
from ringback.hosts.errors import HostFileError
from ringback.hosts.tables import put_toml, put_yaml

NAME = "ringback"
HOOK_WITHIN_S = 10


class Scope(StrEnum):
    """For whom a host is configured: the person everywhere, or everybody in one folder."""

    USER = "user"
    PROJECT = "project"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where and how.

    Attributes:
        program: the command that starts Ringback.
        options: what it is given besides, such as `--project`.
        home: the person's folder.
        folder: the project's.
    """

    scope: Scope
    program: str
    options: Sequence[str]
    home: Path
    folder: Path

    @property
    def base(self) -> Path:
        return self.home if self.scope is Scope.USER else self.folder

    @property
    def arguments(self) -> list[str]:
        """What follows the program's name to serve MCP."""
        return ["mcp", *self.options]

    def hook(self, dialect: str) -> str:
        """The command line of a hook."""
        return shlex.join([self.program, "inbox", "--drain", "--format", dialect, *self.options])


@dataclass(frozen=True, slots=True)
class Change:
    """A file, and what becomes of its text."""

    path: Path
    edit: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Host:
    """How one host is configured. `hooks` is None where it has none that can tell its model anything."""

    server: Callable[[Target], Change]
    hooks: Callable[[Target], Change] | None = None


def _json(path: Path, *members: str, value: Any) -> Change:
    return Change(path, lambda text: jsonc.put(text, members, value))


def _command(target: Target, **more: Any) -> dict[str, Any]:
    return {"command": target.program, "args": target.arguments, **more}


def _hooks(path: Path, entries: Mapping[str, Mapping[str, Any]], **constant: Any) -> Change:
    """Each event's list gets its entry, in the place of an older one of ours."""

    def edit(text: str) -> str:
        for name, value in constant.items():
            text = jsonc.put(text, [name], value)
        for event, entry in entries.items():
            found = (jsonc.read(text).get("hooks") or {}).get(event, [])
            if not isinstance(found, list):
                raise HostFileError(f"its hooks of {event} are no list")
            if entry not in found:
                others = [each for each in found if not _is_ours(each)]
                text = jsonc.put(text, ["hooks", event], [*others, entry])
        return text

    return Change(path, edit)


def _is_ours(entry: Any) -> bool:
    inner = entry.get("hooks", [entry]) if isinstance(entry, Mapping) else []
    commands = [str(each.get("command", "")) for each in inner if isinstance(each, Mapping)]
    return bool(commands) and all(" inbox --drain --format " in command for command in commands)


def _grouped(command: str, timeout: int = HOOK_WITHIN_S, **more: Any) -> dict[str, Any]:
    return {"hooks": [{"type": "command", **more, "command": command, "timeout": timeout}]}


def _claude_code(target: Target) -> Change:
    place = target.home / ".claude.json" if target.scope is Scope.USER else target.folder / ".mcp.json"
    return _json(place, "mcpServers", NAME, value={"type": "stdio", **_command(target)})


def _claude_code_hooks(target: Target) -> Change:
    entry = _grouped(target.hook("claude-code-hook"))
    return _hooks(target.base / ".claude" / "settings.json", {"UserPromptSubmit": entry, "Stop": entry})


def _codex(target: Target) -> Change:
    value = _command(target, startup_timeout_sec=60)
    return Change(target.base / ".codex" / "config.toml", lambda text: put_toml(text, ["mcp_servers", NAME], value))


def _codex_hooks(target: Target) -> Change:
    entry = _grouped(target.hook("codex-hook"))
    return _hooks(target.base / ".codex" / "hooks.json", {"UserPromptSubmit": entry, "Stop": entry})


def _vscode(target: Target) -> Change:
    value = {"type": "stdio", **_command(target)}
    if target.scope is Scope.PROJECT:
        return _json(target.folder / ".vscode" / "mcp.json", "servers", NAME, value=value)
    place = "Library/Application Support" if sys.platform == "darwin" else ".config"
    return _json(target.home / place / "Code" / "User" / "mcp.json", "servers", NAME, value=value)


def _vscode_hooks(target: Target) -> Change:
    if target.scope is Scope.USER:
        raise HostFileError("VS Code reads hooks from the project: use --scope project")
    entry = {"type": "command", "command": target.hook("vscode-hook"), "timeout": HOOK_WITHIN_S}
    return _hooks(target.folder / ".github" / "hooks" / "ringback.json", {"SessionStart": entry, "Stop": entry})


def _cursor(target: Target) -> Change:
    return _json(target.base / ".cursor" / "mcp.json", "mcpServers", NAME, value=_command(target))


def _cursor_hooks(target: Target) -> Change:
    entry = {"command": target.hook("cursor-hook"), "loop_limit": 3}
    return _hooks(target.base / ".cursor" / "hooks.json", {"stop": entry}, version=1)


def _gemini(target: Target) -> Change:
    place = target.base / ".gemini" / "settings.json"
    return _json(place, "mcpServers", NAME, value=_command(target, timeout=60_000))


def _gemini_hooks(target: Target) -> Change:
    entry = _grouped(target.hook("gemini-hook"), HOOK_WITHIN_S * 1000, name=NAME)
    return _hooks(target.base / ".gemini" / "settings.json", {"BeforeAgent": entry, "AfterAgent": entry})


def _opencode(target: Target) -> Change:
    folder = target.home / ".config" / "opencode" if target.scope is Scope.USER else target.folder
    names = [name for name in ("opencode.json", "opencode.jsonc") if (folder / name).exists()]
    value = {"type": "local", "command": [target.program, *target.arguments], "enabled": True}
    return _json(folder / (names or ["opencode.json"])[0], "mcp", NAME, value=value)


def _goose(target: Target) -> Change:
    if target.scope is Scope.PROJECT:
        raise HostFileError("Goose has one configuration for each person: use --scope user")
    value = {"enabled": True, "type": "stdio", "name": NAME, "description": "Durable background jobs"}
    value |= {"cmd": target.program, "args": target.arguments, "timeout": 300}
    path = target.home / ".config" / "goose" / "config.yaml"
    return Change(path, lambda text: put_yaml(text, "extensions", NAME, value))


HOSTS: Mapping[str, Host] = {
    "claude-code": Host(_claude_code, _claude_code_hooks),
    "codex": Host(_codex, _codex_hooks),
    "vscode": Host(_vscode, _vscode_hooks),
    "cursor": Host(_cursor, _cursor_hooks),
    "gemini": Host(_gemini, _gemini_hooks),
    "opencode": Host(_opencode),
    "goose": Host(_goose),
}
