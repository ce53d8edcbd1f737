"""How a question is asked: again when the server could not take it, and again when there is news of it."""

import asyncio
from typing import Any

import pytest

from ringback.worker.batching import Outbox
from ringback.worker.messages import Key, Result
from ringback.worker.reporting import AttemptReporter, QuestionRefusedError

KEY = Key("a", 1)
OPEN = Result(ok=True, interaction_status="open")
YES = Result(ok=True, interaction_status="answered", response={"decision": "approve"})
pytestmark = pytest.mark.timeout(60)


async def _answered(outbox: Outbox, result: Result) -> bytes:
    """The next report, answered."""
    (pending,) = await outbox.batch()
    outbox.answered([result])
    return pending.body


@pytest.mark.parametrize("code", ["store_unavailable", "shutting_down", "conflict", "storage_full"])
async def test_a_server_that_can_not_take_it_now_is_asked_again(code: str) -> None:
    outbox = Outbox()
    asking = asyncio.create_task(AttemptReporter(KEY, outbox).ask({"title": "Go on?"}))
    first = await _answered(outbox, Result(ok=False, code=code))
    assert await _answered(outbox, YES) == first
    assert await asking == ("answered", {"decision": "approve"})


async def test_news_let_it_look_at_once() -> None:
    outbox = Outbox()
    reporter = AttemptReporter(KEY, outbox)
    asking = asyncio.create_task(reporter.ask({"title": "Go on?"}))
    await _answered(outbox, OPEN)
    reporter.look()
    await _answered(outbox, YES)
    assert (await asking)[0] == "answered"


@pytest.mark.parametrize("refusal", [{"code": "invalid_input", "detail": "no"}, {"code": "muted"}, {}])
async def test_a_refusal_is_an_error(refusal: dict[str, Any]) -> None:
    outbox = Outbox()
    asking = asyncio.create_task(AttemptReporter(KEY, outbox).ask({"title": "Go on?"}))
    await _answered(outbox, Result(ok=False, **refusal))
    with pytest.raises(QuestionRefusedError):
        await asking


async def test_a_question_that_is_known_is_looked_at_and_not_asked_anew() -> None:
    outbox = Outbox()
    reporter = AttemptReporter(KEY, outbox)
    asking = asyncio.create_task(reporter.ask({"title": "Go on?"}))
    assert b"interactionId" not in await _answered(
        outbox, Result(ok=True, interaction_id="int_1", interaction_status="open")
    )
    reporter.look()
    assert b'"interactionId":"int_1"' in await _answered(outbox, Result(ok=True, interaction_status="withdrawn"))
    assert await asking == ("withdrawn", None)


async def test_taking_back_is_repeated_until_the_server_could() -> None:
    outbox = Outbox()
    taking = asyncio.create_task(AttemptReporter(KEY, outbox).withdraw("go"))
    first = await _answered(outbox, Result(ok=False, code="conflict"))
    assert await _answered(outbox, Result(ok=True, interaction_status="withdrawn")) == first
    assert await taking == "withdrawn"
    refused = asyncio.create_task(AttemptReporter(KEY, outbox).withdraw("go"))
    await _answered(outbox, Result(ok=False, code="stale_fence"))
    with pytest.raises(QuestionRefusedError):
        await refused
