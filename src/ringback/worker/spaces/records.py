"""What this worker has made and not yet taken down, on the disk, so that the next worker can take it down in its place.

Each worker has a folder of records and holds a lock on it for as long as it lives; the kernel lets go of the lock with the
process, however that ends. So a folder whose lock is free belongs to nobody: its spaces are taken down by whoever finds it. A
record is written before its space exists and removed after nothing is left of it.
"""

import fcntl
import json
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

LOCK = "lock"
TREES = "trees"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One space: whose it is, what it is, and where.

    Attributes:
        locator: the folder of a worktree, the name of a container.
        origin: the repository of a worktree, the program that made a container.
    """

    run_space_id: str
    run_id: str
    fence: int
    type: str
    locator: str
    origin: str

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """The record in a file; None where it was never written whole."""
        try:
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None


class Records:
    """The records of one worker below its data folder; nothing is created before the first space."""

    def __init__(self, data_folder: Path) -> None:
        self._home = data_folder / "spaces"
        self._own = self._home / f"worker-{uuid.uuid4()}"
        self._lock: int | None = None

    def tree_of(self, run_space_id: str) -> Path:
        """Where the folder of a space stands."""
        return self._home / TREES / run_space_id

    def put(self, record: Record) -> None:
        """Keep it, durably enough for a killed process; a machine that fell loses it, and its containers, too."""
        if self._lock is None:
            self._own.mkdir(parents=True)
            self._lock = _lock(self._own / LOCK)
        draft = self._own / f"{record.run_space_id}.draft"
        draft.write_text(json.dumps(asdict(record)), encoding="utf-8")
        draft.rename(self._own / f"{record.run_space_id}.json")

    def remove(self, run_space_id: str) -> None:
        """Nothing is left of it, or it is kept for people."""
        (self._own / f"{run_space_id}.json").unlink(missing_ok=True)

    def close(self) -> None:
        """Let go of what is left; an empty folder goes."""
        if self._lock is None:
            return
        if not list(self._own.glob("*.json")):
            shutil.rmtree(self._own, ignore_errors=True)
        os.close(self._lock)
        self._lock = None

    def abandoned(self) -> Iterator["Abandoned"]:
        """Folders of workers that are dead, each while it is ours."""
        for folder in sorted(self._home.glob("worker-*")):
            lock = None if folder == self._own else _lock(folder / LOCK)
            if lock is not None:
                try:
                    yield Abandoned(folder)
                finally:
                    os.close(lock)


@dataclass(frozen=True, slots=True)
class Abandoned:
    """The records of a worker that is dead."""

    folder: Path

    def records(self) -> list[Record]:
        found = (Record.read(path) for path in sorted(self.folder.glob("*.json")))
        return [record for record in found if record is not None]

    def remove(self) -> None:
        """All of them were taken down."""
        shutil.rmtree(self.folder, ignore_errors=True)


def told(record: Record, status: str, **more: Any) -> Mapping[str, Any]:
    """A step of a space's life as the server takes it."""
    space = {"runSpaceId": record.run_space_id, "status": status, **more}
    return {name: value for name, value in space.items() if value is not None}


def _lock(path: Path) -> int | None:
    """A descriptor that holds the lock, None while somebody else does."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
