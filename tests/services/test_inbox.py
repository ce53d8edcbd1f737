"""The inbox: who is told, once, in the order of the ends, and what makes a notice needless."""

from __future__ import annotations

from typing import Any

import pytest

from ringback.domain.errors import InvalidCursorError, StoreUnavailableError
from ringback.domain.ids import InteractionId, ProjectId, job_id_of
from ringback.domain.moments import DAY
from ringback.domain.notices import NoticeKind
from ringback.domain.runs import Ask, AttemptOutcome, CloseInteraction
from ringback.engine.apply import apply
from ringback.services.inbox import Notice
from ringback.views.notices import notice
from tests.installed import PROJECT, Installed


async def pending(here: Installed, owner: str = "me", **query: Any) -> list[Notice]:
    return (await here.core.inbox.pending(PROJECT, owner, **query)).items


@pytest.mark.parametrize("request_", [{"source": "mcp"}, {"source": "cli"}, {"thread_id": "t1"}])
async def test_who_does_not_wait_is_told(here: Installed, request_: dict[str, Any]) -> None:
    run = await here.start(**request_)
    assert await pending(here) == []

    await here.run_once(await here.attach(), summary="3 passed")

    (told,) = await pending(here)
    shown = notice(told)
    assert (told.kind, told.run.run_id) == (NoticeKind.COMPLETED, run.run_id)
    assert shown["text"] == (
        f"[event] job_completed job_id={job_id_of(run.run_id)} tool=echo status=done "
        f"event_id={shown['eventId']} seq={shown['sequence']}\n"
        f"summary: 3 passed\ndetails: get_job_result({job_id_of(run.run_id)})"
    )


async def test_who_asks_over_plain_http_is_not(here: Installed) -> None:
    await here.start(source="jobs")
    await here.run_once(await here.attach())
    assert await pending(here) == []
    assert await here.core.store.reads.rows("notices_of_run", {"run_id": "", "owner": "me"}) == []


async def test_ends_are_told_in_their_order_and_to_their_owner_alone(here: Installed) -> None:
    """O82, O85: each once, oldest first, in pages that lose none."""
    for _ in range(5):
        await here.start(source="mcp")
    await here.started(owner="you", source="mcp")
    session = await here.attach()
    ended = [(await here.run_once(session)).run_id for _ in range(6)]

    first = await here.core.inbox.pending(PROJECT, "me", limit=3)
    second = await here.core.inbox.pending(PROJECT, "me", limit=3, cursor=first.next_cursor)

    assert [each.run.run_id for each in (*first.items, *second.items)] == ended[:5]
    assert second.next_cursor is None
    assert [each.run.run_id for each in await pending(here, "you")] == ended[5:]
    with pytest.raises(InvalidCursorError):
        await here.core.inbox.pending(PROJECT, "you", cursor=first.next_cursor)


async def test_a_thread_sees_its_own(here: Installed) -> None:
    for thread in ("a", "b"):
        await here.start(thread_id=thread)
    session = await here.attach()
    for _ in range(2):
        await here.run_once(session)
    (told,) = await pending(here, thread_id="b")
    assert notice(told)["threadId"] == "b"


async def test_what_arrived_is_not_offered_again(here: Installed) -> None:
    await here.start(source="mcp")
    await here.run_once(await here.attach())
    (told,) = await pending(here)
    inbox = here.core.inbox

    await inbox.take(PROJECT, "you", items=[told.item_id])
    await inbox.take(ProjectId("other"), "me", items=[told.item_id])
    await inbox.take(PROJECT, "me", items=["nothing"], runs=["nothing"])
    assert len(await pending(here)) == 1

    for _ in range(2):
        await inbox.take(PROJECT, "me", items=[told.item_id])
    assert await pending(here) == []


async def test_who_has_read_the_result_needs_no_notice(here: Installed) -> None:
    run = await here.start(source="mcp")
    other = await here.start(source="mcp")
    session = await here.attach()
    await here.core.inbox.seen(run, "me")
    ended = await here.run_once(session)
    await here.run_once(session)
    assert len(await pending(here)) == 2

    await here.core.inbox.seen(ended, "you")
    assert len(await pending(here)) == 2
    for _ in range(2):
        await here.core.inbox.seen(ended, "me")

    assert [each.run.run_id for each in await pending(here)] == [other.run_id]


async def test_a_result_can_be_read_while_nothing_can_be_written(
    here: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    await here.start(source="mcp")
    ended = await here.run_once(await here.attach())

    async def refuse(*_: object, **__: object) -> None:
        raise StoreUnavailableError

    monkeypatch.setattr(type(here.core.store), "commit", refuse)
    await here.core.inbox.seen(ended, "me")
    assert len(await pending(here)) == 1


@pytest.mark.parametrize(
    ("outcome", "how", "kind", "said"),
    [
        (AttemptOutcome.FAILED, {}, NoticeKind.COMPLETED, "exit code 1"),
        (AttemptOutcome.FAILED, {"summary": "3 failed"}, NoticeKind.COMPLETED, "3 failed"),
        (AttemptOutcome.TIMED_OUT, {}, NoticeKind.TIMED_OUT, None),
    ],
)
async def test_failures_say_what_went_wrong(
    here: Installed, outcome: AttemptOutcome, how: dict[str, Any], kind: NoticeKind, said: str | None
) -> None:
    await here.start(source="cli")
    await here.run_once(await here.attach(), outcome, **how)
    (told,) = await pending(here)
    assert (told.kind, notice(told).get("summary")) == (kind, said)


async def test_a_stop_before_the_start_is_told(here: Installed) -> None:
    run = await here.start(source="cli")
    await here.core.runs.cancel(PROJECT, run.run_id, by="me")
    (told,) = await pending(here)
    assert (told.kind, notice(told)["status"]) == (NoticeKind.COMPLETED, "cancelled")


async def test_a_question_is_told_until_it_is_settled(here: Installed) -> None:
    run = await here.start(source="mcp")
    session = await here.attach()
    (claim,) = await here.claim(session)
    await here.begin(session, claim)
    await apply(here.core.store, run.run_id, Ask(InteractionId("i1"), True, "Deploy?"))

    (told,) = await pending(here)
    shown = notice(told)
    assert (shown["type"], shown["summary"], shown["interactionId"]) == ("job_input_required", "Deploy?", "i1")

    await apply(here.core.store, run.run_id, CloseInteraction(InteractionId("i1"), "answered"))
    assert await pending(here) == []
    assert "summary" not in notice(Notice(kind=told.kind, run=run, sequence=1, created_at=0))

    await here.settle(session, claim)
    assert [each.kind for each in await pending(here)] == [NoticeKind.COMPLETED]


async def test_notices_go_with_their_runs(here: Installed) -> None:
    await here.start(source="mcp")
    await here.run_once(await here.attach())
    here.clock.advance(31 * DAY)
    assert await here.core.engine.retention.remove() == 1
    assert await pending(here) == []
