"""Tests wait for the thing itself: a pause of a fixed length is either too short or too long.

Allowed are `asyncio.sleep(0)`, which only lets others run, and a step of at most 50 ms inside a loop that looks for
the thing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.checkout import files, short, tree

STEP_MAX_S = 0.05


def _sleeps(node: ast.AST, in_loop: bool) -> Iterator[tuple[int, float, bool]]:
    """Line, seconds and whether it is inside a loop, of every sleep with a number written down."""
    for child in ast.iter_child_nodes(node):
        inside = in_loop or isinstance(child, ast.While | ast.For | ast.AsyncFor)
        if isinstance(child, ast.Call) and ast.unparse(child.func).endswith("sleep") and child.args:
            length = child.args[0]
            if isinstance(length, ast.Constant) and isinstance(length.value, int | float):
                yield child.lineno, float(length.value), inside
        yield from _sleeps(child, inside)


@pytest.mark.parametrize("path", files(".py", "tests"), ids=short)
def test_no_test_sleeps(path: Path) -> None:
    for line, seconds, in_loop in _sleeps(tree(path), in_loop=False):
        assert seconds == 0 or (in_loop and seconds <= STEP_MAX_S), f"line {line} sleeps for {seconds} s"


@pytest.mark.parametrize("path", files(".py", "tests"), ids=short)
def test_a_skipped_test_says_why(path: Path) -> None:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {
            "pytest.skip",
            "pytest.mark.skip",
            "pytest.mark.skipif",
        }:
            reasons = [keyword for keyword in node.keywords if keyword.arg in {"reason", "msg"}]
            assert reasons or (ast.unparse(node.func) == "pytest.skip" and node.args), f"line {node.lineno}"
