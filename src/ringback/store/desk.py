"""The desk of one transaction: rows that its units asked for, and what they put down. It knows statements, not dialects or rules.

Units work one after another on the same desk, so each sees what those before it decided, and a run that ten units changed is
written once. A unit that raises is undone by itself: its changes are taken off the desk and the others' stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ringback.domain.errors import NotFoundError
from ringback.domain.events import event_id_of
from ringback.domain.idempotency import KeyRecord, KeyRef
from ringback.domain.ids import RunId, SessionId
from ringback.domain.moments import Moment
from ringback.domain.notices import is_answered, notice_of
from ringback.domain.records import replace
from ringback.domain.runs import AttemptOutcome, Decision, Run, RunFacts
from ringback.domain.sessions import Session
from ringback.domain.states import Status
from ringback.ports.store import Change, Link
from ringback.store.rows import (
    text_of,
    values_of_attempt,
    values_of_facts,
    values_of_new_run,
    values_of_run,
    values_of_session,
)

Write = tuple[str, dict[str, Any]]
PARTS = (
    "run_events",
    "attempts",
    "run_facts",
    "checkpoints",
    "answer_links",
    "interactions",
    "continuations",
    "asked_keys",
    "run_spaces",
    "inbox",
    "capability_tokens",
    "shared_runs",
    "idempotency_keys",
    "run_links",
    "callbacks",
    "runs",
)


@dataclass(slots=True)
class _Held:
    """A run on the desk: as read (version 0: new), and as it stands."""

    read_version: int
    run: Run
    facts: RunFacts | None = None
    is_changed: bool = False
    owes: bool = False


class WorkDesk:
    """Implements `ports.store.Desk` for any SQL store."""

    def __init__(self, now: Moment) -> None:
        self.now = now
        self._runs: dict[RunId, _Held] = {}
        self._sessions: dict[SessionId, Session] = {}
        self._keys: dict[KeyRef, KeyRecord | None] = {}
        self._writes: list[Write] = []
        self.purged: list[RunId] = []
        self._undo: list[tuple[dict[Any, Any], Any, Any]] = []
        self.acts: list[Callable[[], None]] = []
        self.guarded: set[str] = set()

    # --- what was read

    def lay_run(self, run: Run) -> None:
        self._runs[run.run_id] = _Held(run.version, run)

    def lay_session(self, session: Session) -> None:
        self._sessions[session.session_id] = session

    def lay_key(self, ref: KeyRef, record: KeyRecord | None) -> None:
        self._keys[ref] = record

    # --- what a unit sees

    def run(self, run_id: RunId) -> Run:
        if (held := self._runs.get(run_id)) is None:
            raise NotFoundError("run", run_id)
        return held.run

    def session(self, session_id: SessionId) -> Session:
        if (session := self._sessions.get(session_id)) is None:
            raise NotFoundError("session", session_id)
        return session

    def key(self, ref: KeyRef) -> KeyRecord | None:
        return self._keys[ref]

    # --- what a unit puts down

    def add(self, facts: RunFacts, decision: Decision) -> Run:
        return self._put(_Held(0, decision.run, facts, is_changed=True), decision, version=decision.run.version)

    def save(self, decision: Decision) -> Run:
        held = self._runs[decision.run.run_id]
        if decision.run is held.run and not decision.events:
            return held.run
        changed = _Held(held.read_version, decision.run, held.facts, is_changed=True, owes=held.owes)
        return self._put(changed, decision, version=held.run.version + 1, was=held.run)

    def _put(self, held: _Held, decision: Decision, *, version: int, was: Run | None = None) -> Run:
        before = decision.run
        run_id, sequence, writes = before.run_id, before.event_sequence, self._writes
        for event in decision.events:
            sequence += 1
            values = {
                "run_id": run_id,
                "sequence": sequence,
                "project_id": before.project_id,
                "type": event.type,
                "created_at": self.now,
                "body": text_of(event.body),
                "data": event.data,
            }
            writes.append(("insert_event", values))
        held.run = run = replace(before, version=version, event_sequence=sequence)
        held.owes = held.owes or bool(decision.outbox)
        self._change(self._runs, run_id, held)
        if decision.ended is not None:
            writes.append(("insert_attempt", values_of_attempt(run_id, decision.ended)))
            if decision.ended.outcome is AttemptOutcome.LOST and decision.ended.attempt.run_space_id is not None:
                space = {"run_space_id": decision.ended.attempt.run_space_id, "reason": decision.ended.error}
                writes.append(("take_back_run_space", {**space, "now": self.now}))
        for topic in decision.outbox:
            writes.append(("insert_outbox", {"topic": topic, "run_id": run_id, "created_at": self.now}))
        if run.notify is not None:
            self._notify(was, run)
        return run

    def _notify(self, was: Run | None, run: Run) -> None:
        if is_answered(was, run):
            self._writes.append(("withdraw_notices", {"run_id": run.run_id, "now": self.now}))
        if (kind := notice_of(was, run)) is not None:
            values = {
                "item_id": event_id_of(run.run_id, run.event_sequence),
                "run_id": run.run_id,
                "project_id": run.project_id,
                "owner": run.notify,
                "thread_id": run.thread_id,
                "kind": kind,
                "sequence": run.event_sequence,
                "created_at": self.now,
            }
            self._writes.append(("insert_notice", values))

    def save_session(self, session: Session, *, is_new: bool = False) -> None:
        self._change(self._sessions, session.session_id, session)
        self._writes.append(("insert_session" if is_new else "save_session", values_of_session(session)))

    def put_key(self, record: KeyRecord) -> None:
        self._change(self._keys, record.ref, record)
        values = {"fingerprint": record.fingerprint, "run_id": record.run_id, "created_at": record.created_at}
        ref = record.ref
        values |= {"project_id": ref.project_id, "owner": ref.owner, "key": ref.key}
        self._writes.append(("insert_key", values))

    def link(self, link: Link) -> None:
        values = {"from_run_id": link.from_run_id, "to_run_id": link.to_run_id, "relation": link.relation}
        self._writes.append(("insert_link", {**values, "created_at": link.created_at}))

    def purge(self, run_id: RunId) -> None:
        self.purged.append(run_id)
        for part in PARTS:
            self._writes.append((f"purge_{part}", {"run_id": run_id}))

    def write(self, statement: str, values: Mapping[str, Any]) -> None:
        self._writes.append((statement, dict(values)))

    def guard(self, statement: str, values: Mapping[str, Any]) -> None:
        self.guarded.add(statement)
        self.write(statement, values)

    def then(self, act: Callable[[], None]) -> None:
        self.acts.append(act)

    @contextmanager
    def unit(self) -> Iterator[None]:
        """Undo what happens inside if it raises."""
        mark, acts = len(self._writes), len(self.acts)
        self._undo.clear()
        try:
            yield
        except BaseException:
            del self._writes[mark:], self.acts[acts:]
            for table, key, before in reversed(self._undo):
                if before is _ABSENT:
                    del table[key]
                else:
                    table[key] = before
            raise

    def _change(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        self._undo.append((table, key, table.get(key, _ABSENT)))
        table[key] = value

    # --- what the store takes from it

    def new_runs(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Columns of the run and of its facts, for each new run."""
        for held in self._runs.values():
            if held.read_version == 0 and held.facts is not None:
                yield values_of_new_run(held.run, held.facts), values_of_facts(held.facts)

    def changed_runs(self) -> Iterator[dict[str, Any]]:
        """Columns of each run that was read and changed, with the version that it was read at."""
        for held in self._runs.values():
            if held.is_changed and held.read_version:
                yield values_of_run(held.run) | {"read_version": held.read_version}

    def other_writes(self) -> dict[str, list[dict[str, Any]]]:
        """The remaining statements with their rows, in the order in which each was first used."""
        grouped: dict[str, list[dict[str, Any]]] = {}
        for statement, values in self._writes:
            grouped.setdefault(statement, []).append(values)
        return grouped

    def committed_runs(self) -> Iterator[Run]:
        return (held.run for held in self._runs.values() if held.is_changed)

    def committed_facts(self) -> Iterator[RunFacts]:
        return (held.facts for held in self._runs.values() if held.facts is not None)

    def changes(self) -> list[Change]:
        """What to announce once the transaction is durable."""
        return [_change_of(held.run, owes=held.owes) for held in self._runs.values() if held.is_changed]


_ABSENT = object()


def _change_of(run: Run, *, owes: bool) -> Change:
    attempt = run.attempt
    return Change(
        run_id=run.run_id,
        project_id=run.project_id,
        lane=run.lane,
        status=run.status,
        sequence=run.event_sequence,
        is_ready=run.ready_at is not None,
        is_terminal=run.is_terminal,
        cancel_for=attempt.session_id if attempt is not None and run.status is Status.CANCELING else None,
        timer_at=run.timer_at,
        owes=owes,
    )
