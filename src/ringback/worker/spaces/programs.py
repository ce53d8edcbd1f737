"""Programs that the worker itself calls to make and take down spaces: git, docker, podman. Never the work of a run."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import Final

WITHIN_S: Final = 120.0
_SHOWN: Final = 300


class ProgramError(Exception):
    """It could not be started, failed, or took too long; one line that says what it said."""


def call(argv: Sequence[str], *, env: Mapping[str, str] | None = None, within_s: float = WITHIN_S) -> str:
    """What the program wrote, without the last line's end. It blocks: call it from a thread.

    Raises:
        ProgramError: as said there.
    """
    quiet = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            argv,
            env={**inherited, **quiet, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=within_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ProgramError(f"{argv[0]} took longer than {within_s:g} s") from None
    except OSError as error:
        raise ProgramError(f"{argv[0]}: {error.strerror or error}") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit code {done.returncode}"]
        raise ProgramError(f"{argv[0].rpartition('/')[2]}: {said[-1][:_SHOWN]}")
    return done.stdout.decode(errors="surrogateescape").rstrip("\n")
