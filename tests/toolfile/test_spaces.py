"""`space`: one word, or a table."""

from __future__ import annotations

from typing import Any

import pytest

from tests.toolfile.builders import problems, tool


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ('space = "directory"', None),
        ('space = { type = "directory" }', None),
        ('space = "worktree"', {"type": "worktree"}),
        (
            'space = { type = "worktree", ref = "main", keep_on_failure = true, link = [".venv"] }',
            {"type": "worktree", "ref": "main", "keepOnFailure": True, "link": [".venv"]},
        ),
        ('space = { type = "worktree", uncommitted = true }', {"type": "worktree", "uncommitted": True}),
        (
            'space = { type = "container", image = "alpine:3", network = true, engine = "podman" }',
            {"type": "container", "image": "alpine:3", "network": True, "engine": "podman"},
        ),
    ],
)
def test_what_is_read(text: str, expected: dict[str, Any] | None) -> None:
    assert tool(text)["profile"].get("space") == expected


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('space = "moon"', 'space: one of "directory", "worktree", "container"'),
        ("space = 3", "space: a word"),
        ('space = { type = "moon" }', 'type: one of "directory", "worktree", "container"'),
        ('space = "container"', "image: must name an image"),
        ('space = { type = "worktree", image = "a" }', "image: unknown key"),
        ('space = { type = "worktree", reff = "a" }', "reff: unknown key"),
        ('space = { type = "worktree", keep_on_failure = 1 }', "keep_on_failure: must be true or false"),
        ('space = { type = "worktree", link = ["../x"] }', "link: must be a list"),
    ],
)
def test_what_is_told(text: str, told: str) -> None:
    lines = [f"{each.key}: {each.rule}" for each in problems(f'[tools.t]\ncommand = ["x"]\n{text}')]
    assert any(told in line for line in lines), lines
