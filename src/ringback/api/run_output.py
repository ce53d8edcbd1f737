"""A run's result in pages, and what it wrote: the bytes as they came, any range of them, or a readable text."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from http import HTTPStatus

from ringback.api.call import Call, is_true, whole_number
from ringback.api.output_range import range_of
from ringback.api.problems import RequestError
from ringback.api.reply import Reply, Stream, reply_json
from ringback.api.routes import Endpoint
from ringback.api.shapes import RunResult
from ringback.domain.errors import Flaw, InvalidInputError
from ringback.domain.runs import Run
from ringback.services.outputs import STREAMS, Layout
from ringback.services.results import PAGE_BYTES, PAGE_BYTES_MAX, ResultPage
from ringback.summaries.text import clean_text
from ringback.views.results import ending, run_result

TAIL_LINES_MAX = 100_000
LAST_LINES = 20
LAST_BYTES = 2_048
LINE_BYTES_MAX = 1 << 20


async def result(call: Call) -> Reply:
    """A part of the result; on the first of several, also how it ended."""
    run = await call.core.runs.get(call.project.project_id, call.path["run_id"], "output")
    page = await result_page(call, run, "maxBytes")
    body = run_result(page)
    if (end := await end_of_long(call, page)) is not None:
        body["ending"] = {"exitCode" if name == "exit_code" else name: value for name, value in end.items()}
    return reply_json(body)


async def result_page(call: Call, run: Run, size_name: str) -> ResultPage:
    query = call.query()
    size = whole_number(query.get(size_name), size_name, least=1, most=PAGE_BYTES_MAX, default=PAGE_BYTES)
    page = await call.core.results.page(
        run, cursor=query.get("cursor"), max_bytes=size, is_partial=is_true(query.get("partial"))
    )
    await call.core.inbox.seen(run, call.principal.owner)
    return page


async def end_of_long(call: Call, page: ResultPage) -> dict[str, object] | None:
    """The end of a finished output, when this is the first of several pages."""
    if page.next_cursor is None or not page.run.is_terminal or "cursor" in call.query():
        return None
    outputs, run = call.core.outputs, page.run
    layout = await outputs.layout(run)
    first = await outputs.start_of_last_lines(run, layout, LAST_LINES, bytes_max=LAST_BYTES)
    tail = b"".join([piece async for _, piece in outputs.pieces(run, layout, first)])
    return ending(tail, layout.size, await call.core.results.value(run))


async def output(call: Call) -> Reply:
    """What was written so far: raw bytes, of which a range may be asked for, or with `text=1` what a person would read."""
    run = await call.core.runs.get(call.project.project_id, call.path["run_id"], "output")
    query = call.query()
    stream = query.get("stream", "both")
    if stream not in (*STREAMS, "both"):
        raise InvalidInputError(Flaw("/stream", "must be stdout, stderr or both"))
    layout = await call.core.outputs.layout(run, STREAMS if stream == "both" else (stream,))
    first = whole_number(query.get("offset"), "offset", least=0, most=1 << 62, default=0)
    if first > layout.size:
        raise _beyond(layout)
    if "tail" in query:
        lines = whole_number(query["tail"], "tail", least=1, most=TAIL_LINES_MAX, default=1)
        first = max(first, await call.core.outputs.start_of_last_lines(run, layout, lines))
    asked = _Asked(call, run, layout, stream, first)
    return _text(asked) if is_true(query.get("text")) else _raw(asked)


@dataclass(frozen=True, slots=True)
class _Asked:
    call: Call
    run: Run
    layout: Layout
    stream: str
    first: int


def _raw(asked: _Asked) -> Reply:
    call, layout = asked.call, asked.layout
    size, etag = layout.size, f'"{layout.last_sequence}-{asked.stream}"'
    headers = {
        "accept-ranges": "bytes",
        "cache-control": "no-store",
        "content-disposition": f'attachment; filename="{asked.run.tool}-{asked.run.run_id}.{asked.stream}.log"',
        "etag": etag,
        "x-content-type-options": "nosniff",
    }
    if layout.dropped:
        headers["ringback-dropped-bytes"] = str(layout.dropped)
    first, end, status = asked.first, size, HTTPStatus.OK
    if not asked.first and (asked_range := range_of(call.header("range"), call.header("if-range"), etag, size)):
        first, end = asked_range
        if first >= end:
            raise _beyond(layout)
        status = HTTPStatus.PARTIAL_CONTENT
        headers["content-range"] = f"bytes {first}-{end - 1}/{size}"
    headers["content-length"] = str(end - first)
    return Stream(status, _bytes(asked, first, end), media_type="application/octet-stream", headers=headers)


async def _bytes(asked: _Asked, first: int, end: int) -> AsyncGenerator[bytes]:
    async for _, piece in asked.call.core.outputs.pieces(asked.run, asked.layout, first, end):
        if piece:
            yield piece


def _text(asked: _Asked) -> Reply:
    headers = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
    return Stream(HTTPStatus.OK, _lines(asked), media_type="text/plain; charset=utf-8", headers=headers)


async def _lines(asked: _Asked) -> AsyncGenerator[bytes]:
    """Whole lines, cleaned, each stream by itself; a line that never ends comes in parts. Dropped output leaves a mark."""
    rests: dict[str, bytes] = {}
    async for place, piece in asked.call.core.outputs.pieces(asked.run, asked.layout, asked.first):
        whole = rests.pop(place.stream, b"") + piece
        lines, line_end, rest = whole.rpartition(b"\n")
        if place.dropped:
            lines, rest = whole, b""
        if lines or line_end:
            yield clean_text(lines + line_end).encode()
        if place.dropped:
            yield f"\n[{place.dropped} bytes of {place.stream} were not kept]\n".encode()
        elif len(rest) > LINE_BYTES_MAX:
            yield clean_text(rest).encode()
        elif rest:
            rests[place.stream] = rest
    for rest in rests.values():
        yield clean_text(rest).encode()


def _beyond(layout: Layout) -> RequestError:
    status = HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
    headers = {"content-range": f"bytes */{layout.size}"}
    return RequestError(status, "range_not_satisfiable", f"the output has {layout.size} bytes", headers)


_AT = "/v1/runs/{run_id}"
ENDPOINTS = [
    Endpoint(
        method="GET",
        path=f"{_AT}/result",
        scope="runs:read",
        handler=result,
        summary="Fetch a run's result",
        gives={200: RunResult},
        query={
            "cursor": "Where a page begins, as the page before said.",
            "maxBytes": "Bytes of output on a page; 65536 if not given.",
            "partial": "`true` reads what there is of a run that has not ended, or was cancelled.",
        },
    ),
    Endpoint(
        method="GET",
        path=f"{_AT}/output",
        scope="runs:read",
        handler=output,
        summary="Fetch what a run wrote",
        gives={200: "application/octet-stream", 206: "application/octet-stream"},
        query={
            "stream": "`stdout`, `stderr` or `both`, which is what is meant if not given.",
            "offset": "Bytes to leave out at the beginning.",
            "tail": "Only the last N lines.",
            "text": "`1`: as a person would read it, text/plain.",
        },
        headers={"Range": "One range of bytes.", "If-Range": "The ETag that the range belongs to."},
    ),
]
