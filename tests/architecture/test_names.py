"""Names: modules are plain nouns that say what is inside, and each says at its top why it exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.architecture.checkout import ROOT, files, short, text, tree

SAYS_NOTHING = re.compile(r"(util|utils|common|helper|helpers|base|manager|managers|misc|stuff)")
SOURCES = files(".py", "src")
NOT_DONE = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK")) + r")\b")


@pytest.mark.parametrize("path", files(".py"), ids=short)
def test_module_names_say_something(path: Path) -> None:
    parts = [*path.relative_to(ROOT).parent.parts, path.stem]
    assert not [part for part in parts if SAYS_NOTHING.fullmatch(part)]


@pytest.mark.parametrize("path", SOURCES, ids=short)
def test_modules_say_why_they_exist(path: Path) -> None:
    if tree(path).body:
        assert ast.get_docstring(tree(path)), "a module begins with a docstring"


@pytest.mark.parametrize("path", SOURCES, ids=short)
def test_no_type_is_ignored(path: Path) -> None:
    assert not re.search(r"#\s*type:\s*ignore", text(path))


@pytest.mark.parametrize("path", files(".py") + files(".sql") + files(".toml"), ids=short)
def test_nothing_is_left_for_later(path: Path) -> None:
    assert not NOT_DONE.search(text(path))
