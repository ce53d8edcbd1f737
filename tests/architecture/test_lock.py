"""The lock: everything that pyproject.toml asks for, with hashes, and no word about where it comes from."""

from __future__ import annotations

import re
import sys
import tomllib
from itertools import chain
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.architecture.checkout import ROOT, files, imports, short, text

LOCK = text(ROOT / "requirements.lock")
PINNED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^ ;\\]+)", re.MULTILINE)

UVICORN_USES = {"httptools"}  # without an import of ours
MODULES = {"a2a_sdk": "a2a", "protobuf": "google"}  # where a package is imported by another name


def _asked_for() -> list[Requirement]:
    project = tomllib.loads(text(ROOT / "pyproject.toml"))
    groups = chain.from_iterable(project["dependency-groups"].values())
    extras = chain.from_iterable(project["project"]["optional-dependencies"].values())
    lines = (*project["build-system"]["requires"], *project["project"]["dependencies"], *extras, *groups)
    return [Requirement(line) for line in lines]


def test_names_no_address() -> None:
    assert "://" not in LOCK
    assert not re.search(r"^\s*(-i|-f|--index-url|--extra-index-url|--find-links|--trusted-host)\b", LOCK, re.MULTILINE)
    assert " @ " not in LOCK


def test_every_package_is_pinned_with_hashes() -> None:
    entries = [entry for entry in re.split(r"\n(?=\S)", LOCK) if not entry.startswith("#")]
    assert entries
    assert not [entry for entry in entries if not PINNED.match(entry) or "--hash=sha256:" not in entry]


@pytest.mark.parametrize("requirement", _asked_for(), ids=str)
def test_holds_what_the_project_asks_for(requirement: Requirement) -> None:
    pinned = {canonicalize_name(name): version for name, version in PINNED.findall(LOCK)}
    version = pinned.get(canonicalize_name(requirement.name))
    assert version is not None, "run: make lock"
    assert requirement.specifier.contains(version, prereleases=True), "run: make lock"


def _modules(requirements: list[str]) -> set[str]:
    names = (canonicalize_name(Requirement(line).name).replace("-", "_") for line in requirements)
    return {MODULES.get(name, name) for name in names}


def _shipped(project: dict[str, Any]) -> list[str]:
    """What `src` may import: the dependencies, and those of the extras."""
    extras: list[str] = list(chain.from_iterable(project["optional-dependencies"].values()))
    return [*project["dependencies"], *extras]


def test_what_is_imported_is_asked_for_and_the_reverse() -> None:
    project = tomllib.loads(text(ROOT / "pyproject.toml"))
    asked_for = _modules(_shipped(project["project"]))
    imported = {name for path in files(".py", "src") for name in imports(path)} - sys.stdlib_module_names - {"ringback"}
    assert imported - asked_for == set()
    assert asked_for - imported - UVICORN_USES == set()


def test_what_tests_import_is_asked_for() -> None:
    project = tomllib.loads(text(ROOT / "pyproject.toml"))
    asked_for = _modules([*_shipped(project["project"]), *project["dependency-groups"]["dev"]])
    asked_for |= {"ringback", "tests", "scripts", "bench", "examples", "_pytest", "importlinter"}
    imported = {(name, short(path)) for path in files(".py", "tests") for name in imports(path)}
    assert [found for found in sorted(imported) if found[0] not in asked_for | sys.stdlib_module_names] == []
