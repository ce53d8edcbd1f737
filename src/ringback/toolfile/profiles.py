"""From a tool's table to its execution profile: the command, where and with which environment it runs, and its limits."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any, Final

from ringback.domain.commands import check_template
from ringback.toolfile.inputs import Inputs
from ringback.toolfile.spaces import read_space
from ringback.toolfile.tables import Table

KEYS: Final = ("pool", "command", "shell", "cwd", "env", "env_allow", "secrets", "limits", "space")
# What a command needs to run at all; everything else of the worker's environment stays away from it.
ENV_ALLOWED: Final = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR")
OUTPUT_BYTES: Final = 16 * 1024 * 1024
_LIMITS: Final = ("output", "memory", "cpu", "open_files", "processes", "file")
_POOL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_VARIABLE: Final = re.compile(r"(?!RINGBACK_(?:ATTEMPT|WORKER)$)[A-Za-z_][A-Za-z0-9_]{0,127}")
_VARIABLES_RULE: Final = "a list of names of environment variables of the worker"


def read_profile(table: Table, inputs: Inputs, folder: Path) -> dict[str, Any]:
    """The profile of a tool; relative folders begin at `folder`, the home of the file."""
    env = _env(table)
    secrets = table.words("secrets", _VARIABLE, _VARIABLES_RULE)
    for name in sorted(env.keys() & set(secrets)):
        table.note("secrets", f"{name} has a value in env already; a secret is only named, never written down")
    allowed = table.words("env_allow", _VARIABLE, _VARIABLES_RULE)
    profile: dict[str, Any] = {
        "pool": table.matching("pool", "default", _POOL, "a name of letters, digits, and . _ -, at most 64"),
        "command": _command(table),
        "shell": table.flag("shell"),
        "cwd": str(folder / table.text("cwd", ".", length_max=4096)),
        "env": env,
        "envAllow": list(dict.fromkeys([*ENV_ALLOWED, *allowed])),
        "secrets": secrets,
        "limits": _limits(table.inner("limits")),
    }
    if (space := read_space(table)) is not None:
        profile["space"] = space
    if inputs.defaults:
        profile["defaults"] = inputs.defaults
    if inputs.allow_options:
        profile["allowOptions"] = inputs.allow_options
    return profile


def read_http_profile(table: Table, inputs: Inputs) -> dict[str, Any]:
    """The profile of a tool that is no command, without its `http`; what only commands have is refused."""
    for key in ("command", "shell", "cwd", "env", "env_allow", "limits", "summary"):
        if key in table.data:
            table.note(key, "an http tool has none: nothing runs on the worker")
    profile: dict[str, Any] = {
        "pool": table.matching("pool", "default", _POOL, "a name of letters, digits, and . _ -, at most 64"),
        "secrets": table.words("secrets", _VARIABLE, _VARIABLES_RULE),
    }
    if inputs.defaults:
        profile["defaults"] = inputs.defaults
    return profile


def read_mcp_profile(table: Table, inputs: Inputs) -> dict[str, Any]:
    """The profile of a tool of an MCP server, without the server; what stands in its own table is refused here."""
    for key in ("command", "shell", "cwd", "env", "env_allow", "secrets", "limits", "summary"):
        if key in table.data:
            table.note(key, "a tool of an MCP server has none; what its server needs stands in `mcp`")
    pool = table.matching("pool", "default", _POOL, "a name of letters, digits, and . _ -, at most 64")
    return {"pool": pool, "defaults": inputs.defaults} if inputs.defaults else {"pool": pool}


def check_command(table: Table, profile: dict[str, Any], inputs: Inputs) -> None:
    """Note every rule that the command template breaks. Only of use if `command` and `input` have the right shape."""
    for problem in check_template(profile, inputs.schema):
        _, part, *rest = problem.pointer.split("/")
        if part == "properties":
            table.inner("input").note(rest[0], problem.rule)
        else:
            place = "".join(f"[{index}]" for index in rest if index.isdigit())
            table.note("command", f"{'element ' + place + ': ' if place else ''}{problem.rule}")


def _command(table: Table) -> Any:
    """The command as it stands, given a shape that the template check understands."""
    value = table.data.get("command")
    if value is None:
        table.note("", 'needs a `command`, for example command = ["pytest", "-q"]')
    elif isinstance(value, str):
        if table.data.get("shell") is True:
            return {"shell": value}
        table.note("command", "a list of strings; a text is run by a shell, which needs shell = true")
    elif not isinstance(value, list):
        table.note("command", "a list of strings")
    elif table.data.get("shell") is True:
        table.note("command", "with shell = true a command is one text")
    return value


def _env(table: Table) -> dict[str, str]:
    inner = table.inner("env", "a table of texts")
    env: dict[str, str] = {}
    for name in inner.data:
        if not _VARIABLE.fullmatch(name):
            inner.note(name, "not a name for an environment variable of a tool")
        else:
            env[name] = inner.text(name, length_max=32_768)
    return env


def _limits(table: Table) -> dict[str, Any]:
    table.refuse_unknown(_LIMITS)
    limits: dict[str, Any] = {"outputBytes": table.size("output") or OUTPUT_BYTES}
    counts = {"open_files": "openFiles", "processes": "processes"}
    cpu_s = table.seconds("cpu", low=1)
    optional = {
        "memoryBytes": table.size("memory"),
        "fileBytes": table.size("file"),
        "cpuSeconds": None if cpu_s is None else math.ceil(cpu_s),  # the system counts whole seconds
        **{public: table.whole(key, 1, low=1, high=2**20) for key, public in counts.items() if key in table.data},
    }
    return limits | {key: value for key, value in optional.items() if value is not None}
