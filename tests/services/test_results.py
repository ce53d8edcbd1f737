"""Results: in pages, from what the work published, and the same again from the events alone."""

from __future__ import annotations

import pytest

from ringback.domain.errors import InvalidCursorError, JobCancelledError, NotFinishedError
from ringback.domain.records import replace
from ringback.domain.runs import NewEvent
from tests.installed import PROJECT, Installed


def chunk(data: bytes, offset: int = 0, stream: str = "stdout") -> NewEvent:
    return NewEvent("output.chunk", {"stream": stream, "offset": offset, "length": len(data)}, data)


def pages(*items: object) -> NewEvent:
    return NewEvent("artifact.updated", {"kind": "page", "items": list(items)})


async def test_output_comes_in_parts_that_join_to_the_whole(here: Installed) -> None:
    """O31."""
    run = await here.start()
    session = await here.attach()
    (claim,) = await here.claim(session)
    await here.begin(session, claim)
    chunks = [chunk(b"%05d\n" % n * 10, n * 60) for n in range(50)]
    await here.tell(session, claim, events=tuple(chunks))
    await here.settle(session, claim, result={"exitCode": 0})
    done = await here.look(run.run_id)

    parts, cursor = [], None
    while True:
        page = await here.core.results.page(done, cursor=cursor, max_bytes=500)
        parts.append(page.output)
        cursor = page.next_cursor
        if cursor is None:
            break
        assert page.value is None

    assert b"".join(parts) == b"".join(each.data or b"" for each in chunks)
    assert all(0 < len(part) <= 500 for part in parts[:-1])
    assert page.value == {"exitCode": 0}


async def test_more_parts_than_one_question_brings_are_all_there(here: Installed) -> None:
    run = await here.start()
    session = await here.attach()
    (claim,) = await here.claim(session)
    await here.begin(session, claim)
    await here.tell(session, claim, events=tuple(chunk(b"x", n) for n in range(450)))
    await here.settle(session, claim)

    page = await here.core.results.page(await here.look(run.run_id))

    assert (page.output, page.next_cursor) == (b"x" * 450, None)


async def test_published_items_can_be_had_before_the_end(here: Installed) -> None:
    run = await here.start()
    session = await here.attach()
    (claim,) = await here.claim(session)
    await here.begin(session, claim)
    await here.tell(session, claim, events=(pages(1, 2),))
    running = await here.look(run.run_id)
    with pytest.raises(NotFinishedError):
        await here.core.results.page(running)

    first = await here.core.results.page(running, is_partial=True)
    await here.tell(session, claim, events=(pages(3),))
    rest = await here.core.results.page(await here.look(run.run_id), cursor=first.next_cursor, is_partial=True)

    assert (first.items, rest.items) == ([1, 2], [3])
    assert rest.next_cursor is not None


async def test_a_cancelled_run_has_no_result_but_what_it_left(here: Installed) -> None:
    run = await here.start()
    stopped = await here.core.runs.cancel(PROJECT, run.run_id, by="me")

    with pytest.raises(JobCancelledError):
        await here.core.results.page(stopped)
    page = await here.core.results.page(stopped, is_partial=True)

    assert (page.items, page.output, page.value, page.next_cursor) == (None, b"", None, None)


async def test_a_cursor_of_another_result_is_refused(here: Installed) -> None:
    first, second = await here.start(), await here.start()
    page = await here.core.results.page(first, is_partial=True)

    with pytest.raises(InvalidCursorError):
        await here.core.results.page(second, cursor=page.next_cursor, is_partial=True)


async def test_what_users_see_can_be_rebuilt_from_the_events(here: Installed) -> None:
    run = await here.start()
    session = await here.attach()
    (claim,) = await here.claim(session)
    await here.begin(session, claim)
    dropped = NewEvent("output.dropped", {"stream": "stdout", "offset": 3, "bytes": 10})
    await here.tell(session, claim, events=(chunk(b"\xff\x00a"), dropped, pages({"a": 1})), progress={"done": 1})
    await here.settle(session, claim, result={"result": [1]}, summary="1 passed")

    is_identical, projection = await here.core.results.replay(await here.look(run.run_id))

    assert is_identical
    assert projection["summary"] == "1 passed"
    assert projection["result"] == {"result": [1]}


async def test_a_row_that_was_changed_by_hand_is_no_longer_identical(here: Installed) -> None:
    await here.start()
    done = await here.run_once(await here.attach(), summary="1 passed")
    is_identical, _ = await here.core.results.replay(replace(done, summary="2 passed"))

    assert not is_identical
