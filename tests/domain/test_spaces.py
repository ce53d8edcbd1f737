"""Run spaces: how they live, and what a profile may ask for."""

from __future__ import annotations

from typing import Any

import pytest

from ringback.domain.definitions import definition_flaws
from ringback.domain.spaces import FIRST, FOLLOWING, STATUSES, can_follow, space_flaws, space_of

SOUND: list[Any] = [
    "directory",
    "worktree",
    {"type": "directory"},
    {"type": "worktree", "ref": "origin/main~2", "keepOnFailure": True, "link": ["node_modules", "a/b"]},
    {"type": "worktree", "uncommitted": True},
    {"type": "container", "image": "registry.example/python:3.12@sha256:abc", "network": True, "engine": "podman"},
]
WRONG: list[tuple[Any, str]] = [
    ("moon", ""),
    (7, ""),
    ({}, ""),
    ("container", "/image"),
    ({"type": "container", "image": "--privileged"}, "/image"),
    ({"type": "container", "image": "a", "engine": "lxc"}, "/engine"),
    ({"type": "container", "image": "a", "network": "host"}, "/network"),
    ({"type": "container", "image": "a", "ref": "HEAD"}, "/ref"),
    ({"type": "worktree", "image": "a"}, "/image"),
    ({"type": "worktree", "ref": "--orphan"}, "/ref"),
    ({"type": "worktree", "ref": "a..b"}, "/ref"),
    ({"type": "worktree", "ref": "main", "uncommitted": True}, "/uncommitted"),
    ({"type": "worktree", "keepOnFailure": 1}, "/keepOnFailure"),
    ({"type": "worktree", "link": ["../x"]}, "/link"),
    ({"type": "worktree", "link": ["/x"]}, "/link"),
    ({"type": "worktree", "link": [".git"]}, "/link"),
    ({"type": "worktree", "link": "x"}, "/link"),
]


@pytest.mark.parametrize("space", SOUND)
def test_what_may_be_asked_for(space: Any) -> None:
    assert list(space_flaws({"space": space})) == []
    assert space_of({"space": space})["type"] in ("directory", "worktree", "container")


@pytest.mark.parametrize(("space", "member"), WRONG)
def test_what_may_not(space: Any, member: str) -> None:
    definition = {"name": "t", "runtime": "command", "profile": {"command": ["x"], "space": space}}
    assert [flaw.pointer for flaw in definition_flaws(definition)] == [f"/profile/space{member}"]


def test_only_a_command_has_a_space_of_its_own() -> None:
    definition = {"name": "t", "runtime": "function", "profile": {"space": "worktree"}}
    assert [flaw.pointer for flaw in definition_flaws(definition)] == ["/profile/space"]
    assert list(space_flaws({})) == []
    assert space_of({}) == {"type": "directory"}


def test_every_space_comes_to_an_end_and_none_comes_back() -> None:
    assert STATUSES[0] == FIRST
    reached, layer = {FIRST}, {FIRST}
    while layer := {after for before in layer for after in FOLLOWING[before]} - reached:
        reached |= layer
    assert reached == set(STATUSES)
    for status in STATUSES:
        assert can_follow(status, status)
        assert can_follow(status, "terminated") == (status in ("reclaiming", "terminated"))
    assert FOLLOWING["terminated"] == FOLLOWING["failed"] == frozenset()
