"""What the core needs of storage, in its own words.

Writing: a *unit of work* is a function that sees a `Desk`: the rows that it asked for, and a place for its decisions. The store
runs many units in one transaction, so that one flush to the disk pays for all of them; a unit that raises leaves nothing behind
and disturbs no other. `commit` returns once the unit's changes are durable, and only then.

Reading: `Reads` answers from committed rows and never waits for a writer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

from ringback.domain.admission import Head
from ringback.domain.events import StoredEvent
from ringback.domain.idempotency import KeyRecord, KeyRef
from ringback.domain.ids import ProjectId, RunId, SessionId
from ringback.domain.moments import Moment
from ringback.domain.runs import Decision, EndedAttempt, Run, RunFacts
from ringback.domain.sessions import Session
from ringback.domain.states import Status

T = TypeVar("T")
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A typed edge between two runs."""

    from_run_id: RunId
    to_run_id: RunId
    relation: str
    created_at: Moment


class Change(NamedTuple):
    """What a committed unit did to one run; enough to wake whoever waits for it."""

    run_id: RunId
    project_id: ProjectId
    lane: str
    status: Status
    sequence: int
    is_ready: bool
    is_terminal: bool
    cancel_for: SessionId | None
    timer_at: Moment | None
    owes: bool


class Desk(Protocol):
    """Rows and decisions of one unit of work."""

    @property
    def now(self) -> Moment:
        """The moment of this transaction, on the deployment's one clock."""
        ...

    def run(self, run_id: RunId) -> Run:
        """Raises NotFoundError. The run must be among the `runs` that the unit asked for."""
        ...

    def session(self, session_id: SessionId) -> Session:
        """Raises NotFoundError. The session must be among the `sessions` that the unit asked for."""
        ...

    def key(self, ref: KeyRef) -> KeyRecord | None: ...

    def add(self, facts: RunFacts, decision: Decision) -> Run: ...

    def save(self, decision: Decision) -> Run:
        """Put a decision down: the run, its events in sequence, its ended attempt, its outbox entries."""
        ...

    def save_session(self, session: Session, *, is_new: bool = False) -> None: ...

    def put_key(self, record: KeyRecord) -> None: ...

    def link(self, link: Link) -> None: ...

    def purge(self, run_id: RunId) -> None:
        """Remove a run whole: its events, attempts, facts, links and keys go with it."""
        ...

    def write(self, statement: str, values: Mapping[str, Any]) -> None:
        """Carry out a named statement that no read of this unit depends on."""
        ...

    def guard(self, statement: str, values: Mapping[str, Any]) -> None:
        """Carry out a named statement that must change one row, as its condition stands; else `commit` raises ConflictError."""
        ...

    def then(self, act: Callable[[], None]) -> None:
        """Call `act` once what the unit put down is durable; never, if that fails. It must not raise."""
        ...


class Reads(Protocol):
    """Questions about committed rows."""

    async def run(self, run_id: RunId) -> Run | None: ...

    async def facts(self, run_ids: Sequence[RunId]) -> dict[RunId, RunFacts]: ...

    async def attempts(self, run_id: RunId) -> list[EndedAttempt]:
        """Ended attempts, oldest first."""
        ...

    async def events(self, run_id: RunId, *, after: int, limit: int, types: Sequence[str] = ()) -> list[StoredEvent]:
        """Events with a sequence above `after`, in order."""
        ...

    async def project_events(self, project_id: ProjectId, *, after: int, limit: int) -> list[StoredEvent]:
        """Events of all runs of a project with a position above `after`, in order of commit."""
        ...

    async def runs(
        self, project_id: ProjectId, *, statuses: Sequence[str], tool: str | None, before: RunId | None, limit: int
    ) -> list[Run]:
        """Newest first, those older than `before`."""
        ...

    async def links(self, run_id: RunId, *, backwards: bool = False, relation: str | None = None) -> list[Link]: ...

    async def checkpoint(self, run_id: RunId) -> Any: ...

    async def lanes(self) -> list[tuple[ProjectId, str]]:
        """Lanes in which a run is ready, each once."""
        ...

    async def heads(self, project_id: ProjectId, lane: str, *, limit: int) -> list[Head]:
        """The first ready runs of a lane, in the order in which they should go."""
        ...

    async def held(self) -> dict[tuple[ProjectId, str], int]:
        """Attempts under way, counted by project and lane."""
        ...

    async def position_in_queue(self, run: Run) -> int | None:
        """1 for the head of its lane; None when it is not ready."""
        ...

    async def due_timers(self, now: Moment, *, limit: int) -> list[RunId]: ...

    async def next_timer(self) -> Moment | None: ...

    async def sessions(self, *, live_only: bool = True, connection_id: str | None = None) -> list[Session]:
        """The last attach first: those that are not over, or all of them, or the last ones of one connection."""
        ...

    async def runs_held_by(self, session_id: SessionId) -> list[Run]: ...

    async def outbox(self, *, limit: int) -> list[Row]:
        """Entries `{position, topic, run_id}`, oldest first."""
        ...

    async def notices(
        self, project_id: ProjectId, owner: str, *, thread_id: str | None, after: int, limit: int
    ) -> list[tuple[Row, Run]]:
        """Pending notices `{position, kind, sequence, noticed_at}` of a caller with their runs, oldest first."""
        ...

    async def rows(self, statement: str, values: Mapping[str, Any]) -> list[Row]:
        """The rows of a named question about the catalogue (projects, tokens, tools, pauses)."""
        ...


class Store(Protocol):
    """A ledger that keeps what it acknowledged."""

    @property
    def reads(self) -> Reads: ...

    async def commit(
        self,
        work: Callable[[Desk], T],
        *,
        runs: Sequence[RunId] = (),
        keys: Sequence[KeyRef] = (),
        sessions: Sequence[SessionId] = (),
    ) -> T:
        """Run `work` and return its value once what it put down is durable.

        Raises:
            StoreUnavailableError: nothing was saved; `work` may be committed again.
        """
        ...
