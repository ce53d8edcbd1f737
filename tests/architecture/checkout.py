"""The checkout as the rules see it: which files there are, which of them are ours to judge, and their syntax trees.

Files are found by walking, not by asking git, so the rules also hold for a file that is not committed yet and in an
unpacked archive. Skipped are the folders that `.gitignore` names.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "src" / "ringback"
TEXTS = frozenset(
    {".py", ".md", ".toml", ".sql", ".json", ".lock", ".cfg", ".txt", ".yml", ".yaml", ".html", ".js", ""}
)


@cache
def _skipped() -> frozenset[str]:
    lines = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    return frozenset({".git", *(line.strip("/") for line in lines)})


def _walk() -> Iterator[Path]:
    for folder, names, files in os.walk(ROOT):
        names[:] = sorted(name for name in names if name not in _skipped() and not name.endswith(".egg-info"))
        yield from (Path(folder, name) for name in sorted(files) if name not in _skipped())


@cache
def files(suffix: str | None = None, under: str = "") -> tuple[Path, ...]:
    """The project's files, sorted; `under` is a folder of the checkout."""
    top = ROOT / under
    return tuple(path for path in _walk() if path.is_relative_to(top) and suffix in {None, path.suffix})


@cache
def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(text(path), str(path))


def short(path: Path) -> str:
    """The path as a test id and in messages."""
    return str(path.relative_to(ROOT))


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """Every call with the dotted name of what is called, where it has one: `time.sleep`, `open`."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            yield ast.unparse(node.func), node


def imports(path: Path) -> set[str]:
    """The top-level names of the modules that the file imports."""
    found: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found
