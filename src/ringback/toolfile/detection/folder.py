"""Looking into a folder without trust: small files only, no surprises from odd content, never outside the repository."""

from __future__ import annotations

import configparser
import json
import os
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

DEPTH_MAX: Final = 3
_FOLDERS_MAX: Final = 2_000
_BYTES_MAX: Final = 1024 * 1024
# fmt: off
_SKIPPED: Final = frozenset([
    "__pycache__", "bower_components", "build", "coverage", "dist", "env", "node_modules", "obj", "out", "site-packages",
    "target", "third_party", "vendor", "venv",
])
# fmt: on
_COMMENT: Final = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)


@dataclass(frozen=True)
class Folder:
    """One folder of a repository."""

    root: Path
    relative: str = "."

    @cached_property
    def path(self) -> Path:
        return self.root / self.relative

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of everything in the folder; empty if it cannot be read."""
        try:
            return frozenset(os.listdir(self.path))  # noqa: PTH208 (names are wanted, not paths)
        except OSError:
            return frozenset()

    @property
    def is_root(self) -> bool:
        return self.relative == "."

    def has(self, *names: str) -> bool:
        return any(name in self.names for name in names)

    def first(self, *names: str) -> str | None:
        return next((name for name in names if name in self.names), None)

    def ending(self, *endings: str) -> list[str]:
        return sorted(name for name in self.names if name.endswith(endings))

    def text(self, name: str) -> str:
        """The text of a file; "" if it is absent, huge, no regular file, or leads out of the repository."""
        file = self.path / name
        try:
            if not file.resolve().is_relative_to(self.root.resolve()) or not file.is_file():
                return ""
            with file.open("rb") as stream:
                content = stream.read(_BYTES_MAX + 1)
        except (OSError, RuntimeError):  # RuntimeError: a loop of links
            return ""
        return content.decode("utf-8", "replace").removeprefix("\ufeff") if len(content) <= _BYTES_MAX else ""

    def toml(self, name: str) -> dict[str, Any]:
        try:
            return tomllib.loads(self.text(name))
        except (tomllib.TOMLDecodeError, RecursionError):
            return {}

    def json(self, name: str) -> dict[str, Any]:
        """A JSON object, comments allowed."""
        try:
            value = json.loads(_COMMENT.sub(lambda match: match[1] or "", self.text(name)))
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    def sections(self, name: str) -> frozenset[str]:
        """The sections of an ini file."""
        parser = configparser.RawConfigParser(strict=False)
        try:
            parser.read_string(self.text(name))
        except configparser.Error:
            return frozenset()
        return frozenset(parser.sections())

    def parents(self) -> Iterator[Folder]:
        """The folders above, up to the repository, nearest first."""
        parts = [] if self.is_root else self.relative.split("/")
        for length in range(len(parts) - 1, -1, -1):
            yield Folder(self.root, "/".join(parts[:length]) or ".")

    def inside(self, name: str) -> Folder:
        return Folder(self.root, name if self.is_root else f"{self.relative}/{name}")


def folders(root: Path) -> Iterator[Folder]:
    """The repository and its folders down to `DEPTH_MAX`, level by level; links and products of builds are left out."""
    level = [Folder(root)]
    seen = 0
    for _ in range(DEPTH_MAX + 1):
        yield from level
        seen += len(level)
        if seen > _FOLDERS_MAX:
            return
        level = [folder.inside(name) for folder in level for name in sorted(folder.names) if _is_entered(folder, name)]


def _is_entered(folder: Folder, name: str) -> bool:
    path = folder.path / name
    return not name.startswith(".") and name not in _SKIPPED and path.is_dir() and not path.is_symlink()


def table(data: object, *keys: str) -> dict[str, Any]:
    """The table at the end of the keys; empty if anything on the way is not a table."""
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}
