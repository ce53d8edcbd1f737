"""Brings a ledger's schema up to date: numbered files, forward only, each in a transaction of its own (decision 0005)."""

from __future__ import annotations

import hashlib

from ringback.domain.errors import StoreUnavailableError
from ringback.domain.moments import Moment
from ringback.store import statements
from ringback.store.connection import Connection

_TABLE = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    name TEXT PRIMARY KEY,
    digest TEXT NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT
"""


class SchemaError(StoreUnavailableError):
    """The ledger was written by a newer release, or one of its migrations was edited afterwards."""

    code = "schema_mismatch"

    def __init__(self, detail: str) -> None:
        super().__init__(detail)

    def __str__(self) -> str:
        return str(self.args[0])


def migrate(db: Connection, *, now: Moment) -> list[str]:
    """Apply what is missing; the names of what was applied, oldest first.

    Raises:
        SchemaError: the ledger holds a migration that this release doesn't know, or knows differently.
    """
    db.run(_TABLE)
    done = {row["name"]: row["digest"] for row in db.fetch("SELECT name, digest FROM schema_migrations")}
    known = statements.migrations("sqlite")
    if strange := sorted(set(done) - {name for name, _ in known}):
        raise SchemaError(f"this ledger was written by a newer release (it has {strange[-1]}); update Ringback")
    applied: list[str] = []
    for name, script in known:
        digest = hashlib.sha256(script.encode()).hexdigest()
        if name in done:
            if done[name] != digest:
                raise SchemaError(f"migration {name} differs from the one that made this ledger")
            continue
        db.run("BEGIN IMMEDIATE")
        db.script(script)
        db.run(
            "INSERT INTO schema_migrations (name, digest, applied_at) VALUES (:name, :digest, :now)",
            {"name": name, "digest": digest, "now": now},
        )
        db.run("COMMIT")
        applied.append(name)
    return applied


def check_schema(db: Connection) -> None:
    """Refuse a ledger whose form is not this release's.

    Raises:
        SchemaError: it lacks a migration, or holds one that this release doesn't know.
    """
    names = {row["name"] for row in db.fetch("SELECT name FROM schema_migrations")}
    known = {name for name, _ in statements.migrations("sqlite")}
    if names - known:
        raise SchemaError("this ledger was written by a newer release; update Ringback")
    if known - names:
        raise SchemaError("this ledger was written by an older release; bring it up with `ringback db migrate`")
