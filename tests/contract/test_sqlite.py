"""What only the SQLite ledger promises: durability, a bounded log, honesty on a full disk, one owner, quick questions."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringback.domain.decide import create, decide
from ringback.domain.errors import StorageFullError
from ringback.domain.moments import DAY
from ringback.domain.runs import Cancel, Run
from ringback.engine.retention import Retention
from ringback.store import maintenance, statements
from ringback.store.connection import Connection
from ringback.store.local_notify import LocalNotify
from ringback.store.migrate import SchemaError, migrate
from ringback.store.ownership import LedgerInUseError
from ringback.store.sqlite import SqliteStore
from tests.builders import NOON, PROJECT, FakeClock, facts, queued, run_id
from tests.contract.conftest import Ledger, add_project


async def add(store: SqliteStore, number: int, payload: str = "") -> Run:
    run = queued(number, event_sequence=0)
    body = {"mode": "tool", "arguments": {"payload": payload}}
    return await store.commit(lambda desk: desk.add(facts(number, input=body), create(run, {}, now=desk.now)))


async def test_commits_are_flushed_in_full(ledger: Ledger) -> None:
    db = Connection(ledger.path)
    (mode,), (sync,) = db.fetch("PRAGMA journal_mode"), db.fetch("PRAGMA synchronous")
    db.close()

    assert mode["journal_mode"] == "wal"
    assert sync["synchronous"] == 2  # FULL


async def test_many_units_share_a_flush(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    commits: list[str] = []
    run = Connection.run

    def counted(self: Connection, sql: str, values: object = None) -> None:
        commits.extend([sql] if sql == "COMMIT" else [])
        run(self, sql, values)  # type: ignore[arg-type]

    monkeypatch.setattr(Connection, "run", counted)
    await asyncio.gather(*(add(ledger.store, number) for number in range(1, 101)))

    assert len(commits) <= 3


async def test_a_second_process_cannot_own_the_ledger(ledger: Ledger) -> None:
    second = SqliteStore(ledger.path, clock=ledger.clock, notify=LocalNotify())

    with pytest.raises(LedgerInUseError, match=str(os.getpid())):
        await second.open()


async def test_a_row_that_another_hand_moved_is_noticed_and_read_again(ledger: Ledger) -> None:
    """What the process keeps at hand is never believed against the version in the row."""
    await add(ledger.store, 1)
    other = Connection(ledger.path)
    other.run("UPDATE runs SET version = 9, summary = 'by hand'")
    other.close()
    one = (run_id(1),)

    after = await ledger.store.commit(
        lambda desk: desk.save(decide(desk.run(one[0]), Cancel(), now=desk.now)), runs=one
    )

    assert after.version == 10
    assert await ledger.store.reads.run(run_id(1)) == after


CRASHES = """
import asyncio, os, sys
from pathlib import Path
from ringback.store.local_notify import LocalNotify
from ringback.store.sqlite import SqliteStore
from tests.builders import FakeClock
from tests.contract.conftest import add_project
from tests.contract.test_sqlite import add

async def main():
    store = SqliteStore(Path(sys.argv[1]), clock=FakeClock(), notify=LocalNotify())
    await store.open()
    await add_project(store, "p1")
    for number in range(1, 41):
        await add(store, number)
        os.write(1, b"%d\\n" % number)
    os.kill(os.getpid(), 9)

asyncio.run(main())
"""


async def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "ringback.db"
    died = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", CRASHES, str(path)], capture_output=True, check=False, timeout=60
    )
    acknowledged = [int(line) for line in died.stdout.split()]
    store = SqliteStore(path, clock=FakeClock(), notify=LocalNotify())
    await store.open()

    kept = [await store.reads.run(run_id(number)) for number in acknowledged]

    await store.aclose()
    assert died.returncode == -9
    assert len(acknowledged) == 40
    assert None not in kept
    assert maintenance.check(tmp_path) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 12 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"needs a tmpfs, and this machine does not let us mount one: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


async def test_on_a_full_disk_nothing_is_acknowledged_that_was_not_stored(small_disk: Path) -> None:
    """O55."""
    folder = small_disk
    store = SqliteStore(folder / "ringback.db", clock=FakeClock(), notify=LocalNotify())
    await store.open()
    await add_project(store, PROJECT)
    await add(store, 1)
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:  # nothing may be left to be written when it is closed
        try:
            while True:
                file.write(b"x" * 65536)
        except OSError:
            pass
    stored, refused = [1], []
    for number in range(2, 60):
        try:
            await add(store, number, "y" * 20_000)
            stored.append(number)
        except StorageFullError:
            refused.append(number)
    ballast.unlink()

    after = await add(store, 100)

    assert refused, "the disk was never full"
    assert after.run_id == run_id(100)
    assert [n for n in (*stored, 100) if await store.reads.run(run_id(n)) is None] == []
    assert [n for n in refused if await store.reads.run(run_id(n)) is not None] == []
    await store.aclose()
    assert maintenance.check(folder) == []


async def test_the_log_stays_bounded_while_readers_come_and_go(ledger: Ledger) -> None:
    """O54: no reader keeps a snapshot, so a checkpoint can always reset the log."""
    largest = 0
    for start in range(0, 1500, 100):
        numbers = range(start + 1, start + 101)
        await asyncio.gather(*(add(ledger.store, number, "z" * 60_000) for number in numbers))
        await ledger.store.reads.events(run_id(start + 1), after=0, limit=10)
        await ledger.store.reads.runs(PROJECT, statuses=(), tool=None, before=None, limit=50)
        largest = max(largest, ledger.path.with_name("ringback.db-wal").stat().st_size)

    assert largest < 80 * 2**20, f"the log grew to {largest} bytes while 90 MB were written"


async def test_a_backup_of_a_ledger_in_use_is_whole(ledger: Ledger, tmp_path: Path) -> None:
    await asyncio.gather(*(add(ledger.store, number) for number in range(1, 51)))
    target = tmp_path / "copy" / "ringback.db"
    target.parent.mkdir()
    writing = [asyncio.create_task(add(ledger.store, number)) for number in range(51, 101)]

    await asyncio.to_thread(maintenance.backup, tmp_path, target)
    await asyncio.gather(*writing)

    assert maintenance.check(target.parent) == []
    assert target.stat().st_mode & 0o777 == 0o600
    copy = Connection(target)
    (row,) = copy.fetch("SELECT COUNT(*) AS runs FROM runs")
    copy.close()
    assert row["runs"] >= 50


async def test_a_backup_ends_although_others_keep_writing(ledger: Ledger, tmp_path: Path) -> None:
    other = Connection(ledger.path)
    other.run("PRAGMA synchronous = OFF")
    other.run("CREATE TABLE ballast (data BLOB)")
    other.run("INSERT INTO ballast SELECT zeroblob(1000000) FROM json_each('[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]')")
    target = tmp_path / "copy" / "ringback.db"
    target.parent.mkdir()
    is_over = threading.Event()

    def write() -> None:
        while not is_over.is_set():
            other.run("INSERT INTO ballast VALUES (NULL)")

    writing = asyncio.create_task(asyncio.to_thread(write))
    copying = asyncio.create_task(asyncio.to_thread(maintenance.backup, tmp_path, target))
    try:
        await asyncio.wait({copying}, timeout=10)
        assert copying.done()
    finally:
        is_over.set()
        await asyncio.gather(writing, copying)
        other.close()
    assert maintenance.check(target.parent) == []


async def test_check_finds_a_gap_in_an_event_sequence(ledger: Ledger, tmp_path: Path) -> None:
    await add(ledger.store, 1)
    db = Connection(ledger.path)
    db.run("DELETE FROM run_events")
    db.close()

    assert maintenance.check(tmp_path) == [f"run {run_id(1)}: event sequences have a gap"]


def test_a_ledger_of_a_newer_release_is_refused(tmp_path: Path) -> None:
    db = Connection(tmp_path / "ringback.db")
    migrate(db, now=NOON)
    db.run("INSERT INTO schema_migrations VALUES ('9999_future', '', 0)")

    with pytest.raises(SchemaError, match="newer release"):
        migrate(db, now=NOON)
    db.close()


def test_an_edited_migration_is_refused(tmp_path: Path) -> None:
    db = Connection(tmp_path / "ringback.db")
    migrate(db, now=NOON)
    db.run("UPDATE schema_migrations SET digest = 'other'")

    with pytest.raises(SchemaError, match="differs"):
        migrate(db, now=NOON)
    db.close()


def test_migrating_twice_applies_nothing(tmp_path: Path) -> None:
    db = Connection(tmp_path / "ringback.db")
    first, second = migrate(db, now=NOON), migrate(db, now=NOON)
    db.close()

    assert first == [name for name, _ in statements.migrations("sqlite")]
    assert second == []


def test_a_migration_that_came_late_is_applied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Releases met ledgers with 0005 and without 0004; these end up with the schema of a fresh one."""
    every = statements.migrations("sqlite")
    late, fresh = Connection(tmp_path / "late.db"), Connection(tmp_path / "fresh.db")
    with monkeypatch.context() as before:
        without = [each for each in every if each[0] != "0004_scripts"]
        before.setattr("ringback.store.migrate.statements.migrations", lambda _: without)
        assert migrate(late, now=NOON) == [name for name, _ in without]
    applied, _ = migrate(late, now=NOON), migrate(fresh, now=NOON)
    schemas = [
        {(row["name"], row["sql"]) for row in db.fetch("SELECT name, sql FROM sqlite_master")} for db in (late, fresh)
    ]
    late.close()
    fresh.close()

    assert applied == ["0004_scripts"]
    assert schemas[0] == schemas[1]


HOT = (
    "continuation",
    "continuation_named",
    "waiting_continuations",
    "load_runs",
    "load_key",
    "lane_heads",
    "ready_lanes",
    "held_lanes",
    "due_timers",
    "next_timer",
    "events_after",
    "project_events_after",
    "list_runs",
    "runs_held_by",
    "load_attempts",
    "links_to",
    "links_from",
    "expired_sessions",
    "orphaned_runs",
    "expired_runs",
    "save_run",
    "token_by_digest",
    "load_facts",
)


SORTS_A_HANDFUL = ("links_to", "links_from", "runs_held_by", "held_lanes")  # bounded by one run's links or by slots


@pytest.mark.parametrize("name", HOT)
async def test_a_hot_statement_never_walks_a_table(ledger: Ledger, name: str) -> None:
    """Cost must not grow with the number of finished runs: every step is a search, or a walk along a small index."""
    sql = statements.load("sqlite")[name]
    parameters = dict.fromkeys(_names_in(sql))
    db = Connection(ledger.path)
    plan = [str(row["detail"]) for row in db.fetch(f"EXPLAIN QUERY PLAN {sql}", parameters)]
    db.close()

    allowed = (
        "SCAN json_each",
        "SCAN lanes",
        "SCAN first_lane",
        "SCAN runs USING COVERING INDEX runs_",
        "SCAN sessions",
        "SCAN outbox",
    )
    walks = [step for step in plan if step.startswith("SCAN") and not step.startswith(allowed)]
    assert walks == [], plan
    assert name in SORTS_A_HANDFUL or not any("TEMP B-TREE" in step for step in plan), plan


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("ready_lanes", "SEARCH runs USING COVERING INDEX runs_ready (project_id=? AND lane>?)"),
        ("lane_heads", "SEARCH runs USING INDEX runs_ready (project_id=? AND lane=?)"),
        ("list_open_runs", "SEARCH runs USING INDEX runs_open (project_id=? AND status=? AND run_id<?)"),
        (
            "list_unsuccessful_runs",
            "SEARCH runs USING INDEX runs_unsuccessful (project_id=? AND status=? AND run_id<?)",
        ),
    ],
)
async def test_a_question_uses_the_index_made_for_it(ledger: Ledger, name: str, step: str) -> None:
    sql = statements.load("sqlite")[name]
    db = Connection(ledger.path)
    plan = [str(row["detail"]) for row in db.fetch(f"EXPLAIN QUERY PLAN {sql}", dict.fromkeys(_names_in(sql)))]
    db.close()

    assert step in plan, plan


def _names_in(sql: str) -> set[str]:
    return set(re.findall(r"(?<!:):([a-z_]+)", sql))


async def test_retention_removes_runs_whole(ledger: Ledger, tmp_path: Path) -> None:
    for number in (1, 2):
        await add(ledger.store, number)
    one = (run_id(1),)
    await ledger.store.commit(lambda desk: desk.save(decide(desk.run(one[0]), Cancel(), now=desk.now)), runs=one)
    ledger.clock.advance(31 * DAY)
    retention = Retention(store=ledger.store, clock=ledger.clock, keep=30 * DAY)

    assert await retention.remove() == 1
    assert await ledger.store.reads.run(run_id(1)) is None
    assert await ledger.store.reads.run(run_id(2)) is not None
    assert maintenance.check(tmp_path) == []


async def test_retention_removes_a_run_that_a_token_opens(ledger: Ledger, tmp_path: Path) -> None:
    """The token goes with its run: a row that refers to it would keep it, and every run removed in the same batch."""
    run = await add(ledger.store, 1)
    token = {"token_id": "t1", "digest": "d", "run_id": run.run_id, "issued_by": "me", "created_at": 0}
    await ledger.store.commit(lambda desk: desk.write("insert_capability_token", {**token, "expires_at": 1}))
    one = (run.run_id,)
    await ledger.store.commit(lambda desk: desk.save(decide(desk.run(one[0]), Cancel(), now=desk.now)), runs=one)
    ledger.clock.advance(31 * DAY)

    assert await Retention(store=ledger.store, clock=ledger.clock, keep=30 * DAY).remove() == 1
    assert await ledger.store.reads.rows("capabilities_of_run", {"run_id": run.run_id}) == []
    assert maintenance.check(tmp_path) == []
