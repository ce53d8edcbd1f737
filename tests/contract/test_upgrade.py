"""A ledger of an earlier release, with workers attached, goes on under this one."""

from __future__ import annotations

from pathlib import Path

import pytest

from ringback.store import statements
from ringback.store.connection import Connection
from ringback.store.local_notify import LocalNotify
from ringback.store.migrate import migrate
from ringback.store.sqlite import SqliteStore
from tests.builders import NOON, FakeClock

OLD = "0005_inbox"  # the last one before runtimes had connections
ATTACHED = """
INSERT INTO sessions (
    session_id, name, incarnation, slots, offers, labels, capabilities, attached_at, heartbeat_at, lease_until, epoch
) VALUES (:id, 'w', 'i', 1, '["default/command"]', '{}', '[{"name": "tracing"}]', :now, :now, :now, 0)
"""


async def test_sessions_from_before_connections_are_one_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ringback.db"
    known = statements.migrations("sqlite")
    with monkeypatch.context() as earlier:
        earlier.setattr(statements, "migrations", lambda _: [each for each in known if each[0] <= OLD])
        db = Connection(path)
        assert migrate(db, now=NOON)[-1] == OLD
        for name in ("s1", "s2"):
            db.run(ATTACHED, {"id": name, "now": NOON})
        db.close()

    store = SqliteStore(path, clock=FakeClock(), notify=LocalNotify())
    await store.open()
    sessions = {each.session_id: each for each in await store.reads.sessions()}
    assert {name: (each.connection_id, each.epoch) for name, each in sessions.items()} == {
        "s1": ("s1", 0),
        "s2": ("s2", 0),
    }
    assert {(each.protocol_version, each.capability_set) for each in sessions.values()} == {(1, None)}
    assert [each.session_id for each in await store.reads.sessions(connection_id="s1")] == ["s1"]
    await store.aclose()
