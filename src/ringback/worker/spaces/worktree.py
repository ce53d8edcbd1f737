"""A git worktree for one attempt: the files of a commit, apart from those that people and other runs work on.

Made from the repository that the tool's folder belongs to; the attempt runs in the same folder inside of it. With uncommitted
changes the worktree stands at the same commit, and what is not committed lies in it as it lies there, new files included, ignored
ones not. What a commit never holds but a run needs (installed packages) can be linked. No hook of the repository runs.
"""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ringback.worker.spaces.programs import ProgramError, call

PROVIDER: Final = "git_worktree"
_GIT: Final = (
    "git",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "user.name=ringback",
    "-c",
    "user.email=ringback@localhost",
)


def repository_of(folder: str) -> tuple[str, str]:
    """The repository that a folder belongs to, and where in it the folder lies.

    Raises:
        ProgramError: to none.
    """
    try:
        top = _git(folder, "rev-parse", "--show-toplevel")
        return top, _git(folder, "rev-parse", "--show-prefix")
    except ProgramError as error:
        raise ProgramError(
            f"{folder} is no folder of a git repository that a worktree could be made from ({error})"
        ) from None


def make(repository: str, tree: Path, asked: Mapping[str, Any]) -> None:
    """Fill the folder `tree`, which does not exist yet.

    Raises:
        ProgramError: there is no such commit, or git can't.
    """
    ref = str(asked.get("ref") or "HEAD")
    commit = _git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", what=ref)
    tree.parent.mkdir(parents=True, exist_ok=True)
    _git(repository, "worktree", "add", "--quiet", "--detach", str(tree), commit)
    if asked.get("uncommitted"):
        _git(str(tree), "read-tree", "-u", "--reset", _uncommitted(repository))


def _uncommitted(repository: str) -> str:
    """A tree object of everything that is there and not ignored; neither the index nor a branch changes."""
    index = _git(repository, "rev-parse", "--path-format=absolute", "--git-path", "index")
    with tempfile.TemporaryDirectory(prefix="ringback-index-") as folder:
        copy = Path(folder, "index")
        if Path(index).exists():
            shutil.copyfile(index, copy)
        env = {"GIT_INDEX_FILE": str(copy)}
        _git(repository, "add", "--all", ".", env=env)
        return _git(repository, "write-tree", env=env)


def link(folder: str, inside: Path, paths: list[str]) -> None:
    """Let what the commit does not hold be found: links from the attempt's folder to the tool's."""
    for path in paths:
        source, target = Path(folder, path), inside / path
        if source.exists() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(source)


def remove(repository: str, tree: Path) -> None:
    """Nothing is left of it afterwards, in the folder or in the repository. What was linked stays.

    Raises:
        ProgramError: files are left that can't be removed.
    """
    try:
        _git(repository, "worktree", "remove", "--force", "--force", str(tree))
    except ProgramError:  # half made, half gone, or the repository itself is gone
        shutil.rmtree(tree, ignore_errors=True)
        if os.path.lexists(tree):
            raise
        if Path(repository).is_dir():
            _git(repository, "worktree", "prune")


def _git(folder: str, *words: str, env: Mapping[str, str] | None = None, what: str = "") -> str:
    try:
        return call([*_GIT, "-C", folder, *words], env=env)
    except ProgramError as error:
        raise ProgramError(f"{error}: there is no {what!r} in {folder}" if what else str(error)) from None
