"""Sizes: a module has at most 500 lines, a function at most 70, and there is no list of exemptions."""

from __future__ import annotations

import ast

from tests.architecture.checkout import at, files, nodes, short, text

MODULE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70


def test_modules_stay_small() -> None:
    assert [short(path) for path in files(".py") if text(path).count("\n") > MODULE_LINES_MAX] == []


def test_functions_stay_small() -> None:
    found = [
        at(path, node, f"{node.name} has {length} lines")
        for path in files(".py")
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES_MAX
    ]
    assert found == []
