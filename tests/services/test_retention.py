"""Retention is honest: of a run that went nothing is left, and each that stayed replays as before."""

from __future__ import annotations

import random

from ringback.domain.ids import RunId
from ringback.domain.moments import DAY
from ringback.domain.runs import AttemptOutcome
from ringback.services.births import Parent
from ringback.store import maintenance
from ringback.store.connection import Connection
from tests.installed import Installed

NAMES_OTHERS = {("run_facts", "depends_on"), ("run_facts", "parent_id"), ("audit", "subject"), ("audit", "facts")}


async def _family(here: Installed, chance: random.Random) -> list[RunId]:
    """A run with a question, output, a child that may outlive it, and others that refer to it."""
    root = await here.start(idempotency_key=f"k{chance.random()}")
    session = await here.attach()
    (claim,) = await here.claim(session, 1)
    await here.begin(session, claim)
    await here.core.interactions.ask(claim["runId"], claim["fence"], {"kind": "approval", "title": "?", "key": "q"})
    await here.tell(session, claim, checkpoint='{"at":1}')
    child = await here.start(parent=Parent(run_id=RunId(claim["runId"]), fence=claim["fence"]))
    after = await here.start(depends_on=[root.run_id])
    again = await here.start(follow_up_of=root.run_id)
    if chance.random() < 0.5:
        await here.run_once(session)
        here.clock.advance(chance.randrange(3) * DAY)
    if chance.random() < 0.8:
        outcome = chance.choice([AttemptOutcome.SUCCEEDED, AttemptOutcome.FAILED])
        await here.settle(session, claim, outcome, result={"exitCode": 0})
    while await here.core.engine.outbox.pay():
        pass
    return [root.run_id, child.run_id, after.run_id, again.run_id]


def _left_of(here: Installed, gone: list[RunId]) -> list[tuple[str, str]]:
    db = Connection(here.path)
    found = []
    for table in [row["name"] for row in db.fetch("SELECT name FROM sqlite_schema WHERE type = 'table'")]:
        for row in db.fetch(f"SELECT * FROM {table}"):
            found += [
                (table, column)
                for column, value in row.items()
                if (table, column) not in NAMES_OTHERS and any(run_id in str(value) for run_id in gone)
            ]
    db.close()
    return found


async def test_a_run_goes_whole_and_the_others_replay_as_before(here: Installed) -> None:
    chance, born = random.Random(7), list[RunId]()
    removed = 0
    for _ in range(12):
        born += await _family(here, chance)
        here.clock.advance(chance.randrange(12) * DAY)
        removed += await here.core.engine.retention.remove()
        runs = {run_id: await here.core.store.reads.run(run_id) for run_id in born}
        assert _left_of(here, [run_id for run_id, run in runs.items() if run is None]) == []
        for run in runs.values():
            if run is not None:
                matches, _ = await here.core.results.replay(run)
                assert matches, run
    assert removed > 5
    assert maintenance.check(here.path.parent) == []
