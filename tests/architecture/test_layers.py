"""Who may know whom: the import contracts of pyproject.toml, and the purity of the rules."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

from tests.architecture.checkout import ROOT, calls, files, imports, short, tree

# What the domain and the summaries may import. Nothing here reads a clock, a file or the network, or draws a number.
PURE = {
    "__future__",
    "abc",
    "base64",
    "binascii",
    "bisect",
    "collections",
    "contextlib",
    "copy",
    "dataclasses",
    "datetime",
}
PURE |= {"decimal", "difflib", "enum", "fractions", "functools", "graphlib", "hashlib", "heapq", "html", "itertools"}
PURE |= {"json", "math", "operator", "re", "string", "textwrap", "types", "typing", "unicodedata", "xml", "ringback"}
IMPURE_CALLS = {
    "now",
    "utcnow",
    "today",
    "monotonic",
    "monotonic_ns",
    "time",
    "time_ns",
    "perf_counter",
    "sleep",
    "getenv",
}
IMPURE_CALLS |= {"uuid1", "uuid4", "uuid7", "random", "randint", "uniform", "choice", "shuffle", "urandom", "token_hex"}
IMPURE_BUILTINS = frozenset({"open", "print", "input", "exec", "eval", "compile", "__import__"})
PURE_FILES = files(".py", "src/ringback/domain") + files(".py", "src/ringback/summaries")
SERVER_LAYERS = ("domain", "ports", "engine", "services", "views", "api", "store")


def test_import_contracts_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True) == EXIT_STATUS_SUCCESS


@pytest.mark.parametrize("path", PURE_FILES, ids=short)
def test_rules_import_nothing_that_acts(path: Path) -> None:
    assert imports(path) <= PURE


@pytest.mark.parametrize("path", PURE_FILES, ids=short)
def test_rules_read_no_clock_and_draw_no_random_numbers(path: Path) -> None:
    for name, node in calls(path):
        last = name.rpartition(".")[2]
        assert "." not in name or last not in IMPURE_CALLS, f"line {node.lineno}: {name}()"
        assert name not in IMPURE_BUILTINS, f"line {node.lineno}: {name}()"
    coroutines = [node.lineno for node in ast.walk(tree(path)) if isinstance(node, ast.AsyncFunctionDef | ast.Await)]
    assert not coroutines


@pytest.mark.parametrize("layer", SERVER_LAYERS)
def test_only_the_settings_read_the_environment(layer: str) -> None:
    for path in files(".py", f"src/ringback/{layer}"):
        attributes = [node for node in ast.walk(tree(path)) if isinstance(node, ast.Attribute)]
        readers = {node.lineno for node in attributes if ast.unparse(node) in {"os.environ", "os.getenv"}}
        assert not readers, f"{short(path)} reads the environment in lines {sorted(readers)}"
