"""Files as a whole: nothing in them is true on one machine only."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.architecture.checkout import ROOT, TEXTS, files, short

# The bracketed letter keeps these patterns from finding themselves.
REGISTRIES = re.compile(r"py[p]i\.(org|io)|python[h]osted\.|npm[j]s\.|yarn[p]kg\.|proxy\.go[l]ang\.|crates\.[i]o")
MACHINES = re.compile(r"(?:^|[^A-Za-z0-9_.~-])/(?:[w]ork|[f]arm|[r]oot|[h]ome/[a-z0-9_-]+|[U]sers/[A-Za-z0-9_-]+)/")
READABLE = tuple(path for path in files() if path.suffix in TEXTS)


@cache
def _own_registry() -> str | None:
    """The host that this machine's pip installs from, when it was told one."""
    command = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return urlsplit(found.stdout.strip()).hostname if found.returncode == 0 else None


@pytest.mark.parametrize("path", READABLE, ids=short)
def test_names_no_registry_and_no_path_of_a_machine(path: Path) -> None:
    content = path.read_text(encoding="utf-8")
    assert not REGISTRIES.search(content)
    assert not MACHINES.search(content)
    if host := _own_registry():
        assert host not in content


@pytest.mark.parametrize("path", READABLE, ids=short)
def test_ends_with_one_newline_and_has_no_trailing_blanks(path: Path) -> None:
    content = path.read_text(encoding="utf-8")
    if content and "fixtures" not in path.parts:
        assert content.endswith("\n")
        assert "\r" not in content
        assert not re.search(r"[ \t]+$", content, re.MULTILINE)


def test_the_checkout_is_whole() -> None:
    wanted = (
        "README.md",
        "README.zh-CN.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "LICENSE",
        ".ci/run",
        "docs/glossary.md",
    )
    assert not [name for name in wanted if not (ROOT / name).is_file()]
