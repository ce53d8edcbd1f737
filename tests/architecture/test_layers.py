"""The purity of the rules. Who may know whom is checked by `make static`.

The library of the import contracts silences every logger of its process, so it gets one of its own.
"""

from __future__ import annotations

import ast

from tests.architecture.checkout import at, calls, files, imports, nodes, short

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
PURE |= {"decimal", "difflib", "enum", "fnmatch", "fractions", "functools", "graphlib", "hashlib", "heapq", "html"}
PURE |= {"itertools", "json", "math", "operator", "re", "shlex", "signal", "string", "textwrap", "types", "typing"}
PURE |= {"unicodedata", "xml", "ringback"}
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
IMPURE_BUILTINS = {"open", "print", "input", "exec", "eval", "compile", "__import__"}
PURE_FILES = files(".py", "src/ringback/domain") + files(".py", "src/ringback/summaries")
SERVER_LAYERS = ("domain", "ports", "engine", "services", "views", "api", "store")


def test_rules_import_nothing_that_acts() -> None:
    assert [f"{short(path)} {foreign}" for path in PURE_FILES if (foreign := imports(path) - PURE)] == []


def test_rules_read_no_clock_and_draw_no_random_numbers() -> None:
    found = [
        at(path, node, f"{name}()")
        for path in PURE_FILES
        for name, node in calls(path)
        if name in IMPURE_BUILTINS or ("." in name and name.rpartition(".")[2] in IMPURE_CALLS)
    ]
    assert found == []


def test_rules_wait_for_nothing() -> None:
    waits = ast.AsyncFunctionDef | ast.Await
    assert [at(path, node) for path in PURE_FILES for node in nodes(path) if isinstance(node, waits)] == []


def test_only_the_settings_read_the_environment() -> None:
    layers = [path for layer in SERVER_LAYERS for path in files(".py", f"src/ringback/{layer}")]
    found = [
        at(path, node)
        for path in layers
        for node in nodes(path)
        if isinstance(node, ast.Attribute) and ast.unparse(node) in {"os.environ", "os.getenv"}
    ]
    assert found == []
