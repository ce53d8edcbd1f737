"""The lock: everything that pyproject.toml asks for, with hashes, and no word about where it comes from."""

from __future__ import annotations

import re
import tomllib
from itertools import chain

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.architecture.checkout import ROOT, text

LOCK = text(ROOT / "requirements.lock")
PINNED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^ ;\\]+)", re.MULTILINE)


def _asked_for() -> list[Requirement]:
    project = tomllib.loads(text(ROOT / "pyproject.toml"))
    groups = chain.from_iterable(project["dependency-groups"].values())
    lines = (*project["build-system"]["requires"], *project["project"]["dependencies"], *groups)
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
