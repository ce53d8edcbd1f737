"""Makes the rows of runs again from their events: what a row says and the events don't is found, told, and corrected.

For each run: its derived columns, the outcomes of its attempts, the links to the runs that it started, and how its questions
were closed. A run that is under way keeps its lease and its place in the queue; what no event tells is left, and told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec

from ringback.domain.ids import RunId
from ringback.domain.runs import Blocking, Cancellation
from ringback.domain.standing import TELLING, Standing, standing_of
from ringback.store import statements
from ringback.store.connection import Connection, Row
from ringback.store.rows import event_of, text_of

BATCH = 500
_TOLD = (
    *("status", "next_reason", "attempts_done", "open_interactions", "started_at", "ended_at", "failure_kind"),
    *("end_reason", "time_limit", "error", "summary", "progress", "result_sequence", "cancellation", "blocking"),
)
_OVER = ("attempt", "session_id", "waiting_on", "backoff_until", "ready_at", "timer_at")  # of no run that has ended
_TYPES: Mapping[str, Any] = {"cancellation": Cancellation, "blocking": Blocking, "progress": dict[str, Any]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Something that a row says otherwise than the events. `why` it is left as it is; None: it can be corrected."""

    run_id: RunId
    what: str
    row: Any = None
    events: Any = None
    why: str | None = None

    def __str__(self) -> str:
        said = "" if self.row is self.events is None else f": {_short(self.row)} in its row, {_short(self.events)} told"
        return f"run {self.run_id}: {self.what}{said}" + ("" if self.why is None else f" (left: {self.why})")


@dataclass(slots=True)
class Rebuilt:
    """What was found: how many runs were looked at, and what differs in any of them."""

    runs: int = 0
    differences: list[Difference] = field(default_factory=list)

    @property
    def left(self) -> list[Difference]:
        return [each for each in self.differences if each.why is not None]


@dataclass(slots=True)
class _Found:
    """A run's rows, what its events tell, and the statements that bring them together."""

    row: Row
    last: int
    attempts: dict[int, Row]
    questions: list[Row]
    links: set[tuple[str, RunId]]
    known: set[str] = field(default_factory=set)
    told: Standing = field(default_factory=Standing)
    differences: list[Difference] = field(default_factory=list)
    writes: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    @property
    def run_id(self) -> RunId:
        return RunId(self.row["run_id"])

    def differs(self, what: str, row: Any = None, events: Any = None, why: str | None = None) -> None:
        self.differences.append(Difference(run_id=self.run_id, what=what, row=row, events=events, why=why))


def rebuild(db: Connection, *, is_check: bool, batch: int = BATCH) -> Rebuilt:
    """Compare every run with its events, and unless it is a check bring the rows in line; one transaction a batch."""
    sql, done, after = statements.load("sqlite"), Rebuilt(), ""
    while runs := db.fetch(sql["told_runs"], {"after": after, "limit": batch}):
        writes: list[tuple[str, dict[str, Any]]] = []
        span = {"after": after, "last": runs[-1]["run_id"]}
        for found in _read(db, runs, span):
            if not found.differences:
                _judge(found)
            done.differences += found.differences
            writes += found.writes
        if writes and not is_check:
            db.run("BEGIN IMMEDIATE")
            for name, values in writes:
                db.run(sql[name], values)
            db.run("COMMIT")
        done.runs += len(runs)
        after = span["last"]
    return done


def _read(db: Connection, runs: list[Row], span: Mapping[str, Any]) -> list[_Found]:
    sql = statements.load("sqlite")
    counts = {row["run_id"]: row for row in db.fetch(sql["told_counts"], span)}
    events = _by_run(db.fetch(sql["telling_events"], {**span, "types": text_of(TELLING)}))
    attempts, questions, links = (
        _by_run(db.fetch(sql[name], span)) for name in ("told_attempts", "told_questions", "told_links")
    )
    read = []
    for row in runs:
        run_id = row["run_id"]
        count = counts.get(run_id, {"count": 0, "last": None})
        found = _Found(
            row=row,
            last=count["last"],
            attempts={each["attempt_no"]: each for each in attempts.get(run_id, ())},
            questions=questions.get(run_id, []),
            links={(each["relation"], RunId(each["to_run_id"])) for each in links.get(run_id, ())},
        )
        if count["count"] != count["last"]:
            found.differs("events", row["event_sequence"], count["count"], "one is missing, so nothing can be told")
        else:
            _fold(found, events.get(run_id, []))
        read.append(found)
    wanted = {to_run_id for found in read for _, to_run_id, _ in found.told.children}
    known = {row["run_id"] for row in db.fetch(sql["known_runs"], {"run_ids": text_of(sorted(wanted))})}
    for found in read:
        found.known = known
    return read


def _fold(found: _Found, rows: list[Row]) -> None:
    try:
        found.told = standing_of(map(event_of, rows))
    except (msgspec.DecodeError, LookupError, ValueError) as unreadable:
        found.differs("events", why=f"they cannot be read: {unreadable!r}")


def _by_run(rows: list[Row]) -> dict[str, list[Row]]:
    """Rows that come in the order of their runs."""
    return {run_id: list(each) for run_id, each in groupby(rows, key=itemgetter("run_id"))}


def _judge(found: _Found) -> None:
    row, told = found.row, found.told
    if not told.is_over and row["status"] != told.status:
        why = "it is under way, and no event tells of its lease and its place in the queue"
        found.differs("status", row["status"], told.status, why)
        return
    _judge_columns(found)
    _judge_attempts(found)
    _judge_questions(found)
    for relation, to_run_id, created_at in told.children:
        if (relation, to_run_id) not in found.links and to_run_id in found.known:
            found.differs(f"link {relation} to {to_run_id}", None, "there")
            values = {"run_id": found.run_id, "relation": relation, "to_run_id": to_run_id, "created_at": created_at}
            found.writes.append(("correct_link", values))


def _judge_columns(found: _Found) -> None:
    row, told = found.row, found.told
    values: dict[str, Any] = {name: getattr(told, name) for name in _TOLD}
    values |= {"event_sequence": found.last, "children": len(told.children)}
    wrong = {name: value for name, value in values.items() if not _is_same(name, row[name], value)}
    if told.is_over:
        wrong |= {name: None for name in _OVER if row[name] is not None}
    for name, value in wrong.items():
        found.differs(name, row[name], value)
    if wrong:
        texts = {name: text_of(wrong[name]) for name in wrong.keys() & _TYPES.keys() if wrong[name] is not None}
        found.writes.append(("correct_run", {**{name: row[name] for name in (*values, "run_id")}, **wrong, **texts}))


def _is_same(name: str, stored: Any, value: Any) -> bool:
    kind = _TYPES.get(name)
    if kind is None or stored is None or value is None:
        return bool(stored == value)
    try:
        return bool(msgspec.json.decode(stored, type=kind) == value)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False


def _judge_attempts(found: _Found) -> None:
    ended = {each.attempt_no: each for each in found.told.attempts if each.ended_at is not None}
    for attempt_no in sorted(found.attempts.keys() - ended.keys()):
        found.differs(f"attempt {attempt_no}", "ended", None, "no event tells of its end")
    for attempt_no, tried in ended.items():
        row = found.attempts.get(attempt_no)
        if row is None:
            found.differs(f"attempt {attempt_no}", None, tried.outcome, "no event tells who carried it out")
            continue
        try:
            attempt = msgspec.json.decode(row["attempt"], type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError):
            found.differs(f"attempt {attempt_no}", row["attempt"], None, "no event tells who carried it out")
            continue
        wanted: dict[str, Any] = {"attempt_id": tried.attempt_id, "attempt_no": attempt_no, "reason": tried.reason}
        wanted |= {"claimed_at": tried.claimed_at, "started_at": tried.started_at}
        ending = {"ended_at": tried.ended_at, "outcome": tried.outcome, "error": tried.error}
        wrong = [(name, attempt.get(name), value) for name, value in wanted.items() if attempt.get(name) != value]
        wrong += [(name, row[name], value) for name, value in ending.items() if row[name] != value]
        for name, stored, value in wrong:
            found.differs(f"attempt {attempt_no} {name}", stored, value)
        if wrong:
            key = {"run_id": found.run_id, "attempt_no": attempt_no}
            found.writes.append(("correct_attempt", {**key, **ending, "attempt": text_of({**attempt, **wanted})}))


def _judge_questions(found: _Found) -> None:
    """Only what an event closed: a question that went with its attempt is withdrawn a moment later, and answers are no event."""
    for row in found.questions:
        asked = found.told.questions.get(row["interaction_id"])
        if asked is None:
            found.differs(f"question {row['interaction_id']}", row["status"], None, "no event tells that it was asked")
        elif asked.status is not None and (row["status"], row["closed_at"]) != (asked.status, asked.closed_at):
            found.differs(f"question {row['interaction_id']}", row["status"], asked.status)
            values = {"interaction_id": row["interaction_id"], "status": asked.status, "closed_at": asked.closed_at}
            found.writes.append(("correct_question", values))
    for interaction_id in found.told.questions.keys() - {row["interaction_id"] for row in found.questions}:
        found.differs(f"question {interaction_id}", None, "asked", "no event tells what was asked")


def _short(value: Any) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 100 else f"{text[:99]}…"
