"""Events of a run and of a project: a page of JSON, or a stream that goes on until the run has ended.

A stream's `id` is the position behind which it may be resumed, as often as one likes. A position that can't be honoured is
refused; a reader that has seen everything of a finished run gets 204, which tells a browser not to come back.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from http import HTTPStatus
from typing import Any

from ringback.api.call import Call, whole_number
from ringback.api.reply import Reply, Stream, reply_json
from ringback.api.routes import Endpoint
from ringback.api.shapes import EventList
from ringback.domain.errors import Flaw, InvalidCursorError, InvalidInputError
from ringback.domain.events import EVENT_TYPES
from ringback.domain.runs import Run
from ringback.services.runs import EVENTS_PAGE
from ringback.views.events import SIGN_OF_LIFE, envelope, frame, position_frame

MEDIA_TYPE = "text/event-stream"
HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
HELLO = b"retry: 1000\n\n"


async def of_run(call: Call) -> Reply:
    """Events behind `after` or `Last-Event-ID`, as a page or as a stream."""
    run = await call.core.runs.get(call.project.project_id, call.path["run_id"], "events")
    after, types = _position(call, run), _types(call)
    if wants_stream(call):
        await call.core.runs.events(run, after=after, limit=1)  # refuses a position that the run does not have
        if run.is_terminal and after == run.event_sequence:
            return Reply(HTTPStatus.NO_CONTENT)
        return Stream(HTTPStatus.OK, _frames(call, run, after, types), media_type=MEDIA_TYPE, headers=HEADERS)
    limit = whole_number(call.query().get("limit"), "limit", least=1, most=EVENTS_PAGE, default=EVENTS_PAGE)
    found = await call.core.runs.events(run, after=after, limit=limit, types=types)
    position = str(found[-1].sequence if found else after)
    body: dict[str, Any] = {"items": [envelope(each, run.thread_id) for each in found], "nextAfter": position}
    if len(found) == limit:
        body["nextCursor"] = position
    return reply_json(body)


async def _frames(call: Call, run: Run, after: int, types: list[str]) -> AsyncGenerator[bytes]:
    yield HELLO
    async with aclosing(call.core.runs.follow(run, after=after, types=types)) as batches:
        async for batch in batches:
            yield b"".join([frame(envelope(each, run.thread_id), each.sequence) for each in batch]) or SIGN_OF_LIFE


def wants_stream(call: Call) -> bool:
    return MEDIA_TYPE in (call.header("accept") or "")


def _position(call: Call, run: Run) -> int:
    """The sequence behind which to go on: `cursor`, `after` or `Last-Event-ID`, as a number or as one of the run's event ids.

    Raises:
        InvalidCursorError: it is none of this run.
    """
    query = call.query()
    text = query.get("cursor", query.get("after", call.header("last-event-id")))
    if text is None:
        return 0
    number = text.removeprefix(f"{run.run_id}:")
    if not number.isascii() or not number.isdigit() or len(number) > 18:
        raise InvalidCursorError("after", f"this run has the positions 0 to {run.event_sequence}")
    return int(number)


def _types(call: Call) -> list[str]:
    types = call.listed("types")
    if unknown := next((each for each in types if each not in EVENT_TYPES), None):
        raise InvalidInputError(Flaw("/types", f"no event has the type {unknown[:80]!r}"))
    return types


async def of_project(call: Call) -> Reply:
    """Events of all runs in the order of their commit, behind a cursor, as a page or as a stream."""
    feed, project_id, query = call.core.feed, call.project.project_id, call.query()
    cursor = query.get("cursor", query.get("after", call.header("last-event-id")))
    after, types = await feed.position_of(project_id, cursor), _types(call)
    if wants_stream(call):
        return Stream(HTTPStatus.OK, _project_frames(call, after, types), media_type=MEDIA_TYPE, headers=HEADERS)
    limit = whole_number(query.get("limit"), "limit", least=1, most=EVENTS_PAGE, default=EVENTS_PAGE)
    batch = await feed.page(project_id, after=after, limit=limit, types=types)
    position = feed.cursor(project_id, batch.position)
    items = [envelope(each, await feed.thread_of(each.run_id)) for each in batch.events]
    body: dict[str, Any] = {"items": items, "nextAfter": position}
    if batch.is_full:
        body["nextCursor"] = position
    return reply_json(body)


async def _project_frames(call: Call, after: int, types: list[str]) -> AsyncGenerator[bytes]:
    feed, project_id = call.core.feed, call.project.project_id
    yield HELLO
    async with aclosing(feed.follow(project_id, after=after, types=types)) as batches:
        async for batch in batches:
            frames = [
                frame(envelope(each, await feed.thread_of(each.run_id)), feed.cursor(project_id, each.position))
                for each in batch.events
            ]
            is_behind = not batch.events or batch.events[-1].position != batch.position
            frames.append(position_frame(feed.cursor(project_id, batch.position)) if is_behind else b"")
            yield b"".join(frames)


_QUERY = {
    "after": "Where to go on; so may `Last-Event-ID` say.",
    "cursor": "The same as `after`.",
    "limit": "1 to 500; 500 if not given. A stream has no limit.",
    "types": "Event types, separated by commas.",
}
_HEADERS = {"Accept": f"`{MEDIA_TYPE}` opens a stream.", "Last-Event-ID": "The id of the last message that was seen."}
ENDPOINTS = [
    Endpoint(
        method="GET",
        path="/v1/events",
        scope="runs:read",
        handler=of_project,
        summary="A project's events",
        gives={200: EventList},
        query={**_QUERY, "after": "Where to go on; `latest` is the present end."},
        headers=_HEADERS,
    ),
    Endpoint(
        method="GET",
        path="/v1/runs/{run_id}/events",
        scope="runs:read",
        handler=of_run,
        summary="A run's events",
        gives={200: EventList, 204: None},
        query=_QUERY,
        headers=_HEADERS,
    ),
]
