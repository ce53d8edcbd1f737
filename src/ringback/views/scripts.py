"""Scripts as their keepers see them (snake_case)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ringback.domain.moments import rfc3339
from ringback.services.resources import Resource


def script(tool: Resource) -> dict[str, Any]:
    """A script in a list: everything but its source."""
    definition = tool.definition
    limits = definition["profile"].get("limits") or {}
    body = {
        "name": tool.name,
        "revision_id": tool.revision_id,
        "description": definition.get("description", ""),
        "input_schema": definition.get("inputSchema") or {"type": "object"},
        "timeout_seconds": (definition.get("policy", {}).get("timeouts") or {}).get("attemptS"),
        "memory_bytes": limits.get("memoryBytes"),
        "cpu_seconds": limits.get("cpuSeconds"),
        "pool": definition["profile"].get("pool", "default"),
    }
    return {name: value for name, value in body.items() if value is not None}


def script_in_full(tool: Resource) -> dict[str, Any]:
    """A script with its source."""
    return {**script(tool), "source": tool.definition["profile"]["source"]}


def revision(row: Mapping[str, Any], current: str) -> dict[str, Any]:
    """One revision, and whether it is the current one."""
    return {
        "revision_id": row["revision_id"],
        "created_at": rfc3339(row["created_at"]),
        "current": row["revision_id"] == current,
    }
