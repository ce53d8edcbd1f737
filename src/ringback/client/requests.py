"""What each operation asks for: pure functions from arguments to a `Request`. Nothing is sent here."""

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import quote

from ringback.client.errors import refusal
from ringback.client.exchange import IDEMPOTENCY_HEADER, Link, Request

ANSWER_WITHIN_S = 30.0
ABSENT: Final = object()
HELD_BACK_S = 30.0  # how long the server waits for the end of a run before it answers
SILENCE_S = 75.0  # a stream sends a comment at least every half minute; longer silence means a dead connection


@dataclass(frozen=True, slots=True)
class Start:
    """A job to start. The key is settled before anything is sent, so that a repetition is recognised as one."""

    tool: str
    arguments: Mapping[str, Any]
    idempotency_key: str | None = None
    depends_on: Sequence[str] = ()
    timeout: float | timedelta | None = None
    not_before: datetime | None = None
    priority: int | None = None
    tags: Sequence[str] = ()
    thread_id: str | None = None
    total_timeout: float | timedelta | None = None
    run_on: str | None = None

    def body(self) -> dict[str, Any]:
        """The members of the request; what was not given is absent.

        Raises:
            ValueError: `not_before` has no offset, so nobody can say which moment it means.
        """
        optional = {
            "depends_on": list(self.depends_on) or None,
            "timeout_seconds": seconds(self.timeout),
            "total_timeout_seconds": seconds(self.total_timeout),
            "not_before": None if self.not_before is None else utc(self.not_before),
            "priority": self.priority,
            "tags": list(self.tags) or None,
            "thread_id": self.thread_id,
            "run_on": self.run_on,
        }
        given = {name: value for name, value in optional.items() if value is not None}
        return {"tool": self.tool, "arguments": dict(self.arguments)} | given


@dataclass(frozen=True, slots=True)
class Output:
    """Which part of what a job wrote, and in which form: raw bytes, or what a person would read, as UTF-8."""

    stream: str | None = None
    tail: int | None = None
    is_text: bool = False


def start(link: Link, job: Start) -> Request:
    """`POST /jobs`, always with a key: without one a lost answer could double the work."""
    key = uuid.uuid4().hex if job.idempotency_key is None else job.idempotency_key
    return _post(link, "/jobs", job.body(), {IDEMPOTENCY_HEADER: header_value(key)})


def status(link: Link, job_id: str, *, wait_s: int = 0) -> Request:
    """`GET /jobs/{id}`; the server holds the answer back up to `wait_s` while the job is active."""
    prefer = {"Prefer": f"wait={wait_s}"} if wait_s else {}
    return _get(link, f"/jobs/{_segment(job_id)}", headers=prefer, within_s=ANSWER_WITHIN_S + wait_s)


def jobs(link: Link, *, filters: Mapping[str, str | None], limit: int | None, cursor: str | None) -> Request:
    """`GET /jobs`, one page."""
    return _get(link, "/jobs", _given({**filters, "limit": _number(limit), "cursor": cursor}))


def stop(link: Link, job_id: str, *, reason: str | None) -> Request:
    """`DELETE /jobs/{id}`."""
    return Request("DELETE", f"/jobs/{_segment(job_id)}", _given({"reason": reason}), link.headers())


def result(link: Link, job_id: str, *, cursor: str | None, max_bytes: int | None, partial: bool) -> Request:
    """`GET /jobs/{id}/result`, one page."""
    query = _given({"cursor": cursor, "max_bytes": _number(max_bytes), "partial": "true" if partial else None})
    return _get(link, f"/jobs/{_segment(job_id)}/result", query)


def run(link: Link, run_id: str, *rest: str, query: Mapping[str, str | None] | None = None) -> Request:
    """`GET /v1/runs/{id}` and what lies below it, as JSON."""
    return _get(link, "/".join(("/v1/runs", _segment(run_id), *rest)), _given(query or {}))


def interaction(link: Link, interaction_id: str) -> Request:
    """`GET /v1/interactions/{id}`."""
    return _get(link, f"/v1/interactions/{_segment(interaction_id)}")


def response(decision: str | None, option: str | None, payload: Any) -> dict[str, Any]:
    """An answer, with what there is of the three; None can be a payload, so its absence is `ABSENT`."""
    body: dict[str, Any] = {**_given({"decision": decision, "selectedOptionId": option})}
    return body if payload is ABSENT else {**body, "payload": payload}


def respond(link: Link, interaction_id: str, response: Mapping[str, Any]) -> Request:
    """`POST /v1/interactions/{id}/respond`."""
    return _post(link, f"/v1/interactions/{_segment(interaction_id)}/respond", response, {})


def withdraw(link: Link, interaction_id: str) -> Request:
    """`POST /v1/interactions/{id}/withdraw`; sent twice it does no more than once."""
    headers = {IDEMPOTENCY_HEADER: uuid.uuid4().hex}
    return _post(link, f"/v1/interactions/{_segment(interaction_id)}/withdraw", {}, headers)


def answer_link(link: Link, interaction_id: str, body: Mapping[str, Any]) -> Request:
    """`POST /v1/interactions/{id}/links`."""
    return _post(link, f"/v1/interactions/{_segment(interaction_id)}/links", body, {})


def ask(link: Link, question: Mapping[str, Any], request_id: str) -> Request:
    """`POST /v1/attempt/interactions`, with the token of an attempt; repeated, it stays one question."""
    body = {**question, "requestId": request_id}
    return _post(link, "/v1/attempt/interactions", body, {IDEMPOTENCY_HEADER: request_id})


def asked(link: Link, interaction_id: str, *, wait_s: int) -> Request:
    """`GET /v1/attempt/interactions/{id}`; the server holds the answer back up to `wait_s` while the question is open."""
    prefer, within_s = {"Prefer": f"wait={wait_s}"}, ANSWER_WITHIN_S + wait_s
    return _get(link, f"/v1/attempt/interactions/{_segment(interaction_id)}", headers=prefer, within_s=within_s)


def take_back(link: Link, interaction_id: str) -> Request:
    """`POST /v1/attempt/interactions/{id}/withdraw`."""
    headers = {IDEMPOTENCY_HEADER: uuid.uuid4().hex}
    return _post(link, f"/v1/attempt/interactions/{_segment(interaction_id)}/withdraw", {}, headers)


def progress(link: Link, told: Mapping[str, Any]) -> Request:
    """`POST /v1/attempt/progress`; the last one counts."""
    return _post(link, "/v1/attempt/progress", told, {IDEMPOTENCY_HEADER: uuid.uuid4().hex})


def tool(link: Link, name: str) -> Request:
    """`GET /v1/tools/{name}`."""
    return _get(link, f"/v1/tools/{_segment(name)}")


def events(link: Link, run_id: str, *, after: int) -> Request:
    """`GET /v1/runs/{id}/events` as a stream that goes on behind `after`."""
    headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
    if after:
        headers["Last-Event-ID"] = str(after)
    return _get(link, f"/v1/runs/{_segment(run_id)}/events", headers=headers, within_s=SILENCE_S)


def output(link: Link, run_id: str, wanted: "Output", *, offset: int = 0) -> Request:
    """`GET /v1/runs/{id}/output`, from byte `offset` of the raw bytes on."""
    query = {
        "stream": wanted.stream,
        "tail": _number(wanted.tail),
        "text": "1" if wanted.is_text else None,
        "offset": _number(offset or None),
    }
    return _get(link, f"/v1/runs/{_segment(run_id)}/output", _given(query), {"Accept": "*/*"})


def collection(link: Link, path: str, query: Mapping[str, str | None] | None = None) -> Request:
    """Any other list or object to read."""
    return _get(link, path, _given(query or {}))


def apply(link: Link, definitions: Iterable[Mapping[str, Any]], *, channel: str, dry_run: bool) -> Request:
    """`PUT /v1/resources`."""
    body = {"definitions": [dict(each) for each in definitions], "releaseChannel": channel, "dryRun": dry_run}
    return of_catalogue(link, "PUT", "resources", body=body)


def queue_switch(link: Link, pool: str, action: str) -> Request:
    """`POST /v1/queues/{pool}/pause` or `…/resume`."""
    return _post(link, f"/v1/queues/{_segment(pool)}/{action}", {}, {})


def inbox(link: Link, *, thread_id: str | None, limit: int | None) -> Request:
    """`GET /v1/inbox`."""
    return _get(link, "/v1/inbox", _given({"threadId": thread_id, "limit": _number(limit)}))


def acknowledge(link: Link, *, items: Sequence[str], runs: Sequence[str]) -> Request:
    """`POST /v1/inbox/ack`."""
    return _post(link, "/v1/inbox/ack", {"items": list(items), "runs": list(runs)}, {})


def make(link: Link, path: str, body: Mapping[str, Any]) -> Request:
    """`POST` of a new object."""
    return _post(link, path, body, {})


def put(link: Link, what: str, name: str, body: Mapping[str, Any]) -> Request:
    """`PUT /v1/{what}/{name}`."""
    headers = link.headers() | {"Content-Type": "application/json"}
    return Request("PUT", f"/v1/{what}/{_segment(name)}", headers=headers, body=_json(body))


def delete(link: Link, what: str, name: str) -> Request:
    """`DELETE /v1/{what}/{name}`."""
    return Request("DELETE", f"/v1/{what}/{_segment(name)}", headers=link.headers())


def of_project(
    link: Link,
    method: str,
    slug: str,
    *below: str,
    body: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Request:
    """Whatever lies below `/api/projects/{slug}`."""
    path = "/".join(("/api/projects", *map(_segment, (slug, *below))))
    typed = {} if body is None else {"Content-Type": "application/json"}
    sent = None if body is None else _json(body)
    all_headers = link.headers() | typed | dict(headers or {})
    return Request(method, path, headers=all_headers, body=sent, within_s=ANSWER_WITHIN_S + HELD_BACK_S)


def of_catalogue(
    link: Link,
    method: str,
    *below: str,
    body: Mapping[str, Any] | None = None,
    query: Mapping[str, str | None] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Request:
    """Whatever lies below `/v1`, named segment by segment."""
    path = "/".join(("/v1", *map(_segment, below)))
    typed = {} if body is None else {"Content-Type": "application/json"}
    all_headers = link.headers() | typed | dict(headers or {})
    return Request(method, path, _given(query or {}), all_headers, None if body is None else _json(body))


def backup(link: Link, target: str) -> Request:
    """`POST /v1/admin/backup`; `target` is a path on the server's machine."""
    return _post(link, "/v1/admin/backup", {"path": target}, {})


def _get(
    link: Link,
    path: str,
    query: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    within_s: float = ANSWER_WITHIN_S,
) -> Request:
    return Request("GET", path, query or {}, link.headers() | dict(headers or {}), None, within_s)


def _post(link: Link, path: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> Request:
    sent = link.headers() | {"Content-Type": "application/json"} | dict(headers)
    return Request("POST", path, headers=sent, body=_json(body))


def _json(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _segment(text: str) -> str:
    """One path segment. An id of dots alone would climb out of the path, so it becomes one that never exists."""
    return quote(text, safe="") if text.strip(".") else "-"


def _given(query: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in query.items() if value is not None}


def _number(value: int | None) -> str | None:
    return None if value is None else str(value)


def seconds(length: float | timedelta | None) -> float | None:
    """A length of time as the server wants it."""
    return length.total_seconds() if isinstance(length, timedelta) else length


def utc(moment: datetime) -> str:
    """A moment as the server wants it.

    Raises:
        ValueError: it has no offset, so nobody can say which moment it means.
    """
    if moment.tzinfo is None:
        raise ValueError("not_before needs an offset: use datetime.now(UTC) or give a tzinfo")
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def header_value(key: str) -> str:
    """The key as it may stand in a header; the rest of its rules is the server's to judge."""
    if not key.isascii() or not key.isprintable():
        detail = "an idempotency key has 1 to 255 visible ASCII characters"
        raise refusal(400, {"code": "invalid_idempotency_key", "detail": detail, "retryable": False})
    return key
