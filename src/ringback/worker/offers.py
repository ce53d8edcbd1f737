"""What a worker says that it can do: the lanes from which it takes work, and its capabilities.

A lane is `POOL/NEED`. Commands need `command`, scripts `script`, calls of MCP servers `mcp`, job APIs of others `http`,
agents `agent`; a function needs `function:NAME`, so a worker without that very function never gets its runs (O77). The
definitions come from the application in a child interpreter; nothing of it is imported.
"""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

COMMAND_NEED: Final = "command"
SCRIPT_NEED: Final = "script"
MCP_NEED: Final = "mcp"
HTTP_NEED: Final = "http"
AGENT_NEED: Final = "agent"
_NATIVE: Final = (
    "input.receive",
    "output.publish",
    "tool.call",
    "tracing",
    "config.read",
    "secrets.read",
    "checkpoint.save",
    "checkpoint.load",
    "interaction.request",
    "kv.read",
    "kv.write",
)
_SPACES: Final[Mapping[str, tuple[str, ...]]] = {"worktree": ("git",), "container": ("docker", "podman")}


def offers(pools: Iterable[str], definitions: Sequence[Mapping[str, Any]]) -> list[str]:
    """The lanes, sorted: every pool with `command`, `script`, `mcp`, `http`, `agent` and each function."""
    needs = [COMMAND_NEED, SCRIPT_NEED, MCP_NEED, HTTP_NEED, AGENT_NEED]
    needs += [f"function:{definition['name']}" for definition in definitions]
    return sorted({f"{pool}/{need}" for pool in pools for need in needs})


def unserved(pools: Iterable[str], definitions: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The functions whose runs go to a pool that this worker doesn't serve, each with that pool."""
    homes = {str(each["name"]): str(each.get("profile", {}).get("pool", "default")) for each in definitions}
    served = set(pools)
    return {name: pool for name, pool in homes.items() if pool not in served}


def capabilities() -> list[dict[str, str]]:
    """The capability descriptors of this worker."""
    native = [{"surface": "core", "name": name, "supportLevel": "native"} for name in _NATIVE]
    return [*native, _space("directory", is_there=True), *_spaces()]


def _spaces() -> list[dict[str, str]]:
    """Spaces that take a program of the machine; whether it works is seen when it is used."""
    return [_space(name, is_there=any(map(shutil.which, programs))) for name, programs in _SPACES.items()]


def _space(name: str, *, is_there: bool) -> dict[str, str]:
    level = "native" if is_there else "unsupported"
    return {"surface": "platform", "name": f"space.{name}", "supportLevel": level}
