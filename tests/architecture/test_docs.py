"""Documents: they agree with each other and with what exists, and the code in them is code."""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest

from ringback.cli.main import ENTRIES, load
from tests.architecture import markdown
from tests.architecture.checkout import ROOT, files, short, text

DOCUMENTS = files(".md")
READMES = (ROOT / "README.md", ROOT / "README.zh-CN.md")
RECORDS = tuple(path for path in files(".md", "docs/decisions") if path.stem[0].isdigit())
RECORD_WORDS_MAX = 400  # about a page


def _parse(fence: markdown.Fence) -> None:
    """Raises a SyntaxError, ValueError or AssertionError where the code is not of its language."""
    match fence.language:
        case "python" | "py":
            compile(fence.code, "<fence>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST)
        case "toml":
            tomllib.loads(fence.code)
        case "json":
            json.loads(fence.code)
        case language if language in markdown.SHELLS:
            checked = subprocess.run(["bash", "-n"], input=fence.code, capture_output=True, text=True, check=False)
            assert checked.returncode == 0, checked.stderr
        case _:
            pass


def _flaw(fence: markdown.Fence) -> str | None:
    try:
        _parse(fence)
    except (SyntaxError, ValueError, AssertionError) as error:
        return f"({fence.language}) {error}"
    return None


def test_code_in_documents_parses() -> None:
    fences = [(path, fence) for path in DOCUMENTS for fence in markdown.read(path).fences]
    found = [f"{short(path)}:{fence.line} {flaw}" for path, fence in fences if (flaw := _flaw(fence))]
    assert found == []


def test_links_lead_somewhere() -> None:
    links = [
        (path, link.partition("#")[0]) for path in DOCUMENTS for link in markdown.read(path).links if "://" not in link
    ]
    assert [f"{short(path)}: {link}" for path, link in links if link and not (path.parent / link).exists()] == []


def test_both_readmes_tell_the_same() -> None:
    english, chinese = (markdown.read(path) for path in READMES)
    assert [level for level, _ in english.headings] == [level for level, _ in chinese.headings]
    assert [(fence.language, fence.code) for fence in english.fences] == [
        (fence.language, fence.code) for fence in chinese.fences
    ]
    swapped = {"README.md": "README.zh-CN.md", "README.zh-CN.md": "README.md"}
    assert [swapped.get(link, link).partition("#")[0] for link in english.links] == [
        link.partition("#")[0] for link in chinese.links
    ]
    assert [row.count("|") for row in english.rows] == [row.count("|") for row in chinese.rows]


def test_named_targets_exist_and_ci_calls_only_named_ones() -> None:
    existing = set(re.findall(r"^([a-z]+):", text(ROOT / "Makefile"), re.MULTILINE))
    named = [(path, line.split()[1]) for path in DOCUMENTS for line in markdown.read(path).commands("make")]
    assert [f"{short(path)}: make {target}" for path, target in named if target not in existing] == []
    script = [line for line in text(ROOT / ".ci" / "run").splitlines() if not line.startswith("#")]
    called = set(re.findall(r"\bmake ([a-z]+)", "\n".join(script)))
    assert called == {"test"}
    for path in READMES:
        assert called <= {target for document, target in named if document == path}


def _misuse(line: str) -> str | None:
    """What is wrong with a call of the command line, judged by the command's own parameters."""
    words = shlex.split(line.partition(" #")[0].rstrip(" &").split("|")[0])
    name = words[1] if len(words) > 1 else ""
    if name not in ENTRIES:
        return None if name in {"--version", "--help", ""} else "no such command"
    command = load(name)
    known = {option for parameter in command.params for option in parameter.opts} | {"--help", "--json"}
    if ENTRIES[name].forwards or hasattr(command, "commands"):
        return None
    own = words[2 : words.index("--")] if "--" in words else words[2:]  # what follows is somebody else's
    unknown = [word for word in own if word.startswith("-") and word.partition("=")[0] not in known]
    return f"no such option: {unknown[0]}" if unknown else None


def test_documents_call_commands_that_exist() -> None:
    lines = [(path, line) for path in DOCUMENTS for line in markdown.read(path).commands("ringback")]
    assert len(lines) > 10
    assert [f"{short(path)}: {line}: {flaw}" for path, line in lines if (flaw := _misuse(line))] == []


def test_the_changelog_collects_what_is_not_released() -> None:
    headings = [title for level, title in markdown.read(ROOT / "CHANGELOG.md").headings if level == 2]
    assert headings
    assert headings[0] == "Unreleased"


def test_decision_records_are_numbered_and_listed() -> None:
    numbers = [int(path.stem[:4]) for path in RECORDS]
    assert numbers == list(range(1, len(numbers) + 1))
    listed = [link for link in markdown.read(ROOT / "docs/decisions/README.md").links if link[0].isdigit()]
    assert listed == [path.name for path in RECORDS]


@pytest.mark.parametrize("path", RECORDS, ids=short)
def test_a_decision_record_is_a_page_of_three_parts(path: Path) -> None:
    titles = [title for _, title in markdown.read(path).headings]
    assert titles[0].startswith(f"{path.stem[:4]}: ")
    assert titles[1:] == ["Context", "Decision", "Consequences"]
    assert len(text(path).split()) <= RECORD_WORDS_MAX


def test_the_glossary_explains_each_word_once() -> None:
    rows = markdown.read(ROOT / "docs/glossary.md").rows
    words = [word for row in rows for word in re.findall(r"\*\*([^*]+)\*\*", row.split("|")[1])]
    assert words
    assert sorted(words) == sorted(set(words))
