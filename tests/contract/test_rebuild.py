"""Rows are projections of events: whatever is changed in a row behind the ledger's back is found, and made again as it was."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ringback.domain.decide import create, decide
from ringback.domain.ids import InteractionId, RunId
from ringback.domain.runs import (
    Append,
    Ask,
    AttemptOutcome,
    Cancel,
    CloseInteraction,
    Command,
    NewEvent,
    NoteChild,
    Start,
)
from ringback.ports.store import Desk, Link
from ringback.store import maintenance
from ringback.store.connection import Connection
from ringback.store.local_notify import LocalNotify
from ringback.store.migrate import SchemaError
from ringback.store.ownership import LedgerInUseError
from ringback.store.sqlite import SqliteStore
from tests.builders import PROJECT, FakeClock, claim, facts, policy, queued, run_id, settle
from tests.contract.conftest import Ledger, add_project

FAILED, STOPPED = AttemptOutcome.FAILED, AttemptOutcome.STOPPED
QUESTION = InteractionId("int_1")
STORIES: dict[int, tuple[Command, ...]] = {
    1: (
        claim(),
        Start(1),
        Append(1, (), {"done": 1, "message": "é"}),
        settle(result={"exitCode": 0}, summary="3 passed"),
    ),
    2: (claim(), Start(1), settle(FAILED, result={"exitCode": 2}, error="exit 2")),
    3: (claim(), Start(1), Cancel("ann", "enough"), Append(1, (), cancel_acknowledged=True), settle(STOPPED)),
    4: (claim(), Start(1), settle(FAILED, error="exit 1"), claim(2), Start(2), settle(fence=2)),
    5: (claim(), Start(1), Ask(QUESTION, True, "Deploy?"), CloseInteraction(QUESTION, "answered"), settle()),
    6: (claim(), Start(1), NoteChild(1, run_id(1), "tool_subrun"), settle()),
    7: (),
    8: (claim(), Start(1), Ask(InteractionId("int_2"), True, "Now?")),
    9: (claim(), Start(1), settle(FAILED, error="exit 1")),
    10: (Cancel(),),
}


async def tell(ledger: Ledger, number: int, commands: tuple[Command, ...]) -> None:
    """Put run `number` down, one step a transaction, each a little later than the one before."""
    born = queued(
        number, event_sequence=0, ready_at=None, policy=policy(attempts=2 if number in (4, 9) else 1, delay=0)
    )
    frozen = facts(number, policy={"retry": {"attempts": 2, "delay": 0}} if number in (4, 9) else {})
    await ledger.store.commit(lambda desk: desk.add(frozen, create(born, {}, now=desk.now)))
    for command in commands:
        ledger.clock.advance(1_000_000)
        await ledger.store.commit(partial(_step, run=run_id(number), command=command), runs=(run_id(number),))


def _step(desk: Desk, run: RunId, command: Command) -> None:
    desk.save(decide(desk.run(run), command, now=desk.now))
    match command:
        case Ask():
            values = {"interaction_id": command.interaction_id, "run_id": run, "kind": "approval", "expires_at": None}
            desk.write("insert_interaction", {**values, "blocking": True, "prompt": "{}", "opened_at": desk.now})
        case CloseInteraction():
            closed = {"interaction_id": command.interaction_id, "status": command.status, "response": "{}"}
            desk.write("close_interaction", {**closed, "now": desk.now})
        case NoteChild():
            desk.link(Link(from_run_id=run, to_run_id=command.child_id, relation=command.relation, created_at=desk.now))
        case _:
            pass


async def written(folder: Path, write: Callable[[Ledger], Awaitable[None]]) -> None:
    """A ledger in `folder` with what `write` puts down, which nobody owns any more."""
    clock, notify, path = FakeClock(), LocalNotify(), folder / maintenance.NAME
    store = SqliteStore(path, clock=clock, notify=notify)
    await store.open()
    try:
        await add_project(store, PROJECT)
        await write(Ledger(store, clock, path, []))
    finally:
        await store.aclose()


async def _stories(ledger: Ledger) -> None:
    for number, commands in STORIES.items():
        await tell(ledger, number, commands)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the stories' ledger."""
    folder = tmp_path_factory.mktemp("told")
    asyncio.run(written(folder, _stories))
    return folder


@pytest.fixture
def data(told: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    maintenance.backup(told, tmp_path / maintenance.NAME)
    return tmp_path


def rows(data: Path) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table, byte for byte."""
    db = Connection(data / maintenance.NAME)
    names = [row["name"] for row in db.fetch("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    found = {name: sorted(db.fetch(f"SELECT * FROM {name}"), key=repr) for name in names}
    db.close()
    return found


def change(data: Path, *statements: str) -> None:
    db = Connection(data / maintenance.NAME)
    for statement in statements:
        db.run(statement)
    db.close()


def test_a_sound_ledger_has_nothing_to_correct(data: Path) -> None:
    before = rows(data)
    assert maintenance.rebuild(data, is_check=True).differences == []
    assert maintenance.rebuild(data, is_check=False).runs == len(STORIES)
    assert rows(data) == before


_OVER = "status = 'succeeded', failure_kind = NULL, ended_at = 5"
WRONGS = {
    "another end": f"UPDATE runs SET {_OVER} WHERE run_id = '{run_id(2)}'",
    "another kind of failure": f"UPDATE runs SET failure_kind = 'lost', error = 'x' WHERE run_id = '{run_id(2)}'",
    "another summary": f"UPDATE runs SET summary = '4 passed', end_reason = 'cancel_forced' WHERE run_id = '{run_id(1)}'",
    "progress": f"UPDATE runs SET progress = '{{\"done\":9}}' WHERE run_id = '{run_id(1)}'",
    "progress that is no JSON": f"UPDATE runs SET progress = 'nine' WHERE run_id = '{run_id(1)}'",
    "no result": f"UPDATE runs SET result_sequence = NULL WHERE run_id = '{run_id(1)}'",
    "sequence": f"UPDATE runs SET event_sequence = 3 WHERE run_id = '{run_id(1)}'",
    "evidence of a stop": f"UPDATE runs SET cancellation = NULL, end_reason = NULL WHERE run_id = '{run_id(3)}'",
    "attempts": f"UPDATE runs SET attempts_done = 7, next_reason = 'lost' WHERE run_id = '{run_id(4)}'",
    "outcomes": "UPDATE attempts SET outcome = 'lost', error = 'x', ended_at = 1",
    "attempts' own": "UPDATE attempts SET attempt = json_set(attempt, '$.reason', 'answer', '$.started_at', NULL)",
    "moments": f"UPDATE runs SET started_at = 1, ended_at = 2 WHERE run_id = '{run_id(1)}'",
    "questions": "UPDATE interactions SET status = 'expired', closed_at = 9",
    "overlay": f"UPDATE runs SET blocking = NULL, open_interactions = 0 WHERE run_id = '{run_id(8)}'",
    "links": "DELETE FROM run_links",
    "children": f"UPDATE runs SET children = 0 WHERE run_id = '{run_id(6)}'",
    "a timer of what has ended": f"UPDATE runs SET timer_at = 5, waiting_on = '[]' WHERE run_id = '{run_id(10)}'",
    "ended, held again": (
        f"UPDATE runs SET status = 'running', ended_at = NULL, session_id = 's1', attempt = '{{}}' WHERE run_id = '{run_id(1)}'"
    ),
}


@pytest.mark.parametrize("wrong", WRONGS.values(), ids=WRONGS.keys())
def test_a_changed_row_is_found_and_made_again(data: Path, wrong: str) -> None:
    before = rows(data)
    change(data, wrong)
    spoiled = rows(data)
    assert spoiled != before

    found = maintenance.rebuild(data, is_check=True)
    assert found.differences
    assert rows(data) == spoiled, "a check changes nothing"

    done = maintenance.rebuild(data, is_check=False)
    assert ([str(each) for each in done.differences], done.left) == ([str(each) for each in found.differences], [])
    assert rows(data) == before
    assert maintenance.rebuild(data, is_check=True).differences == []


def test_all_at_once_too(data: Path) -> None:
    before = rows(data)
    change(data, *(wrong for name, wrong in WRONGS.items() if name not in ("another kind of failure", "moments")))
    maintenance.rebuild(data, is_check=False)
    assert rows(data) == before


LEFT = {
    "an event is gone": f"DELETE FROM run_events WHERE run_id = '{run_id(1)}' AND sequence = 3",
    "all events are gone": f"DELETE FROM run_events WHERE run_id = '{run_id(7)}'",
    "an event cannot be read": f"UPDATE run_events SET body = 'x' WHERE run_id = '{run_id(1)}' AND sequence = 2",
    "a lease is gone": (
        f"UPDATE runs SET status = 'retrying', session_id = NULL, attempt = NULL WHERE run_id = '{run_id(8)}'"
    ),
    "an attempt is gone": f"DELETE FROM attempts WHERE run_id = '{run_id(4)}' AND attempt_no = 1",
    "an attempt cannot be read": f"UPDATE attempts SET attempt = '[' WHERE run_id = '{run_id(4)}' AND attempt_no = 1",
    "a question is gone": "DELETE FROM interactions WHERE interaction_id = 'int_1'",
    "a question of nobody": "UPDATE interactions SET interaction_id = 'int_3' WHERE interaction_id = 'int_1'",
    "an attempt of nobody": f"UPDATE attempts SET attempt_no = 3 WHERE run_id = '{run_id(1)}'",
}


@pytest.mark.parametrize("wrong", LEFT.values(), ids=LEFT.keys())
def test_what_no_event_tells_is_said_and_left(data: Path, wrong: str) -> None:
    change(data, wrong)
    spoiled = rows(data)
    done = maintenance.rebuild(data, is_check=False)
    assert done.left
    assert done.left == done.differences
    assert "(left: " in str(done.left[0])
    assert rows(data) == spoiled


def test_runs_with_lots_of_text_are_told_in_short(data: Path) -> None:
    change(data, f"UPDATE runs SET summary = printf('%.9999c', 'x') WHERE run_id = '{run_id(1)}'")
    (found,) = maintenance.rebuild(data, is_check=True).differences
    assert len(str(found)) < 300


async def test_a_ledger_in_use_is_left_alone(ledger: Ledger) -> None:
    with pytest.raises(LedgerInUseError):
        maintenance.rebuild(ledger.path.parent, is_check=True)


def test_a_ledger_of_another_form_is_left_alone(data: Path) -> None:
    change(data, "UPDATE schema_migrations SET name = '9999_later' WHERE name LIKE '0001%'")
    with pytest.raises(SchemaError, match="newer"):
        maintenance.rebuild(data, is_check=True)
    change(data, "DELETE FROM schema_migrations WHERE name = '9999_later'")
    with pytest.raises(SchemaError, match="older"):
        maintenance.rebuild(data, is_check=True)


async def test_ten_thousand_runs_take_seconds(tmp_path: Path) -> None:
    """Corrupted at random places, and all as before within 30 s on a busy machine; alone it takes about two."""
    chunk = NewEvent("output.chunk", {"stream": "stdout", "offset": 0, "length": 1000}, b"x" * 1000)
    commands: tuple[Command, ...] = (claim(), Start(1), Append(1, (chunk, chunk), {"done": 1}), settle(summary="done"))

    def many(desk: Desk, first: int) -> None:
        for number in range(first, first + 1000):
            desk.add(facts(number), create(queued(number, event_sequence=0, ready_at=None), {}, now=desk.now))
            for command in commands:
                desk.save(decide(desk.run(run_id(number)), command, now=desk.now))

    async def write(ledger: Ledger) -> None:
        for first in range(1, 10_001, 1000):
            await ledger.store.commit(partial(many, first=first))

    await written(tmp_path, write)
    before = rows(tmp_path)["runs"]
    numbers = random.Random(4).sample(range(1, 10_001), 300)
    change(tmp_path, *(f"UPDATE runs SET summary = 'x' WHERE run_id = '{run_id(number)}'" for number in numbers))

    began = time.monotonic()
    done = maintenance.rebuild(tmp_path, is_check=False)
    took_s = time.monotonic() - began

    assert (done.runs, len(done.differences)) == (10_000, 300)
    assert rows(tmp_path)["runs"] == before
    assert took_s < 30
