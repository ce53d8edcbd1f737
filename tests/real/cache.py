"""Where what was fetched stays between test runs: one folder a step, made once, by one process at a time.

A step's folder is trusted only when its stamp stands in it, which is written last and names everything that the step
depends on; a folder of a killed run is made again. What cannot be fetched fails the test that wants it: a skipped test
would look like a passed one.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CACHE = ROOT / ".cache" / "real-packages"
PINNED = Path(__file__).parent / "pinned"
WITHIN_S = 300.0


def kept(name: str, depends_on: Sequence[str], make: Callable[[Path], None]) -> Path:
    """The folder `name`, filled by `make` unless it is from the same inputs already."""
    folder, stamp = CACHE / name, CACHE / name / ".made-from"
    # Environments hold absolute paths, so a moved checkout makes its own again.
    digest = hashlib.sha256("\0".join([str(CACHE), *depends_on]).encode()).hexdigest()
    with _locked(name):
        if not stamp.exists() or stamp.read_text(encoding="ascii") != digest:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            make(folder)
            stamp.write_text(digest, encoding="ascii")
    return folder


@contextmanager
def _locked(name: str) -> Iterator[None]:
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        yield


def carry_out(command: Sequence[str], folder: Path, env: Mapping[str, str] | None = None) -> str:
    """The output of a command that must succeed."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore", **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
