"""Makes `.venv`, or brings it up to date: what every `make` target needs first.

Runs on the system's Python with nothing installed, so it imports the standard library only. The work is redone
only when a stamp differs: `requirements.lock` decides the packages, `pyproject.toml` the installed entry points.
A file lock makes two `make` at once safe: the second waits, then finds the stamps right.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOCK = ROOT / "requirements.lock"
PROJECT = ROOT / "pyproject.toml"


def main() -> int:
    with (ROOT / ".venv.lock").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        try:
            _prepare()
        except subprocess.CalledProcessError as error:
            print(f"could not prepare {VENV}: {error}", file=sys.stderr)
            return 1
    return 0


def _prepare() -> None:
    # The checkout's path is part of the stamp: the scripts of a copied or moved environment point to the old place.
    place = str(ROOT).encode()
    packages = _Stamp("packages", place + LOCK.read_bytes())
    entry_points = _Stamp("project", place + PROJECT.read_bytes())
    if packages.is_current() and entry_points.is_current() and _works():
        return
    if not _works():
        print(f"making {VENV.name} with Python {sys.version.split()[0]}", file=sys.stderr)
        _run([sys.executable, "-m", "venv", "--clear", str(VENV)])
        packages.drop()
        entry_points.drop()
    if not packages.is_current():
        print(f"installing {LOCK.name}", file=sys.stderr)
        entry_points.drop()
        _pip("--require-hashes", "-r", str(LOCK))
        packages.write()
    if not entry_points.is_current():
        _pip("--no-deps", "--no-build-isolation", "-e", str(ROOT))
        entry_points.write()


def _works() -> bool:
    """Whether `.venv` is a whole environment of Python 3.11 or newer, made for this very path."""
    if not PYTHON.exists():
        return False
    probe = "import sys, pip; print(sys.prefix, sys.version_info >= (3, 11))"
    found = subprocess.run([PYTHON, "-c", probe], capture_output=True, text=True, check=False)
    return found.returncode == 0 and found.stdout.strip() == f"{VENV} True"


def _pip(*arguments: str) -> None:
    _run([str(PYTHON), "-m", "pip", "install", "-qq", "--no-input", "--disable-pip-version-check", *arguments])


def _run(command: list[str]) -> None:
    # pip's "running as root" warning is about system packages; this is an environment of our own.
    subprocess.run(command, check=True, env={**os.environ, "PIP_ROOT_USER_ACTION": "ignore"})


class _Stamp:
    """Remembers inside `.venv` which input a step was last done for."""

    def __init__(self, name: str, content: bytes) -> None:
        self._path = VENV / f".ringback-{name}"
        self._digest = hashlib.sha256(content).hexdigest()

    def is_current(self) -> bool:
        return self._path.exists() and self._path.read_text() == self._digest

    def write(self) -> None:
        self._path.write_text(self._digest)

    def drop(self) -> None:
        self._path.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
