"""Questions of runs: asked once, answered once, over in time, and found again by a later attempt."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ringback.domain.errors import (
    AlreadyAnsweredError,
    CancelRequestedError,
    IllegalTransitionError,
    InvalidInputError,
    NotARespondentError,
    NotFoundError,
    StaleFenceError,
)
from ringback.domain.ids import ProjectId, RunId
from ringback.domain.moments import SECOND
from ringback.domain.roles import Role
from ringback.domain.runs import AttemptOutcome, Lose
from ringback.domain.sessions import Session
from ringback.domain.states import Status
from ringback.engine.apply import apply
from ringback.services.access import Respondent
from ringback.services.questions import Answer, Interaction
from ringback.services.reports import AskReport, WithdrawReport
from tests.installed import PROJECT, Installed, tool

APPROVAL = {"kind": "approval", "title": "Deploy?", "key": "deploy"}
ANN = Respondent("ann", Role.OWNER)
YES, NO = Answer(decision="approve"), Answer(decision="reject")


async def _running(here: Installed, **policy: Any) -> tuple[Session, dict[str, Any]]:
    await here.apply(tool("asking", policy=policy))
    await here.start("asking")
    session = await here.attach()
    (claim,) = await here.claim(session, 1)
    if not claim["started"]:
        await here.begin(session, claim)
    return session, claim


async def _ask(here: Installed, claim: dict[str, Any], **question: Any) -> Interaction:
    return await here.core.interactions.ask(claim["runId"], claim["fence"], {**APPROVAL, **question})


async def _respond(here: Installed, asked: Interaction, answer: Answer) -> Interaction:
    return await here.core.interactions.respond(PROJECT, asked.interaction_id, answer, by=ANN)


async def test_a_question_blocks_its_run_until_it_is_answered(here: Installed) -> None:
    _, claim = await _running(here)
    asked = await _ask(here, claim)
    run = await here.look(claim["runId"])
    assert run.blocking is not None
    assert (run.blocking.interaction_id, run.blocking.reason, run.open_interactions) == (
        asked.interaction_id,
        "Deploy?",
        1,
    )
    details = await here.core.runs.describe(run)
    assert details.waiting_for == {"kind": "interaction", "interactionId": asked.interaction_id, "reason": "Deploy?"}

    answered = await _respond(here, asked, YES)

    assert (answered.status, answered.response) == (
        "answered",
        {
            "decision": "approve",
            "submittedBy": "ann",
            "submittedAt": answered.response and answered.response["submittedAt"],
        },
    )
    run = await here.look(claim["runId"])
    assert (run.blocking, run.open_interactions, run.status) == (None, 0, Status.RUNNING)


async def test_asking_again_is_the_same_question(here: Installed) -> None:
    session, claim = await _running(here)
    asked = await _ask(here, claim)
    assert await _ask(here, claim) == asked
    await _respond(here, asked, NO)
    report = AskReport(run_id=claim["runId"], fence=claim["fence"], question=APPROVAL)
    (told,) = await here.core.workers.report(session, [report])
    assert (told["ok"], told["interactionStatus"], told["response"]["decision"]) == (True, "rejected", "reject")


async def test_only_the_first_answer_counts_and_the_second_is_shown_it(here: Installed) -> None:
    _, claim = await _running(here)
    asked = await _ask(here, claim)

    answers = await asyncio.gather(
        *(_respond(here, asked, each) for each in (YES, NO, YES, NO)), return_exceptions=True
    )

    assert sum(isinstance(each, Interaction) for each in answers) == 1
    refused = [each for each in answers if isinstance(each, AlreadyAnsweredError)]
    assert len(refused) == 3
    assert {(each.status, str(each.response)) for each in refused} == {("answered", str(refused[0].response))}
    assert (await here.look(claim["runId"])).open_interactions == 0


async def test_one_blocking_question_at_a_time_and_others_beside_it(here: Installed) -> None:
    _, claim = await _running(here)
    first = await _ask(here, claim)
    with pytest.raises(IllegalTransitionError):
        await _ask(here, claim, key="second")
    beside = await _ask(here, claim, key="third", blocking=False)
    assert (await here.look(claim["runId"])).open_interactions == 2
    await _respond(here, beside, YES)
    run = await here.look(claim["runId"])
    assert run.blocking is not None
    assert run.blocking.interaction_id == first.interaction_id


async def test_answers_that_fit_no_question_leave_it_open(here: Installed) -> None:
    _, claim = await _running(here)
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    form = await _ask(here, claim, kind="input", key="f", responseSchema=schema)
    chosen = await _ask(here, claim, kind="input", key="o", options=[{"id": "a"}, {"id": "b"}], blocking=False)
    plain = await _ask(here, claim, key="a", blocking=False)
    wrong = [
        (form, Answer(), "/payload"),
        (form, Answer(payload={"n": "x"}, has_payload=True), "/payload/n"),
        (form, Answer(decision="maybe"), "/decision"),
        (form, Answer(selected_option_id="a"), "/selectedOptionId"),
        (chosen, Answer(selected_option_id="c"), "/selectedOptionId"),
        (chosen, YES, "/selectedOptionId"),
        (plain, Answer(payload=1, has_payload=True), "/decision"),
    ]
    for asked, answer, pointer in wrong:
        with pytest.raises(InvalidInputError) as refused:
            await _respond(here, asked, answer)
        assert [flaw.pointer for flaw in refused.value.flaws] == [pointer]
    assert (await here.look(claim["runId"])).open_interactions == 3
    assert (await _respond(here, form, Answer(payload={"n": 1}, has_payload=True))).status == "answered"
    assert (await _respond(here, chosen, NO)).status == "rejected"  # whoever is asked may refuse


@pytest.mark.parametrize(
    ("question", "pointer"),
    [
        ({"kind": "poll"}, "/kind"),
        ({"title": ""}, "/title"),
        ({"title": 3}, "/title"),
        ({"key": ""}, "/key"),
        ({"surprise": 1}, "/surprise"),
        ({"respondents": ["boss"]}, "/respondents"),
        ({"respondents": []}, "/respondents"),
        ({"respondents": "admin"}, "/respondents"),
        ({"options": []}, "/options"),
        ({"options": [{"id": "a"}, {"id": "a"}]}, "/options"),
        ({"responseSchema": {"type": "nothing"}}, "/responseSchema"),
        ({"expiresInS": -1}, "/expiresInS"),
        ({"onExpiry": "default"}, "/default"),
        ({"default": 1}, "/default"),
        ({"onExpiry": "later"}, "/onExpiry"),
        ({"responseSchema": {"type": "integer"}, "onExpiry": "default", "default": "x"}, "/default"),
    ],
)
async def test_what_cannot_be_asked_is_named(here: Installed, question: dict[str, Any], pointer: str) -> None:
    _, claim = await _running(here)
    with pytest.raises(InvalidInputError) as refused:
        await _ask(here, claim, **question)
    assert [flaw.pointer for flaw in refused.value.flaws] == [pointer]
    assert (await here.look(claim["runId"])).open_interactions == 0


@pytest.mark.parametrize(
    ("how", "response"),
    [
        ({}, None),
        ({"onExpiry": "reject"}, {"decision": "reject"}),
        ({"kind": "input", "onExpiry": "default", "default": 4}, {"payload": 4}),
    ],
)
async def test_a_question_is_over_in_time(here: Installed, how: dict[str, Any], response: Any) -> None:
    _, claim = await _running(here)
    asked = await _ask(here, claim, expiresInS=10, **how)
    here.clock.advance(9 * SECOND)
    assert await here.core.interactions.expire() == 0
    here.clock.advance(2 * SECOND)
    assert await here.core.interactions.expire() == 1

    now = await _ask(here, claim, expiresInS=10, **how)

    assert (now.interaction_id, now.status, now.response) == (asked.interaction_id, "expired", response)
    assert (await here.look(claim["runId"])).blocking is None
    with pytest.raises(AlreadyAnsweredError):
        await _respond(here, asked, YES)


async def test_a_later_attempt_finds_the_answer_of_an_earlier_one(here: Installed) -> None:
    _, claim = await _running(here, idempotent=True)
    asked = await _ask(here, claim)
    await _respond(here, asked, YES)
    open_one = await _ask(here, claim, key="other")
    await apply(here.core.store, RunId(claim["runId"]), Lose(claim["fence"], "its worker died", 0.0))
    await here.core.engine.outbox.pay()
    here.clock.advance(3600 * SECOND)
    await here.core.engine.timers.fire()
    (again,) = await here.claim(await here.attach(), 1)

    assert (await _ask(here, again)).status == "answered"
    anew = await _ask(here, again, key="other")

    assert anew.status == "open"
    assert anew.interaction_id != open_one.interaction_id  # an id is never used twice
    with pytest.raises(StaleFenceError):
        await _ask(here, claim, key="third")


async def test_what_is_open_when_the_run_ends_is_withdrawn(here: Installed) -> None:
    session, claim = await _running(here)
    asked = await _ask(here, claim)
    await here.settle(session, claim, AttemptOutcome.SUCCEEDED)
    await here.core.engine.outbox.pay()
    with pytest.raises(AlreadyAnsweredError) as refused:
        await _respond(here, asked, YES)
    assert refused.value.status == "withdrawn"


async def test_a_run_that_is_to_stop_asks_nothing_new(here: Installed) -> None:
    _, claim = await _running(here)
    await here.core.runs.cancel(PROJECT, claim["runId"], by="ann")
    with pytest.raises(CancelRequestedError):
        await _ask(here, claim)


async def test_another_project_knows_no_question(here: Installed) -> None:
    _, claim = await _running(here)
    asked = await _ask(here, claim)
    for name in (asked.interaction_id, "int_0", ""):
        with pytest.raises(NotFoundError):
            await here.core.interactions.respond(ProjectId("other"), name, YES, by=Respondent("eve", Role.OWNER))


async def test_an_answer_wakes_the_worker_that_waits(here: Installed) -> None:
    session, claim = await _running(here)
    asked = await _ask(here, claim)
    waiting = asyncio.create_task(here.core.workers.handing_out.claim(session, slots=0, wait_s=20))
    while not here.core.engine.bells.hands.of(session.session_id):
        await asyncio.sleep(0)
    await _respond(here, asked, YES)

    assert (await waiting).answered == (claim["runId"],)


async def test_a_run_that_asked_is_rebuilt_from_its_events(here: Installed) -> None:
    session, claim = await _running(here)
    await _respond(here, await _ask(here, claim), YES)
    await here.settle(session, claim)
    is_identical, _ = await here.core.results.replay(await here.look(claim["runId"]))
    assert is_identical


async def test_a_question_of_an_attempt_that_is_over_is_not_the_next_ones(here: Installed) -> None:
    """Its withdrawal may come late: then the next attempt asks anew all the same, and what that asks stays open."""
    _, claim = await _running(here, idempotent=True)
    left = await _ask(here, claim)
    await apply(here.core.store, RunId(claim["runId"]), Lose(claim["fence"], "its worker died", 0.0))
    here.clock.advance(3600 * SECOND)
    await here.core.engine.timers.fire()
    (again,) = await here.claim(await here.attach(), 1)

    asked = await _ask(here, again)
    await here.core.engine.outbox.pay()

    assert asked.interaction_id != left.interaction_id
    run = await here.look(claim["runId"])
    assert run.blocking is not None
    assert run.blocking.interaction_id == asked.interaction_id
    assert [each.status for each in await here.core.interactions.of_run(run)] == ["withdrawn", "open"]
    assert (await _respond(here, asked, YES)).status == "answered"


async def test_an_answer_between_two_attempts_reaches_the_next_one(here: Installed) -> None:
    _, claim = await _running(here, idempotent=True)
    left = await _ask(here, claim)
    await apply(here.core.store, RunId(claim["runId"]), Lose(claim["fence"], "its worker died", 0.0))
    await _respond(here, left, NO)
    await here.core.engine.outbox.pay()
    here.clock.advance(3600 * SECOND)
    await here.core.engine.timers.fire()
    (again,) = await here.claim(await here.attach(), 1)

    found = await _ask(here, again)

    assert (found.interaction_id, found.status) == (left.interaction_id, "rejected")


async def test_nobody_answers_a_run_that_has_ended(here: Installed) -> None:
    """Not even before its questions are marked as withdrawn."""
    session, claim = await _running(here)
    asked = await _ask(here, claim)
    await here.settle(session, claim)
    with pytest.raises(AlreadyAnsweredError) as caught:
        await _respond(here, asked, YES)
    assert (caught.value.status, caught.value.response) == ("withdrawn", None)


async def test_the_questions_of_a_removed_run_are_owed_nothing(here: Installed) -> None:
    session, claim = await _running(here)
    await _ask(here, claim)
    await here.settle(session, claim)
    run_id = RunId(claim["runId"])
    await here.core.store.commit(lambda desk: desk.purge(run_id))
    await here.core.engine.outbox.pay()
    assert await here.core.store.reads.outbox(limit=10) == []


@pytest.mark.parametrize("role", [None, *Role])
async def test_who_may_answer_is_decided_by_role(here: Installed, role: Role | None) -> None:
    _, claim = await _running(here)
    asked = await _ask(here, claim, respondents=["owner", "editor"])
    by = Respondent("ben", role)
    if role in (Role.EDITOR, Role.ADMIN, Role.OWNER):
        answered = await here.core.interactions.respond(PROJECT, asked.interaction_id, YES, by=by)
        assert answered.response is not None
        assert answered.response["submittedBy"] == "ben"
        return
    with pytest.raises(NotARespondentError) as refused:
        await here.core.interactions.respond(PROJECT, asked.interaction_id, YES, by=by)
    assert (refused.value.needed, refused.value.role) == ("editor", role or "")
    assert (await here.look(claim["runId"])).open_interactions == 1


async def test_a_question_is_withdrawn_once_and_nobody_answers_it_then(here: Installed) -> None:
    session, claim = await _running(here)
    asked = await _ask(here, claim)

    assert (await here.core.interactions.withdraw(PROJECT, asked.interaction_id)).status == "withdrawn"
    assert (await here.core.interactions.withdraw(PROJECT, asked.interaction_id)).status == "withdrawn"

    run = await here.look(claim["runId"])
    assert (run.blocking, run.open_interactions, run.status) == (None, 0, Status.RUNNING)
    with pytest.raises(AlreadyAnsweredError) as refused:
        await _respond(here, asked, YES)
    assert (refused.value.status, refused.value.response) == ("withdrawn", None)
    look = AskReport(
        run_id=claim["runId"], fence=claim["fence"], question=APPROVAL, interaction_id=asked.interaction_id
    )
    (told,) = await here.core.workers.report(session, [look])
    assert told == {"ok": True, "interactionId": asked.interaction_id, "interactionStatus": "withdrawn"}
    assert len(await here.core.interactions.of_run(run)) == 1, "a look asks nothing anew"


async def test_an_attempt_takes_back_what_it_asked_by_its_key(here: Installed) -> None:
    session, claim = await _running(here)
    asked = await _ask(here, claim)
    answered = await _ask(here, claim, key="other", blocking=False)
    await _respond(here, answered, NO)

    def report(key: str, fence: int = claim["fence"]) -> WithdrawReport:
        return WithdrawReport(run_id=claim["runId"], fence=fence, key=key)

    told = await here.core.workers.report(
        session, [report("deploy"), report("deploy"), report("other"), report("never"), report("deploy", 99)]
    )

    assert [each.get("interactionStatus") for each in told] == ["withdrawn", "withdrawn", "rejected", None, None]
    assert told[-1]["code"] == "stale_fence"
    assert (await here.look(claim["runId"])).blocking is None
    assert (await _ask(here, claim)).interaction_id != asked.interaction_id, "asked again, it is a new question"


async def test_an_answer_cannot_be_withdrawn(here: Installed) -> None:
    _, claim = await _running(here)
    asked = await _ask(here, claim)
    await _respond(here, asked, NO)
    with pytest.raises(AlreadyAnsweredError) as refused:
        await here.core.interactions.withdraw(PROJECT, asked.interaction_id)
    assert refused.value.status == "rejected"


async def _parked(here: Installed, **question: Any) -> tuple[Session, dict[str, Any], Interaction]:
    session, claim = await _running(here)
    asked = await _ask(here, claim, **question)
    told = await here.settle(session, claim, AttemptOutcome.RELEASED, is_parked=True)
    assert told == {"ok": True}
    return session, claim, asked


async def test_a_parked_run_goes_on_with_the_answer_and_nobody_is_asked_twice(here: Installed) -> None:
    session, claim, asked = await _parked(here)
    run = await here.look(claim["runId"])
    details = await here.core.runs.describe(run)
    assert (run.is_parked, await here.claim(session, 1)) == (True, [])
    assert details.waiting_for == {"kind": "interaction", "interactionId": asked.interaction_id, "reason": "Deploy?"}

    await _respond(here, asked, YES)

    (again,) = await here.claim(session, 1)
    if not again["started"]:
        await here.begin(session, again)
    found = await _ask(here, again)
    assert (found.interaction_id, found.status) == (asked.interaction_id, "answered")
    ended, current = await here.core.runs.attempts(await here.look(claim["runId"]))
    assert ([each.outcome for each in ended], current and current.reason) == ([AttemptOutcome.RELEASED], "answer")


async def test_what_is_asked_beside_a_parked_question_stays_open_and_is_the_next_attempts(here: Installed) -> None:
    session, claim = await _running(here)
    beside = await _ask(here, claim, key="beside", blocking=False)
    asked = await _ask(here, claim)
    await here.settle(session, claim, AttemptOutcome.RELEASED, is_parked=True)
    await here.core.engine.outbox.pay()
    assert (await here.look(claim["runId"])).open_interactions == 2
    await _respond(here, asked, YES)
    here.clock.advance(SECOND)
    (again,) = await here.claim(session, 1)
    assert (await _ask(here, again, key="beside", blocking=False)).interaction_id == beside.interaction_id
    await _respond(here, beside, NO)
    assert (await here.look(claim["runId"])).open_interactions == 0


@pytest.mark.parametrize("how", ["expires", "is withdrawn"])
async def test_a_parked_question_that_nobody_answers_lets_the_work_hear_of_it(here: Installed, how: str) -> None:
    session, _, asked = await _parked(here, expiresInS=10)
    here.clock.advance(11 * SECOND)
    if how == "expires":
        assert await here.core.interactions.expire() == 1
    else:
        await here.core.interactions.withdraw(PROJECT, asked.interaction_id)
    (again,) = await here.claim(session, 1)
    found = await _ask(here, again, expiresInS=10)
    assert (found.interaction_id, found.response) == (asked.interaction_id, None)
    assert found.status == ("expired" if how == "expires" else "withdrawn")


async def test_an_older_debt_does_not_take_a_parked_question_away(here: Installed) -> None:
    """The outbox is paid late: what it withdraws is what was asked when it was owed."""
    _, claim = await _running(here, idempotent=True)
    left = await _ask(here, claim, key="left", blocking=False)
    await apply(here.core.store, RunId(claim["runId"]), Lose(claim["fence"], "its worker died", 0.0))
    here.clock.advance(3600 * SECOND)
    await here.core.engine.timers.fire()
    session = await here.attach()
    (again,) = await here.claim(session, 1)
    if not again["started"]:
        await here.begin(session, again)
    here.clock.advance(SECOND)
    asked = await _ask(here, again)
    await here.settle(session, again, AttemptOutcome.RELEASED, is_parked=True)

    await here.core.engine.outbox.pay()

    statuses = {
        each.interaction_id: each.status
        for each in await here.core.interactions.of_run(await here.look(claim["runId"]))
    }
    assert statuses == {left.interaction_id: "withdrawn", asked.interaction_id: "open"}
    assert (await here.look(claim["runId"])).is_parked


async def test_a_stop_of_a_parked_run_withdraws_its_question(here: Installed) -> None:
    _, claim, asked = await _parked(here)
    ended = await here.core.runs.cancel(PROJECT, claim["runId"], by="ann")
    assert (ended.status, ended.end_reason) == (Status.CANCELED, "cancelled_cooperatively")
    await here.core.engine.outbox.pay()
    with pytest.raises(AlreadyAnsweredError) as refused:
        await _respond(here, asked, YES)
    assert refused.value.status == "withdrawn"


async def test_the_answer_to_a_question_that_an_attempt_left_behind_changes_no_count(here: Installed) -> None:
    _, claim = await _running(here, idempotent=True)
    left = await _ask(here, claim, key="left", blocking=False)
    await apply(here.core.store, RunId(claim["runId"]), Lose(claim["fence"], "its worker died", 0.0))
    here.clock.advance(3600 * SECOND)
    await here.core.engine.timers.fire()
    (again,) = await here.claim(await here.attach(), 1)
    await _ask(here, again, key="new", blocking=False)
    assert (await _respond(here, left, YES)).status == "answered"
    assert (await here.look(claim["runId"])).open_interactions == 1
