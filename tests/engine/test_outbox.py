"""The outbox: dependents and children are told, however often and however late."""

from __future__ import annotations

import asyncio

import pytest

from ringback.domain.errors import StoreUnavailableError
from ringback.domain.ids import InteractionId
from ringback.domain.runs import Ask, AttemptOutcome
from ringback.domain.states import FailureKind, Status
from ringback.engine.apply import apply
from ringback.services.births import Parent
from ringback.store.connection import Connection
from tests.installed import PROJECT, Installed


async def test_a_dependent_runs_after_its_upstream_and_not_before(here: Installed) -> None:
    """O47."""
    first = await here.start()
    second = await here.start(depends_on=(first.run_id,))
    session = await here.attach()
    assert (await here.core.runs.describe(second)).waiting_for == {"kind": "dependency", "runIds": [first.run_id]}

    await here.run_once(session)
    assert await here.claim(session) == []
    await here.core.engine.outbox.pay()

    assert [claim["runId"] for claim in await here.claim(session)] == [second.run_id]


async def test_a_failure_ends_the_whole_chain_below_it(here: Installed) -> None:
    """O46."""
    first = await here.start()
    second = await here.start(depends_on=(first.run_id,))
    third = await here.start(depends_on=(second.run_id,))
    await here.run_once(await here.attach(), AttemptOutcome.FAILED)

    while await here.core.engine.outbox.pay():
        pass

    for run, above in ((second, first), (third, second)):
        after = await here.look(run.run_id)
        assert (after.status, after.failure_kind) == (Status.FAILED, FailureKind.DEPENDENCY_FAILED)
        assert above.run_id in (after.error or "")


async def test_a_run_that_runs_always_does_not_mind_a_failure(here: Installed) -> None:
    first = await here.start()
    cleanup = await here.start(depends_on=(first.run_id,), run_on="always")
    session = await here.attach()
    await here.run_once(session, AttemptOutcome.FAILED)
    await here.core.engine.outbox.pay()

    assert [claim["runId"] for claim in await here.claim(session)] == [cleanup.run_id]


async def test_a_dependent_of_a_run_that_has_ended_needs_no_outbox(here: Installed) -> None:
    first = await here.start()
    session = await here.attach()
    await here.run_once(session)
    second = await here.start(depends_on=(first.run_id,))

    assert [claim["runId"] for claim in await here.claim(session)] == [second.run_id]


async def test_children_follow_a_stop(here: Installed) -> None:
    parent = await here.start()
    session = await here.attach()
    (claim,) = await here.claim(session, 1)
    await here.begin(session, claim)
    child = await here.start(parent=Parent(run_id=parent.run_id, fence=claim["fence"]))
    loose = await here.start(parent=Parent(run_id=parent.run_id, fence=claim["fence"], relation="follow_up"))
    await here.core.runs.cancel(PROJECT, parent.run_id, by="me")

    await here.core.engine.outbox.pay()

    assert (await here.look(child.run_id)).status is Status.CANCELED
    assert (await here.look(loose.run_id)).status is Status.QUEUED


async def test_an_entry_stays_until_it_was_carried_out(here: Installed, monkeypatch: pytest.MonkeyPatch) -> None:
    first = await here.start()
    second = await here.start(depends_on=(first.run_id,))
    await here.run_once(await here.attach())
    reads = here.core.store.reads
    outbox = await reads.outbox(limit=10)
    assert [(entry["topic"], entry["run_id"]) for entry in outbox] == [("dependents", first.run_id)]

    await asyncio.gather(here.core.engine.outbox.pay(), here.core.engine.outbox.pay())

    assert await reads.outbox(limit=10) == []
    after = await here.look(second.run_id)
    assert (after.waiting_on, after.ready_at is not None) == ((), True)


async def test_the_loop_wakes_when_something_is_owed(here: Installed) -> None:
    outbox = here.core.engine.outbox
    outbox.paid.arm()
    task = asyncio.create_task(outbox.run())
    assert await outbox.paid.next() == 0
    first = await here.start()
    second = await here.start(depends_on=(first.run_id,))
    await here.run_once(await here.attach())

    while await outbox.paid.next() == 0:
        pass
    task.cancel()

    assert (await here.look(second.run_id)).ready_at is not None


async def test_questions_of_an_ended_run_are_withdrawn(here: Installed) -> None:
    run = await here.start()
    store, session = here.core.store, await here.attach()
    (claim,) = await here.claim(session, 1)
    await here.begin(session, claim)
    db = Connection(here.path)
    db.run(
        f"INSERT INTO interactions VALUES ('i1', '{run.run_id}', 'approval', 1, 'open', '{{}}', NULL, 0, NULL, NULL)"
    )
    await apply(store, run.run_id, Ask(InteractionId("i1"), is_blocking=True, reason="approval"))
    assert (await here.core.runs.describe(await here.look(run.run_id))).waiting_for == {
        "kind": "interaction",
        "interactionId": "i1",
        "reason": "approval",
    }
    await here.settle(session, claim)

    await here.core.engine.outbox.pay()

    rows = db.fetch("SELECT status, closed_at FROM interactions")
    db.close()
    assert rows == [{"status": "withdrawn", "closed_at": here.clock.now()}]


async def test_a_debt_that_cannot_be_paid_now_is_paid_later(here: Installed, monkeypatch: pytest.MonkeyPatch) -> None:
    outbox = here.core.engine.outbox
    first = await here.start()
    second = await here.start(depends_on=(first.run_id,))
    await here.run_once(await here.attach())
    failures = iter([StoreUnavailableError()])
    commit = type(here.core.store).commit

    async def failing(self: object, *args: object, **kwargs: object) -> object:
        for error in failures:
            raise error
        return await commit(self, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(type(here.core.store), "commit", failing)
    outbox.again_after = 1
    outbox.paid.arm()
    task = asyncio.create_task(outbox.run())

    assert await outbox.paid.next() == 1
    task.cancel()
    assert (await here.look(second.run_id)).ready_at is not None
