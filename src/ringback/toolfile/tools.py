"""From one `[tools.NAME]` table to a tool's definition: the JSON that a server stores as a revision."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from ringback.domain.policy import POLICY_DEFAULTS
from ringback.summaries import parse_spec
from ringback.toolfile import http, mcp, policies, profiles
from ringback.toolfile.inputs import Inputs, read_inputs
from ringback.toolfile.tables import Table

NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
NAME_RULE: Final = "a tool's name is lower-case letters, digits and _, at most 64, and begins with a letter"
MODES: Final = ("job", "task", "inline")
KEYS: Final = (
    "description",
    "input",
    "summary",
    "mode",
    "requires_idempotency_key",
    "http",
    "mcp",
    *profiles.KEYS,
    *policies.KEYS,
)
# Tools that every MCP client of Ringback sees; a tool of a project cannot have such a name there.
BUILT_IN: Final = frozenset(
    [
        "answer_interaction",
        "get_job_result",
        "get_job_status",
        "list_jobs",
        "list_projects",
        "read_async_run",
        "stop_job",
        "test_run_script",
        "wait_for_jobs",
    ]
)
_DESCRIPTION_MAX: Final = 4_000


def read_tool(table: Table, folder: Path) -> dict[str, Any]:
    """The definition of one tool; its problems are noted on the table."""
    name = table.path[-1]
    found = len(table.findings.problems)
    table.refuse_unknown(KEYS)
    if not NAME.fullmatch(name):
        table.note("", NAME_RULE)
    inputs = read_inputs(table.inner("input", "a table of inputs"))
    runtime = _runtime(table)
    profile = _profile(table, inputs, folder, runtime)
    if runtime != "command" and not table.findings.problems[found:]:
        more = http.read_http(table, inputs, profile["secrets"]) if runtime == "http" else mcp.read_mcp(table, folder)
        profile |= more
    definition = {
        "name": name,
        "description": _description(table, profile),
        "runtime": runtime,
        "inputSchema": inputs.schema,
        "profile": profile,
        "policy": policies.read_policy(table, name, POLICY_DEFAULTS.get(runtime, {})),
        "summary": _summary(table),
        "mode": table.choice("mode", MODES),
        "requiresIdempotencyKey": table.flag("requires_idempotency_key"),
    }
    if runtime != "command":
        return definition
    is_legible = not any(problem.key in ("command", "") for problem in table.findings.problems[found:])
    if is_legible and not any(".input" in problem.table for problem in table.findings.problems[found:]):
        profiles.check_command(table, profile, inputs)
    return definition


def _runtime(table: Table) -> str:
    """What carries the tool out: the table says so by what it holds."""
    named = [each for each in ("http", "mcp") if each in table.data]
    if len(named) > 1:
        table.note("mcp", "a tool calls an API or an MCP server, not both")
    return named[0] if named else "command"


def _profile(table: Table, inputs: Inputs, folder: Path, runtime: str) -> dict[str, Any]:
    match runtime:
        case "http":
            return profiles.read_http_profile(table, inputs)
        case "mcp":
            return profiles.read_mcp_profile(table, inputs)
        case _:
            return profiles.read_profile(table, inputs, folder)


def public_name(definition: dict[str, Any]) -> str:
    """The name under which an MCP client sees the tool."""
    return f"start_{definition['name']}" if definition["mode"] == "job" else str(definition["name"])


def refuse_collisions(tables: Iterable[tuple[Table, dict[str, Any]]]) -> None:
    """Note every tool whose public name is taken by Ringback or by a tool before it."""
    owners = dict.fromkeys(BUILT_IN, "Ringback itself")
    for table, definition in tables:
        name = public_name(definition)
        if name in owners:
            table.note("", f"MCP clients would see it as {name!r}, which is a tool of {owners[name]}")
        owners[name] = f"[tools.{definition['name']}]"


def _description(table: Table, profile: dict[str, Any]) -> str:
    text = table.text("description", length_max=_DESCRIPTION_MAX).strip()
    if not text and isinstance(table.data.get("description"), str):
        table.note("description", "empty: it tells a model when to call the tool; leave the key out for a plain one")
    if text or "command" not in profile:
        called = table.inner("http").data.get("url") or table.inner("mcp").data.get("tool") or "an MCP server"
        return text or f"Calls {str(called)[:200]}."
    return f"Runs `{_shown(profile['command'])}`."


def _shown(command: object) -> str:
    if isinstance(command, dict):
        return str(command.get("shell", "")).strip().partition("\n")[0][:200]
    parts = [part for part in command if isinstance(part, str)] if isinstance(command, list) else []
    return " ".join(parts)[:200]


def _summary(table: Table) -> str | dict[str, str]:
    try:
        return parse_spec(table.data.get("summary")).as_json()
    except ValueError as error:
        table.note("summary", str(error).removeprefix("summary "))
        return "auto"
