"""What the client can do, each operation as steps (see `exchange`): retrying, waiting, paging, resuming.

events     the sequence number decides: what was seen is dropped, what is missing is asked for again, so the caller
           sees each event once and none is left out, however often the connection breaks
waiting    the server holds the answer back; if it does not, we pause instead of asking in a tight loop
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from ringback.client import records, requests, sse
from ringback.client.errors import ProtocolError, StillRunningError, UnreachableError
from ringback.client.exchange import (
    Emit,
    Flow,
    Link,
    LostError,
    Pause,
    Read,
    Request,
    Steps,
    exchange,
    retry_after_s,
)

T = TypeVar("T")
WAIT_PER_REQUEST_S = 25
PAGE_SIZE = 100
PAUSE_S = 0.5


def ask(link: Link, request: Request, read: Callable[[Any], T]) -> Steps[T]:
    """One exchange whose JSON answer `read` understands."""
    answer = yield from exchange(link, request)
    return read(answer.json())


def start(link: Link, job: requests.Start) -> Steps[records.Started]:
    """Start a job."""
    answer = yield from exchange(link, requests.start(link, job))
    body = answer.json()
    snapshot = records.job_snapshot(body)
    replayed = answer.headers.get("idempotency-replayed") == "true"
    return records.Started(snapshot.job_id, snapshot.status, replayed)


def status(link: Link, job_id: str) -> Steps[records.JobSnapshot]:
    """One look at a job."""
    return ask(link, requests.status(link, job_id), records.job_snapshot)


def wait(link: Link, job_id: str, timeout_s: float | None) -> Steps[records.JobSnapshot]:
    """Until the job is final.

    Raises:
        StillRunningError: it was not, within `timeout_s`.
    """
    began = link.clock()
    while True:
        left_s = WAIT_PER_REQUEST_S if timeout_s is None else timeout_s - (link.clock() - began)
        wait_s = max(0, min(WAIT_PER_REQUEST_S, int(left_s)))
        asked = link.clock()
        answer = yield from exchange(link, requests.status(link, job_id, wait_s=wait_s))
        snapshot = records.job_snapshot(answer.json())
        if snapshot.is_final:
            return snapshot
        left_s -= link.clock() - asked
        if timeout_s is not None and left_s <= 0:
            raise StillRunningError(job_id, snapshot.status)
        if link.clock() - asked < wait_s / 2 or not wait_s:
            pause_s = retry_after_s(answer) or PAUSE_S
            yield Pause(pause_s if timeout_s is None else min(pause_s, left_s))


def pages(link: Link, job_id: str, *, max_bytes: int | None = None, partial: bool = False) -> Steps[None]:
    """Each page of the result."""
    cursor: str | None = None
    while True:
        request = requests.result(link, job_id, cursor=cursor, max_bytes=max_bytes, partial=partial)
        page = yield from ask(link, request, records.job_result)
        yield Emit(page)
        if page.next_cursor is None or page.next_cursor == cursor:
            return
        cursor = page.next_cursor


def result(link: Link, job_id: str, *, partial: bool = False) -> Steps[records.JobResult]:
    """The whole result."""
    found = yield from _gathered(pages(link, job_id, partial=partial))
    return records.joined(found)


def jobs(link: Link, filters: Mapping[str, str | None], limit: int | None) -> Steps[None]:
    """Every job that fits, newest first, at most `limit`."""
    cursor: str | None = None
    left = limit
    while left is None or left > 0:
        size = PAGE_SIZE if left is None else min(PAGE_SIZE, left)
        body = yield from ask(link, requests.jobs(link, filters=filters, limit=size, cursor=cursor), _object)
        found = _members(body, "jobs")[:size]
        for item in found:
            yield Emit(records.job_snapshot(item))
        left = None if left is None else left - len(found)
        cursor = body.get("next_cursor")
        if cursor is None:
            return


def listed(link: Link, path: str, read: Callable[[Any], T], query: Mapping[str, str | None]) -> Steps[tuple[T, ...]]:
    """All pages of a list under `/v1`."""
    found: list[T] = []
    cursor: str | None = None
    while True:
        body = yield from ask(link, requests.collection(link, path, {**query, "cursor": cursor}), _object)
        found += [read(item) for item in _members(body, "items")]
        if body.get("nextCursor") is None or body["nextCursor"] == cursor:
            return tuple(found)
        cursor = body["nextCursor"]


def apply(link: Link, definitions: Iterable[Mapping[str, Any]], *, dry_run: bool) -> Steps[tuple[records.Change, ...]]:
    """Make these definitions the tools' current ones."""
    body = yield from ask(link, requests.apply(link, definitions, dry_run=dry_run), _object)
    return tuple(records.change(item) for item in _members(body, "changes"))


def tools(link: Link) -> Steps[tuple[records.Tool, ...]]:
    """Every tool of the project."""
    return listed(link, "/v1/tools", records.tool, {})


def tool(link: Link, name: str) -> Steps[records.Tool]:
    """One tool."""
    return ask(link, requests.tool(link, name), records.tool)


def workers(link: Link) -> Steps[tuple[Mapping[str, Any], ...]]:
    """Every attached worker."""
    return listed(link, "/v1/workers", _object, {})


def stop(link: Link, job_id: str, reason: str | None) -> Steps[records.JobSnapshot]:
    """Ask a job to stop."""
    return ask(link, requests.stop(link, job_id, reason=reason), records.job_snapshot)


def switch_queue(link: Link, pool: str, action: str) -> Steps[Mapping[str, Any]]:
    """Pause or resume a pool."""
    return ask(link, requests.queue_switch(link, pool, action), _object)


def read(link: Link, path: str, query: Mapping[str, str | None] | None = None) -> Steps[Mapping[str, Any]]:
    """Any JSON object that can be read, such as `/v1/runs/{id}` or `/readyz`."""
    return ask(link, requests.collection(link, path, query), _object)


def run(link: Link, run_id: str, *rest: str) -> Steps[Mapping[str, Any]]:
    """The run behind a job, with everything that is known about it."""
    return ask(link, requests.run(link, run_id, *rest), _object)


def attempts(link: Link, run_id: str) -> Steps[tuple[Mapping[str, Any], ...]]:
    """A run's attempts, oldest first."""
    return listed(link, requests.run(link, run_id, "attempts").path, _object, {})


def replay(link: Link, run_id: str) -> Steps[records.Replay]:
    """Rebuild a run's output from its events."""
    body = yield from ask(link, requests.run(link, run_id, "replay"), _object)
    return records.Replay(bool(body.get("identical")), body.get("projection") or {})


def output(link: Link, run_id: str, wanted: requests.Output) -> Steps[None]:
    """What a job wrote so far, piece by piece. Raw bytes go on where a connection broke; other forms begin again, if they can."""
    failures, offset = 0, 0
    is_resumable = wanted.tail is None and not wanted.is_text
    while True:
        yield from exchange(link, requests.output(link, run_id, wanted, offset=offset), opens=True)
        try:
            while piece := (yield Read()):
                offset, failures = offset + len(piece), 0
                yield Emit(piece)
        except LostError as lost:
            if offset and not is_resumable:
                raise UnreachableError(link.url, lost.detail) from lost
            failures += 1
            yield from _breathe(link, failures, lost.detail)
        else:
            return


def last_lines(link: Link, run_id: str, stream: str | None, count: int) -> Steps[tuple[bytes, int]]:
    """The last lines of what a job wrote so far, raw, and the sequence of the event up to which that reaches."""
    answer = yield from exchange(link, requests.output(link, run_id, requests.Output(stream, count)))
    sequence = answer.headers.get("etag", "").strip('"').partition("-")[0]
    return answer.body, int(sequence) if sequence.isdigit() else 0


def events_so_far(link: Link, run_id: str, *, after: int = 0) -> Steps[tuple[records.Event, ...]]:
    """The events behind `after` up to now, without waiting for more."""
    path = requests.run(link, run_id, "events").path
    return listed(link, path, records.event, {"after": str(after)})


def events(link: Link, run_id: str, *, after: int = 0) -> Steps[None]:
    """Every event behind `after` up to the terminal one, once and in order."""
    failures, last = 0, after
    while True:
        parser = sse.Parser()
        before = last
        detail = "the stream ended before the run did"
        yield from exchange(link, requests.events(link, run_id, after=last), opens=True)
        try:
            while piece := (yield Read()):
                for message in parser.feed(piece):
                    found = _event_behind(last, message)
                    if found is None:
                        continue
                    last = found.sequence
                    yield Emit(found)
                    if found.is_final:
                        return
        except LostError as lost:
            detail = lost.detail
        except sse.MessageTooLongError:
            raise ProtocolError("an event without end") from None
        if last == before and (yield from _is_over(link, run_id, last)):
            return
        failures = 0 if last > before else failures + 1
        if failures:
            yield from _breathe(link, failures, detail, parser.retry_s)


def _event_behind(last: int, message: sse.Message) -> records.Event | None:
    """The event of a message, unless it was seen before. Raises `LostError` where one is missing: reconnect from `last`."""
    try:
        body = json.loads(message.data)
    except ValueError:
        raise ProtocolError("an event that is not JSON") from None
    if not isinstance(body, Mapping) or "event" not in body:
        return None
    found = records.event(body)
    if found.sequence <= last:
        return None
    if found.sequence > last + 1:
        raise LostError(f"event {last + 1} was left out", was_sent=True)
    return found


def _is_over(link: Link, run_id: str, last: int) -> Steps[bool]:
    """Whether a silent end of the stream is right: the run is final and all its events were seen."""
    body = yield from ask(link, requests.run(link, run_id), _object)
    return body.get("status") in records.FINAL_RUN_STATUSES and int(body.get("eventSequence", last)) <= last


def _breathe(link: Link, failures: int, detail: str, at_least_s: float | None = None) -> Steps[None]:
    delay_s = link.retry.delay_s(failures, at_least_s)
    if delay_s is None:
        raise UnreachableError(link.url, detail)
    yield Pause(delay_s)


def _gathered(steps: Steps[None]) -> Steps[list[Any]]:
    """Run `steps` and keep what it emits."""
    items: list[Any] = []
    flow = Flow(steps)
    while (step := flow.step) is not None:
        if isinstance(step, Emit):
            items.append(step.item)
            flow.resume(None)
            continue
        try:
            flow.resume((yield step))
        except LostError as lost:
            flow.fail(lost)
    return items


def _object(body: Any) -> Mapping[str, Any]:
    if not isinstance(body, Mapping):
        raise ProtocolError("expected a JSON object")
    return body


def _members(body: Mapping[str, Any], name: str) -> list[Any]:
    found = body.get(name)
    if not isinstance(found, list):
        raise ProtocolError(f"expected a list in {name!r}")
    return found
