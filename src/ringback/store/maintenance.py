"""Care for a ledger from outside the server: copy it, check it, migrate it, make its rows again, give space back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ringback.store.clock import SystemClock
from ringback.store.connection import Connection, DriverError, refusal_of
from ringback.store.migrate import check_schema, migrate as migrate_schema
from ringback.store.ownership import Ownership
from ringback.store.rebuild import Rebuilt, rebuild as rebuild_rows

NAME = "ringback.db"

# What the ledger's own rules say must not be; each question finds the ids that break one.
_LAWS = {
    "event sequences have a gap": """
        SELECT run_id FROM runs WHERE event_sequence <>
            (SELECT COUNT(*) FROM run_events WHERE run_events.run_id = runs.run_id)
        OR event_sequence <> (SELECT COALESCE(MAX(sequence), 0) FROM run_events WHERE run_events.run_id = runs.run_id)
        LIMIT 20""",
    "ended attempts are missing": """
        SELECT run_id FROM runs WHERE attempts_done <>
            (SELECT COUNT(*) FROM attempts WHERE attempts.run_id = runs.run_id) LIMIT 20""",
    "the facts of the run are missing": """
        SELECT run_id FROM runs WHERE NOT EXISTS
            (SELECT 1 FROM run_facts WHERE run_facts.run_id = runs.run_id) LIMIT 20""",
    "an idempotency key names a run that is gone": """
        SELECT run_id FROM idempotency_keys WHERE NOT EXISTS
            (SELECT 1 FROM runs WHERE runs.run_id = idempotency_keys.run_id) LIMIT 20""",
}


def backup(data: Path, target: Path) -> None:
    """Copy the ledger of `data` to `target`, consistently, while a server uses it or not.

    The copy appears whole or not at all.
    """
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    with _open(data) as db:
        try:
            db.copy_to(draft)
            draft.chmod(0o600)
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)


def check(data: Path) -> list[str]:
    """What is wrong with the ledger: the database's own check, then the laws that no schema can express. Empty: sound."""
    with _open(data) as db:
        found = [str(row["integrity_check"]) for row in db.fetch("PRAGMA integrity_check(20)")]
        problems = [text for text in found if text != "ok"]
        broken = db.fetch("PRAGMA foreign_key_check")
        problems += [f"a row of {row['table']} refers to a row of {row['parent']} that is gone" for row in broken[:20]]
        if not problems:
            problems = [f"run {row['run_id']}: {law}" for law, question in _LAWS.items() for row in db.fetch(question)]
    return problems


def migrate(data: Path) -> list[str]:
    """Bring the ledger to this release's schema; the names of the migrations applied.

    Raises:
        StoreUnavailableError: a server owns it, or a newer release wrote it.
    """
    ownership = Ownership(data / NAME)
    try:
        with _open(data) as db:
            return migrate_schema(db, now=SystemClock().now())
    finally:
        ownership.release()


def rebuild(data: Path, *, is_check: bool) -> Rebuilt:
    """Compare every run's rows with its events, and unless it is a check bring them in line.

    Raises:
        StoreUnavailableError: a server owns it, or its form is not this release's.
    """
    ownership = Ownership(data / NAME)
    try:
        with _open(data) as db:
            check_schema(db)
            return rebuild_rows(db, is_check=is_check)
    finally:
        ownership.release()


def vacuum(data: Path) -> None:
    """Give space that is no longer used back to the file system."""
    ownership = Ownership(data / NAME)
    try:
        with _open(data) as db:
            db.run("VACUUM")
            db.run("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        ownership.release()


@contextmanager
def _open(data: Path) -> Iterator[Connection]:
    try:
        db = Connection(data / NAME)
    except DriverError as error:
        raise refusal_of(error) from error
    try:
        yield db
    except DriverError as error:
        raise refusal_of(error) from error
    finally:
        db.close()
