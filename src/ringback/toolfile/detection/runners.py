"""Runners of any language: make, just, pre-commit, docker compose. Only names are read, never what they run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ringback.toolfile.detection.folder import Folder
from ringback.toolfile.detection.javascript import USEFUL, other_names
from ringback.toolfile.detection.suggestion import Suggestion, tool_name

_TARGETS: Final = re.compile(r"^([A-Za-z0-9][A-Za-z0-9_.\- ]*?)\s*::?(?![:=])", re.MULTILINE)
_RECIPE: Final = re.compile(r"^@?([a-zA-Z][A-Za-z0-9_-]*)([^:=\n]*(?:=[^:\n]*)?):(?!=)", re.MULTILINE)


def detect_make(folder: Folder) -> Iterator[Suggestion]:
    file = folder.first("GNUmakefile", "makefile", "Makefile")
    if file is None:
        return
    listed = (name for match in _TARGETS.finditer(folder.text(file)) for name in match[1].split())
    targets = [name for name in dict.fromkeys(listed) if "%" not in name]
    useful = [name for name in targets if USEFUL.fullmatch(name)]
    for name in useful:
        yield Suggestion(
            name=tool_name(name),
            kind="make",
            description=f"Run the make target {name!r}.",
            command=("make", name),
            why=f"{file} has a target {name!r}",
            choices=other_names(targets, useful),
        )


def detect_just(folder: Folder) -> Iterator[Suggestion]:
    file = folder.first("justfile", "Justfile", ".justfile", "JUSTFILE")
    if file is None:
        return
    found = {match[1]: match[2].split() for match in _RECIPE.finditer(folder.text(file))}
    recipes = [name for name, parameters in found.items() if _needs_nothing(parameters) and name not in _SETTINGS]
    useful = [name for name in recipes if USEFUL.fullmatch(name)]
    for name in useful:
        yield Suggestion(
            name=tool_name(name),
            kind="just",
            description=f"Run the recipe {name!r}.",
            command=("just", name),
            why=f"{file} has a recipe {name!r}",
            choices=other_names(recipes, useful),
        )


_SETTINGS: Final = frozenset(["set", "export", "alias", "import", "mod"])


def _needs_nothing(parameters: list[str]) -> bool:
    return all("=" in word or word.startswith("*") for word in parameters)


def detect_pre_commit(folder: Folder) -> Iterator[Suggestion]:
    if folder.is_root and folder.has(".pre-commit-config.yaml"):
        yield Suggestion(
            name="pre_commit",
            kind="pre_commit",
            description="Run all pre-commit hooks on all files. Hooks may change files.",
            command=("pre-commit", "run", "--all-files", "--color=never"),
            why="there is a .pre-commit-config.yaml",
            choices=("hooks may change files, so only one run at a time is wise: concurrency = 1",),
            summary="exit",
        )


def detect_compose(folder: Folder) -> Iterator[Suggestion]:
    file = folder.first("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")
    if folder.is_root and file:
        yield Suggestion(
            name="build_images",
            kind="compose",
            description="Build the container images of this repository.",
            command=("docker", "compose", "--progress=plain", "build"),
            why=f"there is a {file}",
            choices=('env_allow = ["DOCKER_HOST"] if the worker talks to another Docker',),
            summary="exit",
        )
