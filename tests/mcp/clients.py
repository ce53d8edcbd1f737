"""MCP clients of others, from the npm registry: the conformance suite and the Inspector.

Versions and digests stand in `pinned/`. `npm install` keeps to that lock file; `npm ci` would refuse it, because it lacks an
optional package for another system.
"""

import os
import shutil
from pathlib import Path

from tests.real.cache import carry_out, kept
from tests.real.packages import node_folder

PINNED = Path(__file__).parent / "pinned"


def environment() -> dict[str, str]:
    """The environment in which they run: a Node that is new enough comes first."""
    return {**os.environ, "PATH": os.pathsep.join([str(node_folder()), os.environ["PATH"]])}


def conformance() -> list[str]:
    """The command of the conformance suite."""
    return [*_node(), str(_modules() / "@modelcontextprotocol" / "conformance" / "dist" / "index.js")]


def inspector() -> list[str]:
    """The command of the Inspector."""
    return [*_node(), str(_modules() / ".bin" / "mcp-inspector")]


def _node() -> list[str]:
    return [str(node_folder() / "node")]


def _modules() -> Path:
    """Their packages, exactly those of the lock file; what can't be fetched fails the test."""

    def install(folder: Path) -> None:
        shutil.copytree(PINNED, folder, dirs_exist_ok=True)
        npm = ("npm", "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        carry_out(npm, folder, {"PATH": environment()["PATH"]})

    return kept("mcp-clients", [(PINNED / "package-lock.json").read_text(encoding="utf-8")], install) / "node_modules"
