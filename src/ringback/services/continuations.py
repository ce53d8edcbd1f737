"""Requests that are put to a run which is a session: taken durably, carried to its worker, answered by an event.

A request and its answer are events of the run; the request's number is its event's place in the sequence. A row
beside them says only which requests wait and where the answers of the others stand. A request that an attempt may
have taken before it ended is in doubt: whether it was carried out is not known, and the next attempt repeats only
what reads.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ringback.domain.decide import decide
from ringback.domain.errors import ConflictError, Flaw, IllegalTransitionError, InvalidInputError, NotFoundError
from ringback.domain.events import StoredEvent
from ringback.domain.moments import Moment
from ringback.domain.runs import Continue, NewEvent, Run
from ringback.engine.bells import Bells, ring_within
from ringback.ports.store import Desk, Store

SESSION = "mcp_server"
PAGE = 500
WAITING_MAX = 100
TRIES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuation:
    """A request as it stands: `open`, `answered`, or `over` when the session ended without an answer."""

    run: Run
    number: int
    request: Mapping[str, Any]
    asked_at: Moment
    asked_by: str | None
    response: Mapping[str, Any] | None
    answered_at: Moment | None

    @property
    def status(self) -> str:
        if self.response is not None:
            return "answered"
        return "over" if self.run.is_terminal else "open"


@dataclass(slots=True, kw_only=True)
class Continuations:
    """Takes requests, hands them to workers, finds their answers."""

    store: Store
    bells: Bells
    _closing: asyncio.Event = field(default_factory=asyncio.Event)
    _waits: set[asyncio.Event] = field(default_factory=set)

    def close(self) -> None:
        """End every wait: the process is going down."""
        self._closing.set()
        for event in self._waits:
            event.set()

    async def check(self, run: Run) -> None:
        """Refuse a run that is no session.

        Raises:
            IllegalTransitionError: it takes no further input.
        """
        facts = (await self.store.reads.facts([run.run_id]))[run.run_id]
        if facts.resource_type != SESSION:
            why = f"continue: it runs a resource of type {facts.resource_type}, which takes no further input"
            raise IllegalTransitionError(run.run_id, run.status, why)

    async def put(self, run: Run, request: Mapping[str, Any], *, by: str) -> Continuation:
        """Put a request to a session. One that was put before, with the same `id` and content, is found again.

        Raises:
            IllegalTransitionError: the session is over, or ending.
            InvalidInputError: another request of this session has the same id.
        """
        for _ in range(TRIES):
            if (before := await self._same(run, request)) is not None:
                return before
            try:
                number = await self._commit(run, request, by)
            except ConflictError:
                run = await self.store.reads.run(run.run_id) or run
                continue
            return await self.get(run, number)
        raise ConflictError

    async def get(self, run: Run, number: int) -> Continuation:
        """A request with its answer, if there is one.

        Raises:
            NotFoundError: the run has no request of this number.
        """
        rows = await self.store.reads.rows("continuation", {"run_id": run.run_id, "number": number})
        if not rows:
            raise NotFoundError("continuation", str(number))
        latest = await self.store.reads.run(run.run_id) or run
        asked, answered_by = await self._event(run, number), rows[0]["answered_by"]
        answer = None if answered_by is None else await self._event(run, answered_by)
        return Continuation(
            run=latest,
            number=number,
            request=asked.body["request"],
            asked_at=asked.created_at,
            asked_by=asked.body.get("by"),
            response=None if answer is None else answer.body["response"],
            answered_at=None if answer is None else answer.created_at,
        )

    async def wait(self, found: Continuation, *, within_s: float) -> Continuation:
        """The request as it stands when it is answered or the session is over, or after so many seconds."""
        run, loop = found.run, asyncio.get_running_loop()
        ends_at = loop.time() + within_s
        changed = asyncio.Event()
        stop = self.bells.watch(run.run_id, lambda _: changed.set())
        self._waits.add(changed)
        try:
            while True:
                changed.clear()
                found = await self.get(run, found.number)
                left_s = ends_at - loop.time()
                if found.status != "open" or left_s <= 0 or self._closing.is_set():
                    return found
                await ring_within(changed, left_s)
        finally:
            self._waits.discard(changed)
            stop()

    async def waiting(self, run: Run, *, after: int) -> list[dict[str, Any]]:
        """Requests behind a number that have no answer, as a worker is told of them, oldest first; some at a time."""
        values = {"run_id": run.run_id, "after": after, "limit": WAITING_MAX}
        numbers = [row["number"] for row in await self.store.reads.rows("waiting_continuations", values)]
        ended_at = 0
        if numbers:
            ended = await self.store.reads.events(run.run_id, after=numbers[0], limit=PAGE, types=("attempt.ended",))
            ended_at = ended[-1].sequence if ended else 0
        told: list[dict[str, Any]] = []
        for number in numbers:
            request = (await self._event(run, number)).body["request"]
            told.append({"number": number, "request": request} | ({"inDoubt": True} if number < ended_at else {}))
        return told

    async def _commit(self, seen: Run, request: Mapping[str, Any], by: str) -> int:
        named = json.dumps(request["id"]) if "id" in request else None

        def work(desk: Desk) -> Run:
            run = desk.run(seen.run_id)
            if named is not None and run.version != seen.version:
                raise ConflictError  # somebody may have used the same id meanwhile
            saved = desk.save(decide(run, Continue({"request": dict(request), "by": by}), now=desk.now))
            row = {"run_id": saved.run_id, "number": saved.event_sequence, "named": named}
            desk.write("insert_continuation", row)
            return saved

        saved = await self.store.commit(work, runs=(seen.run_id,))
        self.bells.answered(saved)
        return saved.event_sequence

    async def _same(self, run: Run, request: Mapping[str, Any]) -> Continuation | None:
        if "id" not in request:
            return None
        values = {"run_id": run.run_id, "named": json.dumps(request["id"])}
        rows = await self.store.reads.rows("continuation_named", values)
        found = await self.get(run, rows[0]["number"]) if rows else None
        if found is not None and found.request != request:
            raise InvalidInputError(Flaw("/request/id", "another request of this session has this id"))
        return found

    async def _event(self, run: Run, sequence: int) -> StoredEvent:
        (event,) = await self.store.reads.events(run.run_id, after=sequence - 1, limit=1)
        return event


def note_answers(desk: Desk, before: Run, after: Run, events: Sequence[NewEvent]) -> None:
    """Where the answers among the events of a report stand, which made `after` out of `before`."""
    if after.event_sequence == before.event_sequence:  # said twice
        return
    for place, event in enumerate(events, start=before.event_sequence + 1):
        if event.type == "mcp.response":
            row = {"run_id": after.run_id, "number": event.body["number"], "answered_by": place}
            desk.write("answer_continuation", row)
