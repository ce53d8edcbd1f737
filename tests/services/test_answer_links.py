"""Answer links: good for one question, once, in time, and for no more than their maker may do."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ringback.domain.errors import AlreadyAnsweredError, NotARespondentError, NotFoundError
from ringback.domain.ids import ProjectId, RunId
from ringback.domain.moments import DAY, SECOND
from ringback.domain.roles import SCOPES, Role
from ringback.services.access import Principal
from ringback.services.answer_links import AnswerLink
from ringback.services.questions import Answer, Interaction
from tests.installed import PROJECT, Installed, tool

YES, NO = Answer(decision="approve"), Answer(decision="reject")
MAKER = Principal(token_id="t", owner="ann", scopes=SCOPES, project_id=None, user_id="ann")


async def _asked(here: Installed, **more: Any) -> Interaction:
    here.core.access.know_role(PROJECT, "ann", Role.EDITOR)
    await here.apply(tool("asking"))
    await here.start("asking")
    session = await here.attach()
    (claim,) = await here.claim(session, 1)
    if not claim["started"]:
        await here.begin(session, claim)
    question = {"kind": "approval", "title": "Deploy?", "key": "deploy", **more}
    return await here.core.interactions.ask(RunId(claim["runId"]), claim["fence"], question)


async def _link(here: Installed, asked: Interaction, **more: Any) -> AnswerLink:
    return await here.core.answer_links.issue(MAKER, PROJECT, asked.interaction_id, **more)


async def test_a_link_answers_once_and_then_shows_the_answer(here: Installed) -> None:
    asked = await _asked(here)
    made = await _link(here, asked, label="Bob")
    for _ in range(3):
        assert (await here.core.answer_links.opened(made.token)).interaction.is_open, "looking uses nothing up"

    answered = await here.core.answer_links.respond(made.token, YES)

    assert answered.response is not None
    assert (answered.response["submittedBy"], answered.response["linkId"]) == ("ann (link for Bob)", made.link_id)
    assert (await here.core.answer_links.opened(made.token)).interaction == answered
    with pytest.raises(AlreadyAnsweredError) as refused:
        await here.core.answer_links.respond(made.token, NO)
    assert refused.value.response == answered.response
    (row,) = await here.core.answer_links.of(answered)
    assert row["used_at"] == answered.closed_at


async def test_of_two_links_at_once_one_counts(here: Installed) -> None:
    asked = await _asked(here)
    links = [await _link(here, asked) for _ in range(4)]
    answers = await asyncio.gather(
        *(here.core.answer_links.respond(each.token, YES) for each in links), return_exceptions=True
    )
    assert sorted(type(each).__name__ for each in answers) == ["AlreadyAnsweredError"] * 3 + ["Interaction"]
    rows = await here.core.answer_links.of(asked)
    assert sum(row["used_at"] is not None for row in rows) == 1


async def test_a_wrong_an_expired_and_a_revoked_link_are_alike(here: Installed) -> None:
    asked = await _asked(here)
    revoked, expiring = await _link(here, asked), await _link(here, asked, lasts=SECOND)
    for _ in range(2):
        await here.core.answer_links.revoke(PROJECT, asked.interaction_id, revoked.link_id, by="ann")
    here.clock.advance(2 * SECOND)
    told = set()
    for token in (revoked.token, expiring.token, "", "rba_x", revoked.token[:-1], "\ud800" * 300):
        with pytest.raises(NotFoundError) as refused:
            await here.core.answer_links.respond(token, YES)
        told.add(str(refused.value))
    assert len(told) == 1
    assert (await here.core.interactions.get(PROJECT, asked.interaction_id))[0].is_open


async def test_a_link_hands_on_no_more_than_its_maker_has(here: Installed) -> None:
    asked = await _asked(here, respondents=["runner"])
    for role in (Role.ADMIN, Role.OWNER, Role.VIEWER):
        with pytest.raises(NotARespondentError):
            await _link(here, asked, role=role)
    made = await _link(here, asked, role=Role.RUNNER)
    assert (await here.core.answer_links.opened(made.token)).respondent.role is Role.RUNNER
    high = await _link(here, asked)
    assert high.role is Role.EDITOR
    here.core.access.know_role(PROJECT, "ann", Role.VIEWER)
    with pytest.raises(NotARespondentError):
        await here.core.answer_links.respond(high.token, YES)
    here.core.access.know_role(PROJECT, "ann", None)
    with pytest.raises(NotFoundError):
        await here.core.answer_links.opened(high.token)
    with pytest.raises(NotARespondentError):
        await _link(here, asked)


async def test_nobody_makes_a_link_to_what_they_may_not_answer(here: Installed) -> None:
    asked = await _asked(here, respondents=["admin"])
    with pytest.raises(NotARespondentError):
        await _link(here, asked)
    here.core.access.know_role(PROJECT, "ann", Role.ADMIN)
    with pytest.raises(NotARespondentError):
        await _link(here, asked, role=Role.EDITOR)  # it would open nothing
    assert (await _link(here, asked)).role is Role.ADMIN


async def test_a_link_outlives_the_time_of_its_question_and_shows_how_it_ended(here: Installed) -> None:
    asked = await _asked(here, expiresInS=1, onExpiry="reject")
    made = await _link(here, asked)
    here.clock.advance(2 * SECOND)
    await here.core.interactions.expire()
    assert (await here.core.answer_links.opened(made.token)).interaction.status == "expired"
    with pytest.raises(AlreadyAnsweredError):
        await _link(here, asked)
    here.clock.advance(DAY)
    with pytest.raises(NotFoundError):
        await here.core.answer_links.opened(made.token)


async def test_links_of_other_questions_and_projects_are_unknown(here: Installed) -> None:
    asked = await _asked(here)
    made = await _link(here, asked)
    for project, name, link in (
        (ProjectId("other"), asked.interaction_id, made.link_id),
        (PROJECT, "int_0", made.link_id),
        (PROJECT, asked.interaction_id, "link_0"),
    ):
        with pytest.raises(NotFoundError):
            await here.core.answer_links.revoke(project, name, link, by="ann")


async def test_making_and_revoking_is_on_record_and_no_token_is(here: Installed) -> None:
    asked = await _asked(here)
    made = await _link(here, asked)
    await here.core.answer_links.revoke(PROJECT, asked.interaction_id, made.link_id, by="ben")
    page = await here.core.audit.page(PROJECT, cursor=None, limit=50)
    told = [(row["actor"], row["action"]) for row in page.items if row["subject"] == asked.interaction_id]
    assert sorted(told) == [("ann", "answer_link.issued"), ("ben", "answer_link.revoked")]
    assert made.token not in str(page.items)
    assert made.token.encode() not in here.path.read_bytes()


async def test_links_go_with_their_run(here: Installed) -> None:
    asked = await _asked(here)
    made = await _link(here, asked)
    await here.core.store.commit(lambda desk: desk.purge(asked.run_id))
    with pytest.raises(NotFoundError):
        await here.core.answer_links.opened(made.token)
