"""Keeps the write-ahead log short without holding up those who write (decision 0013).

Copying a full log into the database takes the disk hundreds of milliseconds, and a commit that has to do it waits that long. So a
thread with a connection of its own copies while commits go on. What they appended meanwhile is little; it is copied between two
transactions, and after that the log begins again at its start.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ringback.store.connection import Connection, DriverError

log = logging.getLogger(__name__)

COPY_PAGES = 8_000  # 32 MB of log: then it is copied
AGAIN_PAGES = 4_000  # by so much it must have grown before it is tried again, when a reader held it


class Checkpoints:
    """The log of one ledger. All methods are called on the writer's loop."""

    def __init__(self, path: Path) -> None:
        self._db = Connection(path)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ledger-log")
        self._copying: asyncio.Future[bool] | None = None
        self._due_at = COPY_PAGES

    async def keep_short(self, pages: int) -> None:
        """Call between two transactions with the length of the log: begins a copy, or ends one with what was left."""
        if self._copying is None:
            if pages >= self._due_at:
                self._copying = asyncio.get_running_loop().run_in_executor(self._thread, self._copy)
        elif self._copying.done():
            self._copying = None
            is_whole = await asyncio.get_running_loop().run_in_executor(self._thread, self._copy)
            self._due_at = COPY_PAGES if is_whole else pages + AGAIN_PAGES

    def _copy(self) -> bool:
        """Copy what no reader holds back; whether that was all."""
        try:
            (told,) = self._db.fetch("PRAGMA wal_checkpoint(PASSIVE)")
        except DriverError as error:  # a full disk, say: commits say so themselves, and the log is still whole
            log.warning("the log could not be copied into the ledger: %s", error)
            return False
        return bool(told["log"] == told["checkpointed"])

    async def aclose(self) -> None:
        if self._copying is not None:
            await self._copying
        self._thread.shutdown()
        self._db.close()
