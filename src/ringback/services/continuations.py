"""Requests that are put to a run which is a session: taken durably, carried to its worker, answered by an event.

A request is an event of the run, and its number is that event's place in the sequence. So nothing has to be kept
beside the events: what waits is what has no answer yet, in the order in which it was asked. A request that an attempt
may have taken before it ended is in doubt: whether it was carried out is not known, and the next attempt repeats only
what reads.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ringback.domain.decide import decide
from ringback.domain.errors import ConflictError, Flaw, IllegalTransitionError, InvalidInputError, NotFoundError
from ringback.domain.events import StoredEvent
from ringback.domain.moments import Moment
from ringback.domain.runs import Continue, Run
from ringback.engine.bells import Bells, ring_within
from ringback.ports.store import Desk, Store

SESSION = "mcp_server"
PAGE = 500
WAITING_MAX = 100
TRIES = 20
_CARRIED = ("mcp.request", "mcp.response", "attempt.ended")


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
                number = await self._commit(run, {"request": dict(request), "by": by}, is_named="id" in request)
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
        found = await self.store.reads.events(run.run_id, after=number - 1, limit=1, types=("mcp.request",))
        if not found or found[0].sequence != number:
            raise NotFoundError("continuation", str(number))
        answer = await self._answer(run, number)
        latest = await self.store.reads.run(run.run_id) or run
        body = found[0].body
        return Continuation(
            run=latest,
            number=number,
            request=body["request"],
            asked_at=found[0].created_at,
            asked_by=body.get("by"),
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
        asked: dict[int, StoredEvent] = {}
        answered: set[int] = set()
        ended_at = position = after
        while True:
            page = await self.store.reads.events(run.run_id, after=position, limit=PAGE, types=_CARRIED)
            for event in page:
                position = event.sequence
                match event.type:
                    case "mcp.request":
                        asked[event.sequence] = event
                    case "mcp.response":
                        answered.add(event.body["number"])
                    case _:
                        ended_at = event.sequence
            if len(page) < PAGE:
                break
        told = [event for number, event in asked.items() if number not in answered]
        return [
            {"number": each.sequence, "request": each.body["request"]}
            | ({"inDoubt": True} if each.sequence < ended_at else {})
            for each in told[:WAITING_MAX]
        ]

    async def _commit(self, seen: Run, body: Mapping[str, Any], *, is_named: bool) -> int:
        def work(desk: Desk) -> Run:
            run = desk.run(seen.run_id)
            if is_named and run.version != seen.version:
                raise ConflictError  # somebody may have used the same id meanwhile
            return desk.save(decide(run, Continue(body), now=desk.now))

        saved = await self.store.commit(work, runs=(seen.run_id,))
        self.bells.answered(saved)
        return saved.event_sequence

    async def _same(self, run: Run, request: Mapping[str, Any]) -> Continuation | None:
        if "id" not in request:
            return None
        async for event in self._events(run, 0, "mcp.request"):
            if event.body["request"].get("id") == request["id"]:
                if event.body["request"] != request:
                    raise InvalidInputError(Flaw("/request/id", "another request of this session has this id"))
                return await self.get(run, event.sequence)
        return None

    async def _answer(self, run: Run, number: int) -> StoredEvent | None:
        async for event in self._events(run, number, "mcp.response"):
            if event.body["number"] == number:
                return event
        return None

    async def _events(self, run: Run, after: int, kind: str) -> AsyncGenerator[StoredEvent, None]:
        while True:
            page = await self.store.reads.events(run.run_id, after=after, limit=PAGE, types=(kind,))
            for event in page:
                yield event
            if len(page) < PAGE:
                return
            after = page[-1].sequence
