"""Sizes: a module has at most 500 lines, a function at most 70, and there is no list of exemptions."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.architecture.checkout import files, short, text, tree

MODULE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70


@pytest.mark.parametrize("path", files(".py"), ids=short)
def test_modules_and_functions_stay_small(path: Path) -> None:
    assert text(path).count("\n") <= MODULE_LINES_MAX
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= FUNCTION_LINES_MAX, f"{node.name} has {length} lines"
