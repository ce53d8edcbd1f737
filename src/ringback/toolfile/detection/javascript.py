"""JavaScript: the scripts of package.json through the package manager in use, and Deno's tasks.

Only the names of scripts are taken. Their bodies may hold anything, secrets too, and are never copied.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ringback.toolfile.detection.folder import Folder, table
from ringback.toolfile.detection.suggestion import Suggestion, optional, tool_name

_LOCKS: Final = {
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "package-lock.json": "npm",
}
_SAFE_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9:._/-]{0,80}")
USEFUL: Final = re.compile(
    r"(test|tests|build|lint|typecheck|type-check|types|check|e2e|integration|unit|coverage|ci|verify|bench)"
    r"([:._/-](?!.*(watch|dev|fix|write|update|ui\b|publish|deploy|release)).*)?"
)
_RUNNERS: Final = ("vitest", "jest")


def detect_package(folder: Folder) -> Iterator[Suggestion]:
    package = folder.json("package.json")
    scripts = table(package, "scripts")
    names = [name for name in scripts if USEFUL.fullmatch(name) and _SAFE_NAME.fullmatch(name)]
    manager, reason = _manager(folder, package)
    others = other_names(scripts, names)
    for name in names:
        runner = _runner(str(scripts[name])) if name.startswith(("test", "unit")) else None
        yield _script(name, manager, reason, runner, others)


def _script(name: str, manager: str, reason: str, runner: str | None, others: tuple[str, ...]) -> Suggestion:
    command: tuple[str | tuple[str, ...], ...] = (manager, "run", name)
    if runner:
        command = (*command, ("--", "{path}") if manager == "npm" else "{path}")
    is_test = runner is not None or "test" in name or "e2e" in name
    return Suggestion(
        name=tool_name(name),
        kind=manager,
        description=f"Run the package's script {name!r}" + (f" ({runner})." if runner else "."),
        command=command,
        why=f"package.json has a script {name!r}; {reason}",
        choices=others,
        inputs={"path": optional("only test files whose path contains this")} if runner else {},
        env={"CI": "true"},
        summary=runner or ("auto" if is_test else "exit"),
    )


def _manager(folder: Folder, package: Mapping[str, Any]) -> tuple[str, str]:
    declared = re.match(r"(npm|pnpm|yarn|bun)@", str(package.get("packageManager", "")))
    if declared:
        return declared[1], f"packageManager says {declared[1]}"
    for place in (folder, *folder.parents()):
        for lock, manager in _LOCKS.items():
            if place.has(lock):
                return manager, f"{lock} is here, so it runs through {manager}"
    return "npm", "no lock file was found, so it runs through npm"


def _runner(script: str) -> str | None:
    """The test runner that a script calls with nothing before or behind it that would change what a path means."""
    call = re.fullmatch(rf"(?:npx |cross-env |[A-Z_]+=\S+ )*({'|'.join(_RUNNERS)})(?: (?!watch\b)[\w=.,:/-]+)*", script)
    return call[1] if call and "--watch" not in script else None


def other_names(known: Iterable[str], used: Iterable[str]) -> tuple[str, ...]:
    """One line that names what was left out, so that its owner can add it."""
    taken = set(used)
    others = sorted(name for name in known if name not in taken and _SAFE_NAME.fullmatch(name))[:20]
    return (f"not taken over, but possible in the same way: {', '.join(others)}",) if others else ()


def detect_deno(folder: Folder) -> Iterator[Suggestion]:
    name = folder.first("deno.json", "deno.jsonc")
    if name is None:
        return
    tasks = table(folder.json(name), "tasks")
    useful = [task for task in tasks if USEFUL.fullmatch(task) and _SAFE_NAME.fullmatch(task)]
    others = other_names(tasks, useful)
    for task in useful:
        yield Suggestion(
            name=tool_name(task),
            kind="deno",
            description=f"Run the Deno task {task!r}.",
            command=("deno", "task", task),
            why=f"{name} has a task {task!r}",
            choices=others,
        )
    if "test" not in useful:
        yield Suggestion(
            name="test",
            kind="deno",
            description="Run the Deno tests.",
            command=("deno", "test", "{path}"),
            why=f"there is a {name}",
            choices=("tests that need more rights take flags such as --allow-read in the command", *others),
            inputs={"path": optional("file or folder")},
        )
