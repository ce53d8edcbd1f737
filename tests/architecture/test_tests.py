"""Tests wait for the thing itself: a pause of a fixed length is either too short or too long.

Allowed are `asyncio.sleep(0)`, which only lets others run, and a step of at most 50 ms inside a loop that looks for
the thing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.architecture.checkout import at, calls, files, short, tree

STEP_MAX_S = 0.05
TESTS = files(".py", "tests")
SKIPS = {"pytest.skip", "pytest.mark.skip", "pytest.mark.skipif"}


def _sleeps(node: ast.AST, in_loop: bool) -> Iterator[tuple[ast.AST, float, bool]]:
    """Place, seconds and whether it is inside a loop, of every sleep with a number written down."""
    for child in ast.iter_child_nodes(node):
        inside = in_loop or isinstance(child, ast.While | ast.For | ast.AsyncFor)
        if isinstance(child, ast.Call) and ast.unparse(child.func) in {
            "sleep",
            "time.sleep",
            "asyncio.sleep",
            "anyio.sleep",
        }:
            length = child.args[0] if child.args else None
            if isinstance(length, ast.Constant) and isinstance(length.value, int | float):
                yield child, float(length.value), inside
        yield from _sleeps(child, inside)


def _is_fixed_wait(seconds: float, in_loop: bool) -> bool:
    return seconds > 0 and not (in_loop and seconds <= STEP_MAX_S)


def test_no_test_sleeps() -> None:
    found = [
        at(path, node, f"sleeps for {seconds} s")
        for path in TESTS
        for node, seconds, in_loop in _sleeps(tree(path), in_loop=False)
        if _is_fixed_wait(seconds, in_loop)
    ]
    assert found == []


def _has_reason(call: ast.Call, name: str) -> bool:
    return any(keyword.arg == "reason" for keyword in call.keywords) or (name == "pytest.skip" and bool(call.args))


def test_a_skipped_test_says_why() -> None:
    found = [
        at(path, call) for path in TESTS for name, call in calls(path) if name in SKIPS and not _has_reason(call, name)
    ]
    assert found == []


def test_test_modules_have_names_of_their_own() -> None:
    folders_without = {path.parent for path in TESTS if path.name.startswith("test_")} - {
        path.parent for path in TESTS if path.name == "__init__.py"
    }
    assert [short(folder) for folder in sorted(folders_without)] == []
