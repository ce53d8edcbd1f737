"""Resolves `pyproject.toml` into `requirements.lock`: one file for every supported Python, hashes and no addresses.

`uv` does the resolving, because it can do it for all Pythons and platforms at once; it is needed here only and is
installed into `.venv` on demand. A registry's address must not get into the lock, so none is emitted and the file is
refused if one did.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
COMPILE = (
    *("uv", "pip", "compile", "pyproject.toml", "--group", "dev", "--group", "build"),
    *("--universal", "--python-version", "3.11", "--generate-hashes"),
    *("--no-emit-index-url", "--no-emit-find-links", "--no-annotate", "--quiet"),
    *("--custom-compile-command", "make lock"),
)


def main() -> int:
    if subprocess.run([sys.executable, "-m", "uv", "--version"], capture_output=True, check=False).returncode:
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "uv"], check=True)
    fresh = LOCK.with_suffix(".lock.new")
    fresh.write_bytes(LOCK.read_bytes() if LOCK.exists() else b"")  # what is locked stays, unless it no longer fits
    subprocess.run([sys.executable, "-m", *COMPILE, *sys.argv[1:], "--output-file", str(fresh)], check=True, cwd=ROOT)
    if "://" in fresh.read_text(encoding="utf-8"):
        print(f"the resolver wrote an address into {fresh.name}: not taken", file=sys.stderr)
        return 1
    fresh.replace(LOCK)
    return 0


if __name__ == "__main__":
    sys.exit(main())
