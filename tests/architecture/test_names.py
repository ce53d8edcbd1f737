"""Names: modules are plain nouns that say what is inside, and each says at its top why it exists."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.checkout import ROOT, files, short, text, tree

SAYS_NOTHING = re.compile(r"(util|utils|common|helper|helpers|base|manager|managers|misc|stuff)")
SOURCES = files(".py", "src")
LATER = re.compile("(" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK")) + r")\b")
IGNORED_TYPE = re.compile(r"#\s*type:\s*ignore")


def _comments(path: Path) -> Iterator[str]:
    if path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(text(path)).readline):
            if token.type == tokenize.COMMENT:
                yield token.string
    else:
        yield from (line for line in text(path).splitlines() if line.lstrip().startswith(("--", "#")))


def test_module_names_say_something() -> None:
    parts = ((path, (*path.relative_to(ROOT).parent.parts, path.stem)) for path in files(".py"))
    assert [short(path) for path, names in parts if any(SAYS_NOTHING.fullmatch(name) for name in names)] == []


def test_modules_say_why_they_exist() -> None:
    assert [short(path) for path in SOURCES if tree(path).body and not ast.get_docstring(tree(path))] == []


def test_no_type_is_ignored() -> None:
    assert [short(path) for path in SOURCES if any(map(IGNORED_TYPE.match, _comments(path)))] == []


def test_nothing_is_left_for_later() -> None:
    judged = (*files(".py"), *files(".sql"), *files(".toml"))
    found = [f"{short(path)}: {comment}" for path in judged for comment in _comments(path) if LATER.search(comment)]
    assert found == []
