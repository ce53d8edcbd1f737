"""Python: pytest or unittest, through the project's own environment, and tox, nox, ruff and mypy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ringback.toolfile.detection.folder import Folder, table
from ringback.toolfile.detection.suggestion import Suggestion, optional

_MANIFESTS: Final = ("pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini", "noxfile.py", "Pipfile")
_TEST_FILE: Final = re.compile(r"test_.*\.py|.*_test\.py")
_RUNNERS: Final = (
    ("uv.lock", "uv", ("uv", "run")),
    ("poetry.lock", "poetry", ("poetry", "run")),
    ("pdm.lock", "pdm", ("pdm", "run")),
    ("Pipfile", "pipenv", ("pipenv", "run")),
)


def detect_python(folder: Folder) -> Iterator[Suggestion]:
    if not folder.has(*_MANIFESTS, "requirements.txt") and not (folder.is_root and _test_files(folder)):
        return
    tool = table(folder.toml("pyproject.toml"), "tool")
    prefix, through = _prefix(folder)
    if reason := _pytest_reason(folder):
        yield _pytest(prefix, through, reason)
    elif tests := _test_files(folder):
        yield _unittest(prefix, through, tests, is_package=folder.inside(tests).has("__init__.py"))
    yield from _sessions(folder)
    if "ruff" in tool or folder.has("ruff.toml", ".ruff.toml"):
        yield _checker("lint", "ruff", ("ruff", "check"), prefix, through)
    if "mypy" in tool or folder.has("mypy.ini", ".mypy.ini"):
        yield _checker("typecheck", "mypy", ("mypy", "."), prefix, through)


def _pytest(prefix: tuple[str, ...], through: str, reason: str) -> Suggestion:
    return Suggestion(
        name="test",
        kind="pytest",
        description="Run the Python tests. Give a path to run only a part of them.",
        command=(*prefix, "pytest", "-q", ("-k", "{keyword}"), "{path}"),
        why=f"{reason}; {through}",
        choices=(
            'summary = "junit:report.xml" reads a report, if the command also writes it with "--junitxml=report.xml"',
        ),
        inputs={
            "path": optional("file, folder or test id, for example tests/test_api.py::test_login"),
            "keyword": optional("only tests whose names match this expression, for example login and not slow"),
        },
        summary="pytest",
    )


def _unittest(prefix: tuple[str, ...], through: str, tests: str, *, is_package: bool) -> Suggestion:
    # A package of tests may import from itself, which needs the folder above it as the top.
    top = ("-t", ".") if is_package else ()
    python = prefix[:-1] if prefix[-1:] == ("-m",) else (*prefix, "python")
    return Suggestion(
        name="test",
        kind="unittest",
        description="Run the Python tests.",
        command=(*python, "-m", "unittest", "discover", "-s", tests, *top),
        why=f"{tests}/ holds test files and nothing mentions pytest; {through}",
        summary="unittest",
    )


def _checker(name: str, kind: str, command: tuple[str, ...], prefix: tuple[str, ...], through: str) -> Suggestion:
    what = {"lint": "Check the style and common mistakes", "typecheck": "Check the types"}[name]
    return Suggestion(
        name=name,
        kind=kind,
        description=f"{what} of the Python code.",
        command=(*prefix, *command),
        why=f"settings for {kind} are here; {through}",
        summary="exit",
        timeout="10m",
    )


def _sessions(folder: Folder) -> Iterator[Suggestion]:
    if (
        "tox" in folder.sections("tox.ini")
        or "tox" in table(folder.toml("pyproject.toml"), "tool")
        or folder.has("tox.toml")
    ):
        yield Suggestion(
            name="tox",
            kind="tox",
            description="Run the tox environments: tests in fresh virtual environments.",
            command=("tox", ("-e", "{env}")),
            why="settings for tox are here",
            inputs={"env": optional("names of environments, separated by commas; all of the default list without it")},
        )
    if folder.has("noxfile.py"):
        yield Suggestion(
            name="nox",
            kind="nox",
            description="Run the nox sessions.",
            command=("nox", ("-s", "{session}")),
            why="there is a noxfile.py",
            inputs={"session": optional("name of one session; all default ones without it")},
        )


def _prefix(folder: Folder) -> tuple[tuple[str, ...], str]:
    """The words before `pytest` that choose the environment, and why."""
    for place in (folder, *folder.parents()):
        for file, name, words in _RUNNERS:
            if place.has(file):
                return words, f"{file} is here, so it runs through {name}"
    tool = table(folder.toml("pyproject.toml"), "tool")
    for name in ("uv", "poetry", "pdm"):
        if name in tool:
            return (name, "run"), f"pyproject.toml has [tool.{name}], so it runs through {name}"
    if table(tool, "hatch", "envs"):
        return ("hatch", "run"), "pyproject.toml has hatch environments, so it runs through hatch"
    for name in (".venv", "venv"):
        if (folder.path / name / "bin" / "python").exists():
            return (f"{name}/bin/python", "-m"), f"{name}/ is here, so its python is used"
    return ("python", "-m"), "no environment was found, so it uses the worker's python"


def _pytest_reason(folder: Folder) -> str | None:
    pyproject = folder.toml("pyproject.toml")
    mentions = [name for name in ("pyproject.toml", "setup.cfg", "setup.py", "Pipfile") if _mentions(folder, name)]
    mentions += [name for name in folder.ending(".txt") if name.startswith("requirements") and _mentions(folder, name)]
    reasons = {
        "pytest.ini": folder.has("pytest.ini", ".pytest.ini"),
        "[tool.pytest.ini_options] in pyproject.toml": "pytest" in table(pyproject, "tool"),
        "[pytest] in tox.ini": "pytest" in folder.sections("tox.ini"),
        "[tool:pytest] in setup.cfg": "tool:pytest" in folder.sections("setup.cfg"),
        "a conftest.py": folder.has("conftest.py") or any(folder.inside(name).has("conftest.py") for name in _TESTS),
    }
    reason = next((name for name, holds in reasons.items() if holds), None)
    if reason:
        return f"found {reason}"
    if mentions:
        return f"{mentions[0]} names pytest"
    tests = _test_files(folder)
    return f"{tests}/ holds test files" if tests and not _uses_unittest(folder.inside(tests)) else None


_TESTS: Final = ("tests", "test")


def _mentions(folder: Folder, name: str) -> bool:
    return re.search(r"\bpytest\b", folder.text(name)) is not None


def _test_files(folder: Folder) -> str | None:
    """The folder with the test files."""
    return next((name for name in _TESTS if any(map(_TEST_FILE.fullmatch, folder.inside(name).names))), None)


def _uses_unittest(tests: Folder) -> bool:
    files = [name for name in sorted(tests.names) if _TEST_FILE.fullmatch(name)][:20]
    texts = [tests.text(name) for name in files]
    return any("unittest" in text for text in texts) and not any("pytest" in text for text in texts)
