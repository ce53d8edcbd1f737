"""What `ringback up` found out before it becomes the small process that stays: handed over through a file descriptor.

Checking settings needs pydantic, and the command line needs Typer; both together are three quarters of the memory of a
process whose only work is to watch two others. So `up` checks, writes a `Plan`, and replaces itself.
"""

import json
import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn, Self

from ringback.settings.places import Places

PLAN_FLAG = "--plan-fd"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that the process which stays needs to know. `settings` is the JSON of `ServerSettings`."""

    settings: Mapping[str, Any]
    definitions: tuple[Mapping[str, Any], ...]
    json_mode: bool
    until_stdin_closes: bool
    lock_fd: int

    @property
    def places(self) -> Places:
        """The files of the data folder."""
        return Places(Path(self.settings["data"]))

    @property
    def drain_s(self) -> float:
        """How long an end may take."""
        return float(self.settings["drain_s"])

    def carry_out(self) -> NoReturn:
        """Become the process that stays; the pid, the lock and the terminal are kept."""
        with tempfile.TemporaryFile() as file:
            file.write(json.dumps(asdict(self)).encode())
            file.seek(0)
            os.set_inheritable(file.fileno(), True)
            os.set_inheritable(self.lock_fd, True)
            sys.stdout.flush()
            command = [sys.executable, "-P", "-m", "ringback", "up", PLAN_FLAG, str(file.fileno())]
            os.execv(sys.executable, command)  # noqa: S606 - ourselves, with arguments of our own

    @classmethod
    def received(cls, fd: int) -> Self:
        """Read what `carry_out` wrote, and keep the lock from our own children."""
        with os.fdopen(fd, "rb") as file:
            body = json.load(file)
        os.set_inheritable(body["lock_fd"], False)
        return cls(**{**body, "definitions": tuple(body["definitions"])})
