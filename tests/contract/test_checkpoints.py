"""The write-ahead log is copied beside the commits (decision 0013)."""

from __future__ import annotations

import threading

import apsw
import pytest

from ringback.store import checkpoints, maintenance
from ringback.store.checkpoints import Checkpoints
from tests.builders import PROJECT
from tests.contract.conftest import Ledger
from tests.contract.test_sqlite import add


async def test_commits_go_on_while_the_log_is_copied(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decision 0013: whoever commits does not wait for the copying."""
    may_copy, copies = threading.Event(), 0
    copy = Checkpoints._copy

    def held_up(self: Checkpoints) -> bool:
        nonlocal copies
        copies += 1
        assert may_copy.wait(60)
        return copy(self)

    monkeypatch.setattr(checkpoints, "COPY_PAGES", 1)
    monkeypatch.setattr(Checkpoints, "_copy", held_up)
    ledger.store._checkpoints._due_at = 1
    for number in range(1, 21):
        await add(ledger.store, number)
    assert copies == 1
    may_copy.set()
    while copies < 3:  # what was left is copied, and the next round begins
        number += 1
        await add(ledger.store, number)

    assert len(await ledger.store.reads.runs(PROJECT, statuses=(), tool=None, before=None, limit=200)) == number


async def test_a_reader_that_holds_the_log_delays_its_copying_and_loses_nothing(ledger: Ledger) -> None:
    ledger.store._checkpoints._due_at = 1
    reader = apsw.Connection(str(ledger.path))
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM runs").fetchall()
    for number in range(1, 11):
        await add(ledger.store, number)
    while ledger.store._checkpoints._due_at <= checkpoints.COPY_PAGES:  # it was tried, and is put off
        number += 1
        await add(ledger.store, number)
    reader.execute("COMMIT")
    reader.close()

    assert maintenance.check(ledger.path.parent) == []
