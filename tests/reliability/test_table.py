"""The tables of requirements are whole, and what they name exists."""

import ast
import re
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
TABLES = (TESTS / "RELIABILITY.md", TESTS / "SPECIFICATION.md")
ROW = re.compile(r"^\| ([OS]\d\d) \| .+ \| (.+) \|$", re.MULTILINE)
RANGES = ((1, 40), (45, 55), (61, 71), (73, 81), (89, 90))  # LOST to EVT, DEP to SQLITE, MCP, SEC to PY, PAGE
SENTENCES = 33
WANTED = {f"O{number:02}" for first, last in RANGES for number in range(first, last + 1)}
WANTED |= {f"S{number:02}" for number in range(1, SENTENCES + 1)}


def _rows() -> dict[str, list[str]]:
    rows = [row for table in TABLES for row in ROW.findall(table.read_text(encoding="utf-8"))]
    assert len(rows) == len(dict(rows)), "a number stands there twice"
    return {number: re.findall(r"`([^`]+)`", tests) for number, tests in rows}


@cache
def _functions(path: Path) -> frozenset[str]:
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return frozenset(node.name for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, kinds))


def test_every_requirement_is_in_a_table() -> None:
    assert set(_rows()) == WANTED


def test_every_test_in_a_table_exists() -> None:
    named = [name.split("::") for tests in _rows().values() for name in tests]
    missing = [
        "::".join((file, function))
        for file, function in named
        if not (TESTS / file).is_file() or function not in _functions(TESTS / file)
    ]
    assert missing == []


def test_every_test_through_real_processes_is_in_a_table() -> None:
    named = {name for tests in _rows().values() for name in tests}
    here = [path for path in sorted(Path(__file__).parent.glob("test_*.py")) if path != Path(__file__)]
    found = {
        f"reliability/{path.name}::{name}" for path in here for name in _functions(path) if name.startswith("test_")
    }
    assert sorted(found - named) == []
