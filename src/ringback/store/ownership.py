"""One process owns a SQLite ledger: a lock on a file beside it, which the system drops when its holder dies, however it dies."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from ringback.domain.errors import StoreUnavailableError


class LedgerInUseError(StoreUnavailableError):
    """Another process serves this data folder."""

    code = "ledger_in_use"

    def __init__(self, path: Path, owner: str) -> None:
        super().__init__(path, owner)
        self.path, self.owner = path, owner

    def __str__(self) -> str:
        return f"the ledger {self.path} is in use by process {self.owner or 'unknown'}"


class Ownership:
    """The exclusive right to the ledger at `path`, from construction to `release`."""

    def __init__(self, path: Path) -> None:
        lock_path = path.with_suffix(".lock")
        self._fd = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(self._fd, 20, 0).decode(errors="replace").strip()
            os.close(self._fd)
            raise LedgerInUseError(path, owner) from None
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, str(os.getpid()).encode(), 0)

    def release(self) -> None:
        os.close(self._fd)
