"""Every store under test, opened fresh for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ringback.domain.ids import ProjectId
from ringback.ports.store import Change, Desk
from ringback.store.local_notify import LocalNotify
from ringback.store.sqlite import SqliteStore
from tests.builders import PROJECT, FakeClock


@dataclass(slots=True)
class Ledger:
    """A store with its clock and what it announced."""

    store: SqliteStore
    clock: FakeClock
    path: Path
    announced: list[Change]


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[Ledger]:
    clock, notify, path = FakeClock(), LocalNotify(), tmp_path / "ringback.db"
    announced: list[Change] = []
    notify.listen(announced.extend)
    store = SqliteStore(path, clock=clock, notify=notify)
    await store.open()
    await add_project(store, PROJECT)
    yield Ledger(store, clock, path, announced)
    await store.aclose()


async def add_project(store: SqliteStore, project_id: ProjectId) -> None:
    """Runs belong to a project, so there must be one."""
    org = {"org_id": "o1", "name": "o1", "created_at": 0}
    project = {"project_id": project_id, "org_id": "o1", "slug": project_id, "name": project_id, "created_at": 0}

    def work(desk: Desk) -> None:
        desk.write("insert_org", org)
        desk.write("insert_project", project)

    await store.commit(work)
