"""The command line as users run it: a process of its own, in a folder and an environment of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WITHIN_S = 60.0


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


def environment(data: Path, **more: str) -> dict[str, str]:
    """Our environment without anything of Ringback in it, but this data folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RINGBACK_")}
    return kept | {"RINGBACK_DATA": str(data), "NO_COLOR": "1"} | more


def ringback(data: Path, *words: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Ran:
    """Run a command to its end."""
    done = subprocess.run(
        [sys.executable, "-m", "ringback", *words],
        cwd=cwd or data,
        env=environment(data, **(env or {})),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)
