"""MCP servers to host: the official ones from the npm registry, at pinned versions, and small ones that behave badly."""

import shutil
import sys
from pathlib import Path
from typing import Any

from tests.mcp.clients import environment
from tests.real.cache import carry_out, kept
from tests.real.packages import node_folder

PINNED = Path(__file__).parent / "pinned"
NASTY = Path(__file__).parent / "nasty_server.py"
TINY = Path(__file__).parent / "tiny_server.sh"


def everything() -> dict[str, Any]:
    """The official server that has everything."""
    return {
        "command": [str(node_folder() / "node"), str(_modules() / "server-everything" / "dist" / "index.js"), "stdio"]
    }


def filesystem(*folders: Path) -> dict[str, Any]:
    """The official server of files."""
    program = [str(node_folder() / "node"), str(_modules() / "server-filesystem" / "dist" / "index.js")]
    return {"command": [*program, *map(str, folders)]}


def nasty(*words: str, **members: Any) -> dict[str, Any]:
    """A server that does what no server should; see its file."""
    return {"command": [sys.executable, "-I", str(NASTY), *words], **members}


def tiny(**members: Any) -> dict[str, Any]:
    """A server of a megabyte, for many of them at once."""
    return {"command": ["/bin/sh", str(TINY)], **members}


def _modules() -> Path:
    """Their packages, exactly those of the lock file; what can't be fetched fails the test."""

    def install(folder: Path) -> None:
        shutil.copytree(PINNED, folder, dirs_exist_ok=True)
        npm = ("npm", "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        carry_out(npm, folder, {"PATH": environment()["PATH"]})

    texts = [(PINNED / "package-lock.json").read_text(encoding="utf-8")]
    return kept("mcp-servers", texts, install) / "node_modules" / "@modelcontextprotocol"
