"""The ledger on SQLite: one process owns the file, one writer with group commit, readers beside it.

The writer is a loop: take every unit of work that waits, run them on one desk in one transaction, flush, tell the callers. While
a flush is under way the next units gather, so the busier it gets the more of them share a flush; nothing ever waits for a timer.
Statements run on the event loop's thread, where they hold the interpreter lock anyway. COMMIT waits for the disk: for a full
transaction or a slow disk in a thread of its own, for a small one on a quick disk right here (decision 0002, measured).

When a transaction fails as a whole because of one unit (a constraint), each unit is tried again alone, so that only the guilty
one fails. When the disk is full every unit is refused and nothing is acknowledged; the writer goes on once there is space.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

from ringback.domain.errors import ConflictError, RingbackError, StoreUnavailableError
from ringback.domain.idempotency import KeyRecord, KeyRef
from ringback.domain.ids import RunId, SessionId
from ringback.ports.clock import Clock
from ringback.ports.notify import Notify
from ringback.ports.store import Desk
from ringback.store import statements
from ringback.store.checkpoints import Checkpoints
from ringback.store.connection import Connection, ConstraintError, DriverError, refusal_of
from ringback.store.desk import WorkDesk
from ringback.store.migrate import migrate
from ringback.store.ownership import Ownership
from ringback.store.reads import SqlReads
from ringback.store.recent import Recent
from ringback.store.rows import run_of, session_of, text_of

log = logging.getLogger(__name__)

T = TypeVar("T")
BATCH_UNITS_MAX = 256  # bounds how long one transaction keeps the event loop
INLINE_UNITS_MAX = 8
INLINE_FLUSH_S = 0.0006  # a disk that takes longer on average is left to the thread


@dataclass(slots=True)
class _Unit:
    work: Callable[[Desk], Any]
    runs: Sequence[RunId]
    keys: Sequence[KeyRef]
    sessions: Sequence[SessionId]
    done: asyncio.Future[Any]


class SqliteStore:
    """Implements `ports.store.Store`. `await open()` before use, `await aclose()` after."""

    def __init__(self, path: Path, *, clock: Clock, notify: Notify) -> None:
        self._path = path
        self._clock, self._notify = clock, notify
        self._sql = statements.load("sqlite")
        self._recent = Recent()
        self._queue: deque[_Unit] = deque()
        self._has_work = asyncio.Event()
        self._flusher = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ledger-flush")
        self._writer: asyncio.Task[None] | None = None
        self._flush_s = 0.0  # how long a flush takes, averaged over the last few
        self._is_flushing = False
        self._is_closed = False

    async def open(self) -> None:
        """Take the file, bring its schema up to date, start the writer.

        Raises:
            StoreUnavailableError: another process owns it, or it can't be opened.
        """
        self._ownership = Ownership(self._path)
        try:
            self._db = Connection(self._path)
            migrate(self._db, now=self._clock.now())
        except DriverError as error:
            self._ownership.release()
            raise refusal_of(error) from error
        self.reads = SqlReads(self._path, self._sql, self._recent, self._idle_writer)
        self._checkpoints = Checkpoints(self._path)
        self._writer = asyncio.create_task(self._write(), name="ledger-writer")

    async def aclose(self) -> None:
        """Finish what was asked for, then close the file."""
        self._is_closed = True
        self._has_work.set()
        if self._writer is not None:
            await self._writer
        self._flusher.shutdown()
        await self.reads.aclose()
        await self._checkpoints.aclose()
        self._db.close()
        self._ownership.release()

    async def commit(
        self,
        work: Callable[[Desk], T],
        *,
        runs: Sequence[RunId] = (),
        keys: Sequence[KeyRef] = (),
        sessions: Sequence[SessionId] = (),
    ) -> T:
        """See `ports.store.Store.commit`. A caller that is cancelled while it waits does not take its unit back."""
        if self._is_closed:
            raise StoreUnavailableError
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._queue.append(_Unit(work, runs, keys, sessions, done))
        self._has_work.set()
        return await done

    def _idle_writer(self) -> Connection | None:
        """The writer's connection, unless a thread has it; on the event loop it is always between two transactions."""
        return None if self._is_flushing else self._db

    async def _write(self) -> None:
        while not (self._is_closed and not self._queue):
            await self._has_work.wait()
            self._has_work.clear()
            while self._queue:
                batch = [self._queue.popleft() for _ in range(min(len(self._queue), BATCH_UNITS_MAX))]
                try:
                    await self._commit_batch(batch)
                except Exception as error:  # the writer's last line of defence; every caller gets an answer
                    log.exception("a transaction failed in an unforeseen way")
                    self._rollback()
                    _refuse(batch, error)
                await self._checkpoints.keep_short(self._db.log_pages)

    async def _commit_batch(self, batch: list[_Unit], *, is_again: bool = False) -> None:
        try:
            desk, answers = self._stage(batch)
            await self._flush_to_disk(len(batch))
        except (ConstraintError, ConflictError) as error:
            self._rollback()
            self._recent.forget()
            if len(batch) == 1 and is_again:
                if isinstance(error, ConstraintError):
                    log.exception("a unit of work was refused by the schema")
                _refuse(batch, error if isinstance(error, ConflictError) else StoreUnavailableError())
                return
            for unit in batch:  # each alone, on rows read afresh
                await self._commit_batch([unit], is_again=True)
            return
        except DriverError as error:
            self._rollback()
            log.warning("a transaction could not be stored: %s", error)
            _refuse(batch, refusal_of(error))
            return
        self._recent.keep(desk.committed_runs(), desk.committed_facts())
        self._recent.drop(desk.purged)
        _answer(batch, answers)
        self._notify.publish(desk.changes())
        for act in desk.acts:
            act()

    async def _flush_to_disk(self, units: int) -> None:
        """COMMIT: here where it is sure to be short, else in the thread, which costs two switches and keeps the loop free."""
        began = perf_counter()
        if units <= INLINE_UNITS_MAX and self._flush_s < INLINE_FLUSH_S:
            self._db.run("COMMIT")
        else:
            self._is_flushing = True
            try:
                await asyncio.get_running_loop().run_in_executor(self._flusher, self._db.run, "COMMIT")
            finally:
                self._is_flushing = False
        self._flush_s += (perf_counter() - began - self._flush_s) / 8

    def _stage(self, batch: list[_Unit]) -> tuple[WorkDesk, list[Any]]:
        """Run the batch in an open transaction, up to but without its commit."""
        self._db.run("BEGIN IMMEDIATE")
        desk = WorkDesk(self._clock.now())
        self._lay_out(desk, batch)
        answers: list[Any] = []
        for unit in batch:
            try:
                with desk.unit():
                    answers.append(unit.work(desk))
            except Exception as error:  # noqa: BLE001  (it is the caller's, and is raised there)
                answers.append(_Raised(error))
        self._flush(desk)
        return desk, answers

    def _lay_out(self, desk: WorkDesk, batch: list[_Unit]) -> None:
        strange: list[RunId] = []
        for run_id in {run_id for unit in batch for run_id in unit.runs}:
            if (run := self._recent.run(run_id)) is not None:
                desk.lay_run(run)
            else:
                strange.append(run_id)
        if strange:
            for row in self._db.fetch(self._sql["load_runs"], {"ids": text_of(strange)}):
                desk.lay_run(run_of(row))
        if session_ids := {session_id for unit in batch for session_id in unit.sessions}:
            for row in self._db.fetch(self._sql["load_sessions"], {"ids": text_of(list(session_ids))}):
                desk.lay_session(session_of(row))
        for ref in {ref for unit in batch for ref in unit.keys}:
            values = {"project_id": ref.project_id, "owner": ref.owner, "key": ref.key}
            rows = self._db.fetch(self._sql["load_key"], values)
            desk.lay_key(ref, KeyRecord(ref=ref, **rows[0]) if rows else None)

    def _flush(self, desk: WorkDesk) -> None:
        new = list(desk.new_runs())
        if new:
            self._db.run_many(self._sql["insert_run"], [run for run, _ in new])
            self._db.run_many(self._sql["insert_facts"], [facts for _, facts in new])
        changed = list(desk.changed_runs())
        if changed and self._db.run_many(self._sql["save_run"], changed) != len(changed):
            raise ConflictError
        for statement, rows in desk.other_writes().items():
            count = self._db.run_many(self._sql[statement], rows)
            if statement in desk.guarded and count != len(rows):
                raise ConflictError

    def _rollback(self) -> None:
        if self._db.is_in_transaction:
            self._db.run("ROLLBACK")


@dataclass(slots=True)
class _Raised:
    error: Exception


def _answer(batch: list[_Unit], answers: list[Any]) -> None:
    for unit, answer in zip(batch, answers, strict=True):
        if not unit.done.done():
            if isinstance(answer, _Raised):
                unit.done.set_exception(answer.error)
            else:
                unit.done.set_result(answer)


def _refuse(batch: list[_Unit], error: Exception) -> None:
    for unit in batch:
        if not unit.done.done():
            unit.done.set_exception(error if isinstance(error, RingbackError) else StoreUnavailableError())
