"""What the programs of an attempt may do with its token, and with nothing else: asked in their order, known by their requests."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ringback.domain.errors import InvalidInputError, NotFoundError, RateLimitedError, UnauthenticatedError
from ringback.domain.ids import RunId
from ringback.domain.moments import SECOND
from ringback.domain.roles import Role
from ringback.domain.runs import Lose, Run
from ringback.domain.sessions import Session
from ringback.engine.apply import apply
from ringback.services.access import Respondent
from ringback.services.limits import RateLimits
from ringback.services.questions import Answer, Interaction
from tests.installed import PROJECT, Installed, tool

GO: dict[str, Any] = {"kind": "approval", "title": "Go on?"}
COMMAND = {"runtime": "command", "profile": {"command": ["true"]}}
ANN = Respondent("ann", Role.OWNER)
YES = Answer(decision="approve")


async def _running(here: Installed) -> tuple[Session, dict[str, Any]]:
    await here.apply(tool("shell", policy={"idempotent": True}, inputSchema={"type": "object"}, **COMMAND))
    await here.start("shell", arguments={})
    session = await here.attach()
    (claim,) = await here.claim(session, 1)
    if not claim["started"]:
        await here.begin(session, claim)
    return session, claim


async def _next_attempt(here: Installed, claim: dict[str, Any]) -> dict[str, Any]:
    await apply(here.core.store, RunId(claim["runId"]), Lose(claim["fence"], "its worker died", 0.0))
    await here.core.engine.outbox.pay()
    here.clock.advance(3600 * SECOND)
    await here.core.engine.timers.fire()
    session = await here.attach()
    (again,) = await here.claim(session, 1)
    return {**again, "session": session}


async def _ask(here: Installed, claim: dict[str, Any], request_id: str, **more: Any) -> Interaction:
    run = await here.core.asking.admit(claim["runToken"])
    return await here.core.asking.ask(run, {**GO, **more}, request_id=request_id)


async def _answer(here: Installed, asked: Interaction) -> Interaction:
    return await here.core.interactions.respond(PROJECT, asked.interaction_id, YES, by=ANN)


async def test_the_token_of_an_attempt_is_good_while_the_attempt_is(here: Installed) -> None:
    _, claim = await _running(here)
    token: str = claim["runToken"]
    assert (await here.core.asking.admit(token)).run_id == claim["runId"]
    again = await _next_attempt(here, claim)
    assert again["runToken"] != token
    for name in (token, "", "rbr_", "rbr_x", token[:-1], token + "A", token.replace(".1.", ".2."), "rbr_é" + token[5:]):
        with pytest.raises(UnauthenticatedError):
            await here.core.asking.admit(name)
    assert (await here.core.asking.admit(again["runToken"])).fence == again["fence"]
    await here.settle(again["session"], again)
    with pytest.raises(UnauthenticatedError):
        await here.core.asking.admit(again["runToken"])


async def test_functions_get_no_token_for_they_ask_through_their_worker(here: Installed) -> None:
    await here.start()
    session = await here.attach("default/function:echo", "default/command")
    (claim,) = await here.claim(session, 1)
    assert ("runToken" in claim) == (claim["runtime"] != "function")


async def test_tokens_count_against_the_limit_of_requests(here: Installed) -> None:
    _, claim = await _running(here)
    here.core.asking.tokens.limits = RateLimits(per_s=1, burst=2)
    for _ in range(2):
        await here.core.asking.admit(claim["runToken"])
    with pytest.raises(RateLimitedError):
        await here.core.asking.admit(claim["runToken"])


async def test_a_repeated_request_is_one_question_and_the_next_one_is_another(here: Installed) -> None:
    _, claim = await _running(here)
    first = await _ask(here, claim, "r1")
    assert await _ask(here, claim, "r1") == first
    await _answer(here, first)
    assert (await _ask(here, claim, "r1")).status == "answered"
    second = await _ask(here, claim, "r2")
    assert (second.status, second.question["key"]) == ("open", "2. Go on?")
    assert (await _ask(here, claim, "r3", title="Other?", blocking=False)).question["key"] == "1. Other?"


async def test_requests_at_the_same_time_get_names_of_their_own(here: Installed) -> None:
    _, claim = await _running(here)
    asked = await asyncio.gather(*(_ask(here, claim, f"r{n}", blocking=False) for n in range(5)))
    assert sorted(each.question["key"] for each in asked) == [f"{n}. Go on?" for n in range(1, 6)]


async def test_a_later_attempt_that_asks_in_the_same_order_finds_the_answers(here: Installed) -> None:
    _, claim = await _running(here)
    first = await _answer(here, await _ask(here, claim, "r1"))
    left = await _ask(here, claim, "r2")
    again = await _next_attempt(here, claim)

    found = await _ask(here, again, "s1")
    anew = await _ask(here, again, "s2")

    assert (found.interaction_id, found.status) == (first.interaction_id, "answered")
    assert anew.status == "open"
    assert anew.interaction_id != left.interaction_id


async def test_titles_that_are_alike_for_a_hundred_characters_are_two_questions(here: Installed) -> None:
    _, claim = await _running(here)
    long = "x" * 150
    first = await _ask(here, claim, "r1", title=f"{long}a", blocking=False)
    second = await _ask(here, claim, "r2", title=f"{long}b", blocking=False)
    assert first.interaction_id != second.interaction_id
    assert len(first.question["key"]) <= 100


@pytest.mark.parametrize(
    ("more", "request_id", "pointer"),
    [
        ({"title": ""}, "r", "/title"),
        ({"title": 3}, "r", "/title"),
        ({}, "", "/requestId"),
        ({"kind": "x"}, "r", "/kind"),
    ],
)
async def test_what_cannot_be_asked_is_named(
    here: Installed, more: dict[str, Any], request_id: str, pointer: str
) -> None:
    _, claim = await _running(here)
    with pytest.raises(InvalidInputError) as refused:
        await _ask(here, claim, request_id, **more)
    assert refused.value.flaws[0].pointer == pointer


async def test_waiting_ends_with_the_answer_with_the_time_and_with_the_server(here: Installed) -> None:
    _, claim = await _running(here)
    run = await here.core.asking.admit(claim["runToken"])
    asked = await _ask(here, claim, "r1")
    assert (await here.core.asking.see(run, asked.interaction_id, within_s=0.01)).is_open

    waiting = asyncio.create_task(here.core.asking.see(run, asked.interaction_id, within_s=30))
    while not here.core.asking._waits:
        await asyncio.sleep(0)
    await _answer(here, asked)
    assert (await waiting).status == "answered"

    other = await _ask(here, claim, "r2")
    waiting = asyncio.create_task(here.core.asking.see(run, other.interaction_id, within_s=30))
    while not here.core.asking._waits:
        await asyncio.sleep(0)
    here.core.close_doors()
    assert (await waiting).is_open


async def test_a_question_of_another_run_is_unknown_and_one_of_a_lost_attempt_is_refused(here: Installed) -> None:
    _, claim = await _running(here)
    asked = await _ask(here, claim, "r1")
    run: Run = await here.core.asking.admit(claim["runToken"])
    await here.start("shell", arguments={})
    (other,) = await here.claim(await here.attach(), 1)
    theirs = await here.core.asking.admit(other["runToken"])
    for act in (here.core.asking.withdraw(theirs, asked.interaction_id), _see(here, theirs, asked)):
        with pytest.raises(NotFoundError):
            await act
    await _next_attempt(here, claim)
    with pytest.raises(UnauthenticatedError):
        await _see(here, run, asked)


async def _see(here: Installed, run: Run, asked: Interaction) -> Interaction:
    return await here.core.asking.see(run, asked.interaction_id, within_s=0)


async def test_the_worker_hears_that_a_run_waits_and_that_it_no_longer_does(here: Installed) -> None:
    session, claim = await _running(here)
    asked = await _ask(here, claim, "r1")
    work = await here.core.workers.handing_out.claim(session, slots=0, wait_s=0)
    assert (work.answered, work.waiting) == ((claim["runId"],), (claim["runId"],))
    beat, _ = await here.core.workers.heartbeat(session.session_id, [(RunId(claim["runId"]), claim["fence"])])
    assert beat.waiting == (claim["runId"],)
    await _answer(here, asked)
    work = await here.core.workers.handing_out.claim(session, slots=0, wait_s=0)
    assert (work.answered, work.waiting) == ((claim["runId"],), ())
    beat, _ = await here.core.workers.heartbeat(session.session_id, [(RunId(claim["runId"]), claim["fence"])])
    assert beat.waiting == ()


async def test_progress_is_that_of_the_run(here: Installed) -> None:
    _, claim = await _running(here)
    run = await here.core.asking.admit(claim["runToken"])
    await here.core.asking.progress(run, {"done": 1, "message": "half"})
    assert (await here.look(claim["runId"])).progress == {"done": 1, "message": "half"}
