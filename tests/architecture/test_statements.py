"""SQL: one statement a file, each explained and used; no SQL hides in the strings of other modules."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.architecture.checkout import at, files, nodes, short, text

STATEMENTS = files(".sql", "src/ringback/store/sql")
STORE = files(".py", "src/ringback/store")
SOURCES = files(".py", "src")
SQL = re.compile(
    r"\s*(SELECT\s.+\sFROM\s|INSERT\s+(OR\s+\w+\s+)?INTO\s|UPDATE\s+\w+\s+SET\s|DELETE\s+FROM\s|"
    r"(CREATE|ALTER|DROP)\s+(TABLE|INDEX|TRIGGER|VIEW)\s|PRAGMA\s|WITH\s+\w+\s+AS\s)",
    re.DOTALL,
)


def _is_used(path: Path) -> bool:
    """Whether a literal names it, whole or as the first words of a family: `"save_run"`, `f"purge_{part}"`."""
    words = path.stem.split("_")
    families = ["_".join(words[:count]) + "_{" for count in range(1, len(words))]
    spelled = re.compile("|".join((rf'"{re.escape(path.stem)}"', *(rf'f"{re.escape(family)}' for family in families))))
    return any(spelled.search(text(module)) for module in SOURCES)


def test_every_statement_and_migration_says_what_it_is_for() -> None:
    written = (*STATEMENTS, *files(".sql", "src/ringback/store/migrations"))
    assert written
    assert [short(path) for path in written if not text(path).startswith("--")] == []


def test_every_statement_is_used() -> None:
    assert [short(path) for path in STATEMENTS if not _is_used(path)] == []


def test_sql_lives_in_the_store() -> None:
    found = [
        at(path, node)
        for path in SOURCES
        if path not in STORE
        for node in nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and SQL.match(node.value)
    ]
    assert found == []
