"""Where things lie: the data folder and the names of the files in it that more than one part reads.

Nothing is created here.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Places:
    """The files of one data folder."""

    data: Path

    @property
    def database(self) -> Path:
        """The SQLite ledger."""
        return self.data / "ringback.db"

    @property
    def server(self) -> Path:
        """`{"url", "pid"}` of the running server."""
        return self.data / "server.json"

    @property
    def token(self) -> Path:
        """The local owner's token, mode 0600."""
        return self.data / "owner.token"

    @property
    def supervisor(self) -> Path:
        """The pid of the `ringback up` that runs here."""
        return self.data / "up.pid"

    @property
    def log(self) -> Path:
        """Where `ringback up --detach` logs."""
        return self.data / "ringback.log"


def default_data_folder(environ: Mapping[str, str] | None = None) -> Path:
    """The data folder when no flag names one: `RINGBACK_DATA`, else the platform's place for user data."""
    env = os.environ if environ is None else environ
    named = env.get("RINGBACK_DATA")
    if named:
        return Path(named).expanduser().absolute()
    home = Path(env.get("HOME") or Path.home())
    if sys.platform == "win32":
        return Path(env.get("LOCALAPPDATA") or home / "AppData" / "Local") / "ringback"
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "ringback"
    return Path(env.get("XDG_DATA_HOME") or home / ".local" / "share") / "ringback"
