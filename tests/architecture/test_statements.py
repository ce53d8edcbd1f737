"""SQL: one statement a file, each explained and used; no SQL hides in the strings of other modules."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.architecture.checkout import PACKAGE, files, short, text, tree

STATEMENTS = tuple(path for path in files(".sql", "src/ringback/store/sql") if "migrations" not in path.parts)
STORE = files(".py", "src/ringback/store")
OUTSIDE = tuple(path for path in files(".py", "src") if path not in STORE)
SQL = re.compile(
    r"\s*(SELECT\s.+\sFROM\s|INSERT\s+(OR\s+\w+\s+)?INTO\s|UPDATE\s+\w+\s+SET\s|DELETE\s+FROM\s|"
    r"(CREATE|ALTER|DROP)\s+(TABLE|INDEX|TRIGGER|VIEW)\s|PRAGMA\s|WITH\s+\w+\s+AS\s)",
    re.DOTALL,
)


@pytest.mark.parametrize("path", STATEMENTS, ids=short)
def test_a_statement_says_what_it_is_for(path: Path) -> None:
    assert text(path).lstrip().startswith("--"), "the first line is a comment"


@pytest.mark.parametrize("path", STATEMENTS, ids=short)
def test_a_statement_is_used(path: Path) -> None:
    name = re.compile(rf"\b{re.escape(path.stem)}\b")
    assert any(name.search(text(module)) for module in STORE), f"nothing in {PACKAGE.name}.store names it"


@pytest.mark.parametrize("path", OUTSIDE, ids=short)
def test_sql_lives_in_the_store(path: Path) -> None:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert not SQL.match(node.value), f"line {node.lineno}"
