"""The runtime protocol's rules, without HTTP."""

from __future__ import annotations

import asyncio

import pytest

from ringback.domain.errors import SessionExpiredError, StoreUnavailableError
from ringback.domain.moments import SECOND
from ringback.domain.runs import AttemptOutcome
from ringback.domain.states import EndReason, Status, TimeLimit
from ringback.services.handing_out import HandingOut
from ringback.services.reports import ChildReport, SettleReport, StartReport
from ringback.services.workers import Attach, Workers
from tests.builders import run_id
from tests.installed import PROJECT, Installed, tool


async def test_an_assignment_says_all_that_an_attempt_needs(here: Installed) -> None:
    await here.apply(tool(policy={"timeouts": {"attemptS": 2, "idleS": 1, "totalS": 60}, "cancelGraceS": 3}))
    run = await here.start(traceparent="00-abc")

    (claim,) = await here.claim(await here.attach())

    assert claim["runId"] == run.run_id
    assert claim["arguments"] == {"text": "hello"}
    assert (claim["timeoutMs"], claim["idleTimeoutMs"], claim["graceMs"], claim["deadlineInMs"]) == (
        2000,
        1000,
        3000,
        60000,
    )
    assert (claim["fence"], claim["attemptNo"], claim["traceparent"]) == (1, 1, "00-abc")
    assert "checkpoint" not in claim


async def test_the_next_attempt_finds_what_the_last_one_saved(here: Installed) -> None:
    await here.apply(tool(policy={"retry": {"attemptsMax": 2, "delayS": 0, "jitterS": 0}}))
    await here.start()
    session = await here.attach()
    (claim,) = await here.claim(session)
    await here.begin(session, claim)
    await here.tell(session, claim, checkpoint='{"page":3}')
    await here.settle(session, claim, AttemptOutcome.FAILED)
    await here.core.engine.timers.fire()

    (again,) = await here.claim(session)

    assert again["checkpoint"] == {"page": 3}


async def test_a_stop_before_the_start_is_final_and_the_start_is_refused(here: Installed) -> None:
    """O16."""
    run = await here.start()
    session = await here.attach()
    (claim,) = await here.claim(session)
    stopped = await here.core.runs.cancel(PROJECT, run.run_id, by="me")

    (answer,) = await here.core.workers.report(session, [StartReport(run_id=run.run_id, fence=claim["fence"])])

    assert (stopped.status, stopped.end_reason) == (Status.CANCELED, EndReason.CANCELLED_BEFORE_START)
    assert answer["code"] == "cancel_requested"


async def test_a_stop_reaches_a_worker_that_waits(here: Installed) -> None:
    run = await here.start()
    session = await here.attach()
    (claim,) = await here.claim(session)
    await here.begin(session, claim)
    waiting = asyncio.create_task(here.core.workers.handing_out.claim(session, slots=0, wait_s=20))
    await here.core.runs.cancel(PROJECT, run.run_id, by="me", reason="enough")

    async with asyncio.timeout(15):
        work = await waiting

    assert [(stop.run_id, stop.fence, stop.reason) for stop in work.stops] == [(run.run_id, 1, "enough")]
    again, _ = await here.core.workers.heartbeat(session.session_id, [(run.run_id, 1)])
    assert [stop.run_id for stop in again.stops] == [run.run_id]
    await here.tell(session, claim, cancel_delivered=True, cancel_acknowledged=True)
    await here.settle(session, claim, AttemptOutcome.STOPPED)
    after = await here.look(run.run_id)
    assert (after.status, after.end_reason) == (Status.CANCELED, EndReason.CANCELLED_COOPERATIVELY)
    assert after.cancellation is not None
    assert after.cancellation.delivered_at is not None


async def test_work_that_completed_despite_a_stop_is_said_to_have_completed(here: Installed) -> None:
    run = await here.start()
    session = await here.attach()
    (claim,) = await here.claim(session)
    await here.begin(session, claim)
    await here.core.runs.cancel(PROJECT, run.run_id, by="me")

    await here.settle(session, claim)

    after = await here.look(run.run_id)
    assert (after.status, after.end_reason) == (Status.SUCCEEDED, EndReason.COMPLETED_DESPITE_CANCEL)


async def test_a_refused_report_stands_in_no_others_way(here: Installed) -> None:
    first, second = await here.start(), await here.start()
    session = await here.attach()
    claims = {claim["runId"]: claim for claim in await here.claim(session)}
    reports = [
        StartReport(run_id=first.run_id, fence=99),
        StartReport(run_id=run_id(5), fence=1),
        StartReport(run_id=second.run_id, fence=claims[second.run_id]["fence"]),
    ]

    answers = await here.core.workers.report(session, reports)

    assert [answer.get("code", "ok") for answer in answers] == ["stale_fence", "not_found", "ok"]
    assert (await here.look(second.run_id)).status is Status.RUNNING


async def test_reports_of_one_request_are_decided_in_order(here: Installed) -> None:
    run = await here.start()
    session = await here.attach()
    (claim,) = await here.claim(session)
    settle = SettleReport(run_id=run.run_id, fence=1, outcome=AttemptOutcome.SUCCEEDED, result={})

    answers = await here.core.workers.report(session, [StartReport(run_id=run.run_id, fence=1), settle, settle])

    assert [answer["ok"] for answer in answers] == [True, True, False]
    assert claim["fence"] == 1


async def test_a_child_is_started_once_however_often_it_is_reported(here: Installed) -> None:
    parent = await here.start()
    session = await here.attach()
    (claim,) = await here.claim(session)
    await here.begin(session, claim)
    report = ChildReport(run_id=parent.run_id, fence=1, request_id="r1", tool="echo", arguments={"text": "x"})

    first, second = await here.core.workers.report(session, [report, report])

    assert first == second
    assert first["ok"]
    child = await here.look(first["childRunId"])
    facts = (await here.core.store.reads.facts([child.run_id]))[child.run_id]
    assert (facts.parent_id, facts.relation) == (parent.run_id, "tool_subrun")


async def test_a_child_of_nobody_or_of_no_tool_is_refused(here: Installed) -> None:
    parent = await here.start()
    session = await here.attach()
    (claim,) = await here.claim(session)
    await here.begin(session, claim)
    orphan = ChildReport(run_id=run_id(7), fence=1, request_id="r", tool="echo", arguments={})
    strange = ChildReport(run_id=parent.run_id, fence=1, request_id="r", tool="nope", arguments={})

    answers = await here.core.workers.report(session, [orphan, strange])

    assert [answer["code"] for answer in answers] == ["stale_fence", "not_found"]


async def test_a_session_that_is_over_gets_nothing(here: Installed) -> None:
    session = await here.attach()
    waiting = asyncio.create_task(here.core.workers.handing_out.claim(session, slots=1, wait_s=20))
    await asyncio.sleep(0)
    await here.core.workers.detach(session.session_id)

    with pytest.raises(SessionExpiredError):
        await waiting
    with pytest.raises(SessionExpiredError):
        await here.core.workers.session(session.session_id)
    with pytest.raises(SessionExpiredError):
        await here.core.workers.heartbeat(session.session_id, [])


async def test_a_session_is_found_again_after_a_restart(here: Installed) -> None:
    session = await here.attach()
    here.core.engine.bells.forget(session.session_id)

    assert await here.core.workers.session(session.session_id) == session


async def test_an_attempt_that_timed_out_says_which_limit(here: Installed) -> None:
    await here.start()

    after = await here.run_once(await here.attach(), AttemptOutcome.TIMED_OUT, time_limit=TimeLimit.IDLE)

    assert (after.status, after.time_limit) == (Status.FAILED, TimeLimit.IDLE)


async def test_work_given_back_by_a_drain_is_claimed_again_if_it_may(here: Installed) -> None:
    """O75."""
    await here.apply(tool(policy={"idempotent": True}))
    run = await here.start()
    session = await here.attach()
    await here.run_once(session, AttemptOutcome.RELEASED)
    here.clock.advance(2 * SECOND)
    await here.core.engine.timers.fire()

    (claim,) = await here.claim(await here.attach())

    assert (claim["runId"], claim["attemptNo"]) == (run.run_id, 2)


async def test_a_worker_releases_the_function_tools_that_it_brings(here: Installed) -> None:
    brought = tool("f", runtime="function", profile={"function": "m:app/f"}, inputSchema={"type": "object"})
    hello = Attach(
        name="w",
        incarnation="i",
        slots=1,
        offers=("default/function:f",),
        labels={"os": "linux"},
        capabilities=(),
        tools=(brought,),
        protocol_version=1,
    )
    session = await here.core.workers.attach(PROJECT, "worker", hello)
    await here.start("f", arguments={})

    assert len(await here.claim(session)) == 1


async def test_reports_and_new_work_travel_in_one_answer(here: Installed) -> None:
    first, second = await here.start(), await here.start()
    session = await here.attach()
    (claim,) = await here.claim(session, 1)
    start = StartReport(run_id=first.run_id, fence=claim["fence"])

    answers, work = await here.core.workers.exchange(session, [start], slots=1)

    assert answers == [{"ok": True}]
    assert [each["runId"] for each in work.claims] == [second.run_id]


@pytest.mark.parametrize("broken", ["report", "take"])
async def test_half_an_exchange_that_fails_loses_nothing(
    here: Installed, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    run, waiting = await here.start(), await here.start()
    session = await here.attach()
    (claim,) = await here.claim(session, 1)
    start = StartReport(run_id=run.run_id, fence=claim["fence"])

    async def refuse(*_: object, **__: object) -> None:
        raise StoreUnavailableError

    monkeypatch.setattr(Workers if broken == "report" else HandingOut, broken, refuse)

    if broken == "report":
        with pytest.raises(StoreUnavailableError):
            await here.core.workers.exchange(session, [start], slots=1)
        after = await here.look(waiting.run_id)
        assert (after.status, after.ready_at is not None) == (Status.RETRYING, True)
    else:
        answers, work = await here.core.workers.exchange(session, [start], slots=1)
        assert (answers, work.claims) == ([{"ok": True}], [])
