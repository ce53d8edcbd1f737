"""The checkout as the rules see it: which files there are, which of them are ours to judge, and their syntax trees.

Files are found by walking, not by asking git, so the rules also hold for a file that is not committed yet and in an
unpacked archive. Skipped is what `.gitignore` names. A rule collects all its offences and is one test.
"""

from __future__ import annotations

import ast
import fnmatch
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "src" / "ringback"


@cache
def _skipped() -> re.Pattern[str]:
    names = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    return re.compile("|".join(fnmatch.translate(name.strip("/")) for name in (".git", *names)))


@cache
def _all_files() -> tuple[Path, ...]:
    found: list[Path] = []
    for folder, names, files_here in os.walk(ROOT):
        names[:] = [name for name in names if not _skipped().match(name)]
        found += [Path(folder, name) for name in files_here if not _skipped().match(name)]
    return tuple(sorted(found))


@cache
def files(suffix: str | None = None, under: str = "") -> tuple[Path, ...]:
    """The project's files, sorted; `under` is a folder of the checkout."""
    top = ROOT / under
    return tuple(path for path in _all_files() if path.is_relative_to(top) and suffix in {None, path.suffix})


@cache
def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(text(path), str(path))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Every node of the file's syntax tree."""
    return tuple(ast.walk(tree(path)))


def short(path: Path) -> str:
    """The path as messages show it."""
    return str(path.relative_to(ROOT))


def at(path: Path, node: ast.AST, what: str = "") -> str:
    """Where an offence is, and what it is."""
    return f"{short(path)}:{getattr(node, 'lineno', 1)} {what}".rstrip()


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """Every call with the dotted name of what is called, where it has one: `time.sleep`, `open`."""
    for node in nodes(path):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            yield ast.unparse(node.func), node


def imports(path: Path) -> set[str]:
    """The top-level names of the modules that the file imports."""
    found: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found
