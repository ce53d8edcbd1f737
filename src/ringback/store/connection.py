"""One SQLite connection: how it is opened, how rows come back, and what its errors mean to the core.

The only module that knows the driver (decision 0002). A ledger is opened in WAL mode with `synchronous=FULL`: a commit returns
after its flush, so what was acknowledged survives the loss of power.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias

import apsw

from ringback.domain.errors import StorageFullError, StoreUnavailableError

Row: TypeAlias = dict[str, Any]
Numbered: TypeAlias = tuple[str, Callable[[Mapping[str, Any]], tuple[Any, ...]]]

WAL_KEPT_BYTES = (
    64 << 20
)  # what a reset log keeps on the disk: overwriting is flushed in two thirds of the time of growing

ConstraintError = apsw.ConstraintError
_PARAMETER = re.compile(r":([a-z_]+)")


class Connection:
    """A connection that returns rows as dictionaries. Not for two threads at once.

    Attributes:
        log_pages: how long the write-ahead log was after this connection's last commit.
    """

    def __init__(self, path: Path, *, is_reader: bool = False) -> None:
        self.log_pages = 0
        flags = apsw.SQLITE_OPEN_READWRITE if is_reader else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        self._names: dict[str, Sequence[str]] = {}
        self._numbered: dict[str, Numbered] = {}
        self._db = apsw.Connection(str(path), flags=flags, statementcachesize=64)
        self._db.set_busy_timeout(5_000)
        self._execute = self._db.execute
        if is_reader:
            self.run("PRAGMA query_only = ON")
        else:
            for pragma in (
                "journal_mode = WAL",
                "synchronous = FULL",
                f"journal_size_limit = {WAL_KEPT_BYTES}",
            ):
                self.run(f"PRAGMA {pragma}")
            self._db.set_wal_hook(self._note_log)  # instead of SQLite's own copying: `store.checkpoints`
        for pragma in ("cache_size = -16384", "temp_store = MEMORY", "foreign_keys = ON"):
            self.run(f"PRAGMA {pragma}")

    def run(self, sql: str, values: Mapping[str, Any] | None = None) -> None:
        """Carry out one statement and drop its rows."""
        for _ in self._execute(sql, values):
            pass

    def run_many(self, sql: str, rows: Iterable[Mapping[str, Any]]) -> int:
        """Carry out `sql` once per row; how many rows of the database were changed in all."""
        numbered = self._numbered.get(sql)
        if numbered is None:
            numbered = self._numbered[sql] = _numbered(sql)
        text, take = numbered
        before = self._db.total_changes()
        for _ in self._db.executemany(text, map(take, rows)):
            pass
        return self._db.total_changes() - before

    def fetch(self, sql: str, values: Mapping[str, Any] | None = None) -> list[Row]:
        """All rows of a question, by column name."""
        cursor = self._execute(sql, values)
        names = self._names.get(sql)
        if names is None:
            try:
                names = [column[0] for column in cursor.get_description()]
            except apsw.ExecutionCompleteError:  # no row, and so no description either
                return []
            self._names[sql] = names
        return [dict(zip(names, row, strict=True)) for row in cursor]

    def _note_log(self, _: apsw.Connection, __: str, pages: int) -> int:
        self.log_pages = pages
        return apsw.SQLITE_OK

    def script(self, text: str) -> None:
        """Several statements in one text."""
        self.run(text)

    @property
    def is_in_transaction(self) -> bool:
        return self._db.in_transaction

    def copy_to(self, path: Path) -> None:
        """A consistent copy of the whole database, while others read and write.

        In one step: between two, any commit of another connection makes the copy begin again, and on a busy ledger without end.
        """
        target = apsw.Connection(str(path))
        try:
            with target.backup("main", self._db, "main") as backup:
                while not backup.done:
                    backup.step(-1)
        finally:
            target.close()

    def close(self) -> None:
        self._db.close()


def _numbered(sql: str) -> Numbered:
    """`sql` without its comments and with numbered parameters, and what takes their values from a row: a tenth quicker."""
    names: dict[str, int] = {}
    bare = " ".join(line for line in sql.splitlines() if not line.lstrip().startswith("--"))
    text = _PARAMETER.sub(lambda found: f"?{names.setdefault(found[1], len(names) + 1)}", bare)
    if len(names) == 1:
        (name,) = names
        return text, lambda row: (row[name],)
    return text, itemgetter(*names)


def refusal_of(error: apsw.Error) -> StoreUnavailableError:
    """What a failed transaction means to whoever asked for it."""
    is_full = isinstance(error, apsw.FullError) or "disk" in str(error).lower()
    return StorageFullError() if is_full else StoreUnavailableError()


DriverError = apsw.Error
