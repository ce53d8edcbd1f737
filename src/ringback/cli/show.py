"""`show`: all about one job, for a person who wants to know why it is where it is."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from ringback.cli.jobs import JobArgument, progress_text, said_by
from ringback.cli.moments import lasted, local, relative
from ringback.cli.session import Session, connected
from ringback.cli.terminal import plain
from ringback.client import operations
from ringback.client.records import JobSnapshot

Fact = tuple[str, str]


@connected()
def show(session: Session, job: JobArgument) -> None:
    """Show all about one job: how it stands, why it waits, its attempts, its arguments."""
    snapshot = session.client.job(job).status()
    run = session.run(operations.run(session.link, job))
    attempts = session.run(operations.attempts(session.link, job))
    if session.out.json_mode:
        session.out.document({"job": snapshot.raw, "run": run, "attempts": list(attempts)})
        return
    out, now = session.out, datetime.now(UTC)
    word = "timed out" if snapshot.is_timed_out else snapshot.status
    out.line(f"{out.paint(snapshot.job_id, 'bold')}  {out.status(word)}  {plain(snapshot.tool or '')}")
    facts = [*_standing(snapshot, run, now), *_times(snapshot, run, now), *_given(run)]
    width = max((len(name) for name, _ in facts), default=0)
    for name, value in facts:
        out.line(f"  {name.ljust(width)}  {value}")
    if attempts:
        out.line()
        out.table(("ATTEMPT", "OUTCOME", "REASON", "STARTED", "TOOK", "SESSION", "ERROR"), map(_attempt, attempts))


def _standing(job: JobSnapshot, run: Mapping[str, Any], now: datetime) -> Iterator[Fact]:
    if said := said_by(job):
        yield "summary" if job.summary else "error" if job.is_final else "progress", said
    kind = run.get("failureKind")
    if kind:
        limit = run.get("timeLimit")
        yield "failed because", f"{plain(kind)}" + (f" ({plain(limit)} limit)" if limit else "")
    if run.get("endReason"):
        yield "ended because", plain(run["endReason"])
    if job.progress and job.is_final and not job.summary:
        yield "progress", progress_text(job.progress.done, job.progress.total, job.progress.message)
    if isinstance(run.get("waitingFor"), Mapping):
        yield "waiting for", waiting_text(run["waitingFor"], now)
    if run.get("cancelReason"):
        yield "stop reason", plain(run["cancelReason"])


def waiting_text(waiting: Mapping[str, Any], now: datetime) -> str:
    """Why a job is not running, in words."""
    until = _moment(waiting.get("until"))
    match waiting.get("kind"):
        case "dependency":
            return "jobs before it: " + ", ".join(plain(run) for run in waiting.get("runIds", ()))
        case "interaction":
            question = plain(waiting.get("interactionId"))
            return f"an answer ({plain(waiting.get('reason') or question)}): ringback answer {question}"
        case "not_before":
            return f"its start time {local(until, now)}"
        case "backoff":
            return f"the next attempt {local(until, now)}"
        case "paused":
            return f"pool {plain(waiting.get('pool'))}, which is paused: ringback resume {plain(waiting.get('pool'))}"
        case "concurrency_key":
            return (
                f"a place under `{plain(waiting.get('key'))}` ({waiting.get('held')} of {waiting.get('limit')} taken)"
            )
        case "no_worker":
            return f"a worker that offers {plain(waiting.get('offer'))}: none is attached (ringback worker)"
        case "slot":
            return "a free slot of a worker"
        case other:
            return plain(other)


def _times(job: JobSnapshot, run: Mapping[str, Any], now: datetime) -> Iterator[Fact]:
    started = job.started_at or _moment(run.get("startedAt"))
    ended = job.finished_at or _moment(run.get("endedAt"))
    moments = {
        "created": job.created_at,
        "not before": _moment(run.get("notBefore")),
        "deadline": _moment(run.get("deadlineAt")),
        "stop asked": _moment(run.get("cancelRequestedAt")),
        "started": started,
        "ended": ended,
    }
    yield from ((name, local(moment, now)) for name, moment in moments.items() if moment is not None)
    if started:
        yield "took", lasted(started, ended or now)


def _given(run: Mapping[str, Any]) -> Iterator[Fact]:
    given = run.get("input")
    arguments = given.get("arguments") if isinstance(given, Mapping) else None
    if arguments:
        yield "arguments", json.dumps(arguments, ensure_ascii=True)
    for name, label in (("dependsOn", "depends on"), ("tags", "tags")):
        if run.get(name):
            yield label, ", ".join(plain(value) for value in run[name])
    for name, label in (("threadId", "thread"), ("requestId", "request"), ("runId", "run")):
        if run.get(name):
            yield label, plain(run[name])


def _attempt(attempt: Mapping[str, Any]) -> tuple[str, ...]:
    begun, ended = _moment(attempt.get("startedAt") or attempt.get("claimedAt")), _moment(attempt.get("endedAt"))
    now = datetime.now(UTC)
    return (
        str(attempt.get("attemptNo", "?")),
        str(attempt.get("outcome") or "under way"),
        str(attempt.get("reason") or ""),
        relative(begun, now),
        lasted(begun, ended or now),
        str(attempt.get("sessionId") or ""),
        str(attempt.get("errorSummary") or ""),
    )


def _moment(text: Any) -> datetime | None:
    return datetime.fromisoformat(text) if isinstance(text, str) else None
