"""What the client can do, each operation as steps (see `exchange`): retrying, waiting, paging, resuming.

events     the sequence number decides: what was seen is dropped, what is missing is asked for again, so the caller
           sees each event once and none is left out, however often the connection breaks
waiting    the server holds the answer back; if it does not, we pause instead of asking in a tight loop
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from ringback.client import reading, records, requests
from ringback.client.errors import ProtocolError, StillRunningError
from ringback.client.exchange import (
    Emit,
    Flow,
    Link,
    LostError,
    Pause,
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
    snapshot = reading.job_snapshot(body)
    replayed = answer.headers.get("idempotency-replayed") == "true"
    return records.Started(snapshot.job_id, snapshot.status, replayed)


def status(link: Link, job_id: str) -> Steps[records.JobSnapshot]:
    """One look at a job."""
    return ask(link, requests.status(link, job_id), reading.job_snapshot)


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
        snapshot = reading.job_snapshot(answer.json())
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
        page = yield from ask(link, request, reading.job_result)
        yield Emit(page)
        if page.next_cursor is None or page.next_cursor == cursor:
            return
        cursor = page.next_cursor


def result(link: Link, job_id: str, *, partial: bool = False) -> Steps[records.JobResult]:
    """The whole result."""
    found = yield from _gathered(pages(link, job_id, partial=partial))
    return reading.joined(found)


def jobs(link: Link, filters: Mapping[str, str | None], limit: int | None) -> Steps[None]:
    """Every job that fits, newest first, at most `limit`."""
    cursor: str | None = None
    left = limit
    while left is None or left > 0:
        size = PAGE_SIZE if left is None else min(PAGE_SIZE, left)
        body = yield from ask(link, requests.jobs(link, filters=filters, limit=size, cursor=cursor), json_object)
        found = _members(body, "jobs")[:size]
        for item in found:
            yield Emit(reading.job_snapshot(item))
        left = None if left is None else left - len(found)
        cursor = body.get("next_cursor")
        if cursor is None:
            return


def listed(link: Link, path: str, read: Callable[[Any], T], query: Mapping[str, str | None]) -> Steps[tuple[T, ...]]:
    """All pages of a list under `/v1`."""
    found: list[T] = []
    cursor: str | None = None
    while True:
        body = yield from ask(link, requests.collection(link, path, {**query, "cursor": cursor}), json_object)
        found += [read(item) for item in _members(body, "items")]
        if body.get("nextCursor") is None or body["nextCursor"] == cursor:
            return tuple(found)
        cursor = body["nextCursor"]


def apply(
    link: Link, definitions: Iterable[Mapping[str, Any]], *, channel: str, dry_run: bool
) -> Steps[tuple[records.Change, ...]]:
    """Release these definitions on a channel."""
    request = requests.apply(link, definitions, channel=channel, dry_run=dry_run)
    body = yield from ask(link, request, json_object)
    return tuple(reading.change(item) for item in _members(body, "changes"))


def tools(link: Link) -> Steps[tuple[records.Tool, ...]]:
    """Every tool of the project."""
    return listed(link, "/v1/tools", reading.tool, {})


def tool(link: Link, name: str) -> Steps[records.Tool]:
    """One tool."""
    return ask(link, requests.tool(link, name), reading.tool)


def workers(link: Link) -> Steps[tuple[Mapping[str, Any], ...]]:
    """Every attached worker."""
    return listed(link, "/v1/workers", json_object, {})


def stop(link: Link, job_id: str, reason: str | None) -> Steps[records.JobSnapshot]:
    """Ask a job to stop."""
    return ask(link, requests.stop(link, job_id, reason=reason), reading.job_snapshot)


def interactions(link: Link, job_id: str, status: str | None) -> Steps[tuple[records.Interaction, ...]]:
    """What a job asks and asked, oldest first."""
    path = requests.run(link, job_id, "interactions").path
    return listed(link, path, reading.interaction, {"status": status})


def interaction(link: Link, interaction_id: str) -> Steps[records.Interaction]:
    """One question."""
    return ask(link, requests.interaction(link, interaction_id), reading.interaction)


def answer(link: Link, interaction_id: str, response: Mapping[str, Any]) -> Steps[records.Interaction]:
    """Answer a question."""
    return ask(link, requests.respond(link, interaction_id, response), reading.interaction)


def withdraw(link: Link, interaction_id: str) -> Steps[records.Interaction]:
    """Let nobody answer a question any more."""
    return ask(link, requests.withdraw(link, interaction_id), reading.interaction)


def answer_link(
    link: Link, interaction_id: str, label: str | None, role: str | None, expires_in_s: float | None
) -> Steps[records.AnswerLink]:
    """A link that answers a question once."""
    given = {"label": label, "role": role, "expiresInS": None if expires_in_s is None else round(expires_in_s)}
    body = {name: value for name, value in given.items() if value is not None}
    return ask(link, requests.answer_link(link, interaction_id, body), reading.answer_link)


def question(link: Link, asked: Mapping[str, Any], request_id: str) -> Steps[records.Interaction]:
    """Ask from inside an attempt: the question as it stands."""
    return ask(link, requests.ask(link, asked, request_id), reading.interaction)


def answered(link: Link, interaction_id: str) -> Steps[records.Interaction]:
    """A question of this attempt, once it is over."""
    while True:
        began = link.clock()
        found = yield from ask(
            link, requests.asked(link, interaction_id, wait_s=WAIT_PER_REQUEST_S), reading.interaction
        )
        if not found.is_open:
            return found
        if link.clock() - began < WAIT_PER_REQUEST_S / 2:  # a server on its way down lets nobody wait
            yield Pause(PAUSE_S)


def take_back(link: Link, interaction_id: str) -> Steps[records.Interaction]:
    """Withdraw a question from inside an attempt."""
    return ask(link, requests.take_back(link, interaction_id), reading.interaction)


def progress(link: Link, told: Mapping[str, Any]) -> Steps[None]:
    """Tell from inside an attempt how far it is."""
    yield from exchange(link, requests.progress(link, told))


def switch_queue(link: Link, pool: str, action: str) -> Steps[Mapping[str, Any]]:
    """Pause or resume a pool."""
    return ask(link, requests.queue_switch(link, pool, action), json_object)


def inbox(link: Link, thread_id: str | None, limit: int | None) -> Steps[Mapping[str, Any]]:
    """What the caller was not told yet, one page."""
    return ask(link, requests.inbox(link, thread_id=thread_id, limit=limit), _inbox)


def acknowledge(link: Link, items: Sequence[str], runs: Sequence[str]) -> Steps[None]:
    """Say that notices have arrived, or that the end of runs is known anyhow."""
    yield from exchange(link, requests.acknowledge(link, items=items, runs=runs))


def read(link: Link, path: str, query: Mapping[str, str | None] | None = None) -> Steps[Mapping[str, Any]]:
    """Any JSON object that can be read, such as `/v1/runs/{id}` or `/readyz`."""
    return ask(link, requests.collection(link, path, query), json_object)


def run(link: Link, run_id: str, *rest: str) -> Steps[Mapping[str, Any]]:
    """The run behind a job, with everything that is known about it."""
    return ask(link, requests.run(link, run_id, *rest), json_object)


def attempts(link: Link, run_id: str) -> Steps[tuple[Mapping[str, Any], ...]]:
    """A run's attempts, oldest first."""
    return listed(link, requests.run(link, run_id, "attempts").path, json_object, {})


def replay(link: Link, run_id: str) -> Steps[records.Replay]:
    """Rebuild a run's output from its events."""
    body = yield from ask(link, requests.run(link, run_id, "replay"), json_object)
    return records.Replay(bool(body.get("identical")), body.get("projection") or {})


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


def json_object(body: Any) -> Mapping[str, Any]:
    """The body, if it is an object."""
    if not isinstance(body, Mapping):
        raise ProtocolError("expected a JSON object")
    return body


def _members(body: Mapping[str, Any], name: str) -> list[Any]:
    found = body.get(name)
    if not isinstance(found, list):
        raise ProtocolError(f"expected a list in {name!r}")
    return found


def _inbox(body: Any) -> Mapping[str, Any]:
    found = json_object(body)
    _members(found, "items")
    return found
