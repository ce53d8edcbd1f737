"""Files as a whole: nothing in them is true on one machine only."""

from __future__ import annotations

import re
import subprocess
import sys
from urllib.parse import urlsplit

from tests.architecture.checkout import ROOT, files, short, text

# The bracketed letters keep these patterns from finding themselves. `/home/user` is nobody's: a stand-in in examples.
REGISTRIES = re.compile(r"py[p]i\.(org|io)|python[h]osted\.|npm[j]s\.|yarn[p]kg\.|proxy\.go[l]ang\.|static\.crat[e]s")
MACHINES = re.compile(
    r"(?:^|[^\w.~-])/(?:[w]ork|[f]arm|[r]oot|[h]ome/(?!user/)[a-z0-9_-]+|[U]sers/[\w-]+)/", re.MULTILINE
)
BINARY = {".png", ".jpg", ".gif", ".ico", ".woff2", ".gz", ".zip", ".db", ".bin"}
READABLE = tuple(path for path in files() if path.suffix not in BINARY and "fixtures" not in path.parts)
WANTED = ("README.md", "README.zh-CN.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", ".ci/run", "docs/glossary.md")


def test_no_registry_is_named() -> None:
    assert [short(path) for path in READABLE if REGISTRIES.search(text(path))] == []


def test_the_registry_of_this_machine_is_not_named() -> None:
    command = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    host = urlsplit(asked.stdout.strip()).hostname if asked.returncode == 0 else None
    assert [short(path) for path in READABLE if host is not None and host in text(path)] == []


def test_no_path_of_a_machine_is_named() -> None:
    found = [(short(path), match[0]) for path in READABLE for match in MACHINES.finditer(text(path))]
    assert found == []


def test_texts_end_with_a_newline_and_lines_without_blanks() -> None:
    blanks = re.compile(r"[ \t\r]+$", re.MULTILINE)
    found = [short(path) for path in READABLE if blanks.search(text(path)) or text(path)[-1:] not in {"", "\n"}]
    assert found == []


def test_the_checkout_is_whole() -> None:
    assert [name for name in WANTED if not (ROOT / name).is_file()] == []
