"""One `ringback up` a data folder, and a pid that can be trusted: the file is locked for as long as the process lives.

The system drops the lock when its holder dies, however it dies, so a pid is only believed while somebody holds the lock:
a stale file never leads to a foreign process.
"""

import fcntl
import os
from pathlib import Path
from typing import Self


class AlreadyUpError(Exception):
    """Another process holds the lock."""

    def __init__(self, pid: int | None) -> None:
        super().__init__(pid)
        self.pid = pid


class PidFile:
    """The exclusive right to be the supervisor of a data folder."""

    def __init__(self, fd: int) -> None:
        """Made by `take`."""
        self.fd = fd

    @classmethod
    def take(cls, path: Path) -> Self:
        """Lock the file and write our pid into it.

        Raises:
            AlreadyUpError: somebody else holds it.
            OSError: the file cannot be written.
        """
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _read(fd)
            os.close(fd)
            raise AlreadyUpError(holder) from None
        os.ftruncate(fd, 0)
        os.pwrite(fd, str(os.getpid()).encode(), 0)
        return cls(fd)


def holder_of(path: Path) -> int | None:
    """The pid of the process that holds the lock, or None when nobody does."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read(fd)
    finally:
        os.close(fd)
    return None


def _read(fd: int) -> int | None:
    text = os.pread(fd, 20, 0).decode("ascii", "replace").strip()
    return int(text) if text.isdigit() else None
