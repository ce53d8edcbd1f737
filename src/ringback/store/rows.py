"""Between rows and domain objects: the only place that knows column types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from ringback.domain.events import StoredEvent
from ringback.domain.ids import RunId
from ringback.domain.policy import Policy, policy_of
from ringback.domain.records import made
from ringback.domain.runs import (
    Attempt,
    AttemptOutcome,
    AttemptReason,
    Blocking,
    Cancellation,
    EndedAttempt,
    Run,
    RunFacts,
)
from ringback.domain.sessions import Session
from ringback.domain.states import EndReason, FailureKind, Status, TimeLimit

Row = Mapping[str, Any]

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.decode
_attempt = msgspec.json.Decoder(Attempt).decode
_cancellation = msgspec.json.Decoder(Cancellation).decode
_blocking = msgspec.json.Decoder(Blocking).decode
_STATUS = {each.value: each for each in Status}
_REASON = {each.value: each for each in AttemptReason}


def text_of(value: Any) -> str:
    """`value` as JSON text."""
    return _encode(value).decode()


def value_of(text: str | None) -> Any:
    return None if text is None else _decode(text)


def _text_or_null(value: Any) -> str | None:
    return None if value is None else _encode(value).decode()


@lru_cache(maxsize=1024)
def policy_from(text: str) -> Policy:
    """The policy in a frozen snapshot; few policies serve many runs."""
    return policy_of(_decode(text))


def values_of_run(run: Run) -> dict[str, Any]:
    """The columns of `run` that can change, and its id. Enumerations are strings, and are bound as such."""
    attempt = run.attempt
    return {
        "run_id": run.run_id,
        "status": run.status,
        "waiting_on": _text_or_null(run.waiting_on) if run.waiting_on else None,
        "version": run.version,
        "event_sequence": run.event_sequence,
        "fence": run.fence,
        "attempt": _text_or_null(attempt),
        "session_id": None if attempt is None else attempt.session_id,
        "attempts_done": run.attempts_done,
        "attempts_parked": run.attempts_parked,
        "next_reason": run.next_reason,
        "backoff_until": run.backoff_until,
        "ready_at": run.ready_at,
        "timer_at": run.timer_at,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "failure_kind": run.failure_kind,
        "end_reason": run.end_reason,
        "time_limit": run.time_limit,
        "error": run.error,
        "summary": run.summary,
        "progress": _text_or_null(run.progress),
        "result_sequence": run.result_sequence,
        "cancellation": _text_or_null(run.cancellation),
        "blocking": _text_or_null(run.blocking),
        "open_interactions": run.open_interactions,
        "dependents": run.dependents,
        "children": run.children,
        "descendants": run.descendants,
    }


def values_of_new_run(run: Run, facts: RunFacts) -> dict[str, Any]:
    """Every column of a new run."""
    values = values_of_run(run)
    values.update(
        project_id=run.project_id,
        tool=run.tool,
        lane=run.lane,
        thread_id=run.thread_id,
        notify=run.notify,
        policy=text_of(facts.policy),
        priority=run.policy.priority,
        created_at=run.created_at,
        not_before=run.not_before,
        deadline_at=run.deadline_at,
        runs_always=int(run.runs_always),
    )
    return values


def run_of(row: Row) -> Run:
    fields = dict(row)
    for column in ("session_id", "priority"):  # in the row for its indexes alone
        del fields[column]
    fields["status"] = _STATUS[fields["status"]]
    fields["policy"] = policy_from(fields["policy"])
    fields["next_reason"] = _REASON[fields["next_reason"]]
    fields["runs_always"] = bool(fields["runs_always"])
    waiting_on = fields["waiting_on"]
    fields["waiting_on"] = () if waiting_on is None else tuple(_decode(waiting_on))
    for column, read in _READ_OPTIONAL:
        value = fields[column]
        if value is not None:
            fields[column] = read(value)
    return made(Run, fields)


def notice_of(row: Row) -> tuple[Row, Run]:
    """What a notice says, and its run."""
    columns = dict(row)
    notice = {name: columns.pop(name) for name in ("position", "item_id", "kind", "sequence", "noticed_at")}
    return notice, run_of(columns)


_READ_OPTIONAL: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("attempt", _attempt),
    ("failure_kind", FailureKind),
    ("end_reason", EndReason),
    ("time_limit", TimeLimit),
    ("progress", _decode),
    ("cancellation", _cancellation),
    ("blocking", _blocking),
)


def values_of_facts(facts: RunFacts) -> dict[str, Any]:
    return {
        "run_id": facts.run_id,
        "request_id": facts.request_id,
        "resource_type": facts.resource_type,
        "resource_id": facts.resource_id,
        "revision_id": facts.revision_id,
        "channel_id": facts.channel_id,
        "input": text_of(facts.input),
        "profile": text_of(facts.profile),
        "summary_spec": text_of(facts.summary_spec),
        "depends_on": text_of(facts.depends_on),
        "context_id": facts.context_id,
        "tags": text_of(facts.tags),
        "traceparent": facts.traceparent,
        "created_by": facts.created_by,
        "source": facts.source,
        "parent_id": facts.parent_id,
        "relation": facts.relation,
    }


def facts_of(row: Row) -> RunFacts:
    return RunFacts(
        run_id=row["run_id"],
        project_id=row["project_id"],
        request_id=row["request_id"],
        resource_type=row["resource_type"],
        resource_id=row["resource_id"],
        revision_id=row["revision_id"],
        channel_id=row["channel_id"],
        input=_decode(row["input"]),
        profile=_decode(row["profile"]),
        policy=_decode(row["policy"]),
        summary_spec=_decode(row["summary_spec"]),
        depends_on=tuple(_decode(row["depends_on"])),
        context_id=row["context_id"],
        tags=tuple(_decode(row["tags"])),
        traceparent=row["traceparent"],
        created_by=row["created_by"],
        source=row["source"],
        parent_id=row["parent_id"],
        relation=row["relation"],
    )


def values_of_attempt(run_id: RunId, ended: EndedAttempt) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "attempt_no": ended.attempt.attempt_no,
        "attempt": text_of(ended.attempt),
        "ended_at": ended.ended_at,
        "outcome": ended.outcome.value,
        "error": ended.error,
    }


def attempt_of(row: Row) -> EndedAttempt:
    return EndedAttempt(
        attempt=_attempt(row["attempt"]),
        ended_at=row["ended_at"],
        outcome=AttemptOutcome(row["outcome"]),
        error=row["error"],
        late=value_of(row["late"]),
    )


def event_of(row: Row) -> StoredEvent:
    return StoredEvent(
        run_id=row["run_id"],
        project_id=row["project_id"],
        sequence=row["sequence"],
        position=row["position"],
        type=row["type"],
        created_at=row["created_at"],
        body=_decode(row["body"]),
        data=row["data"],
    )


def values_of_session(session: Session) -> dict[str, Any]:
    return {
        "session_id": session.session_id,
        "name": session.name,
        "incarnation": session.incarnation,
        "slots": session.slots,
        "offers": text_of(sorted(session.offers)),
        "labels": text_of(session.labels),
        "attached_at": session.attached_at,
        "heartbeat_at": session.heartbeat_at,
        "lease_until": session.lease_until,
        "connection_id": session.connection_id,
        "epoch": session.epoch,
        "protocol_version": session.protocol_version,
        "capability_set": session.capability_set,
        "attached_by": session.attached_by,
        "provider": session.provider,
        "ended_at": session.ended_at,
        "end_reason": session.end_reason,
    }


def session_of(row: Row) -> Session:
    return Session(
        session_id=row["session_id"],
        name=row["name"],
        incarnation=row["incarnation"],
        slots=row["slots"],
        offers=frozenset(_decode(row["offers"])),
        labels=_decode(row["labels"]),
        attached_at=row["attached_at"],
        heartbeat_at=row["heartbeat_at"],
        lease_until=row["lease_until"],
        connection_id=row["connection_id"],
        epoch=row["epoch"],
        protocol_version=row["protocol_version"],
        capability_set=row["capability_set"],
        attached_by=row["attached_by"],
        provider=row["provider"],
        ended_at=row["ended_at"],
        end_reason=row["end_reason"],
    )
