"""Claims that wait, and the short cut to them: a new run may be handed to one in the transaction that creates it.

A worker that waits has looked and found nothing, and nothing has become ready since, or it would have been rung. So a run that is
ready at its birth stands in nobody's way when it goes to such a worker at once; that saves a flush and a look at the queue
(decision 0012). Lanes with a concurrency key, and paused pools, always take the way through the queue.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ringback.domain.admission import key_of
from ringback.domain.ids import RunId, SessionId
from ringback.domain.runs import Run
from ringback.domain.sessions import Session


@dataclass(slots=True, eq=False)
class Hand:
    """One claim that waits. Each has an ear of its own, so that no other poll of its session hears what was meant for it.

    Attributes:
        slots: runs that it can take; 0 waits for stops alone.
        rung: look again; a hand that was rung takes nothing more.
        promised: runs whose transaction claims them for it and is not durable yet.
        given: runs that are its own.
    """

    session: Session
    slots: int
    rung: asyncio.Event = field(default_factory=asyncio.Event)
    is_waiting: bool = False
    is_withdrawn: bool = False
    promised: set[RunId] = field(default_factory=set)
    given: list[Run] = field(default_factory=list)

    @contextmanager
    def open(self) -> Iterator[None]:
        """While inside, runs may be handed over."""
        self.is_waiting = True
        try:
            yield
        finally:
            self.is_waiting = False

    def withdraw(self) -> None:
        """Nobody waits any more: take nothing new."""
        self.is_withdrawn, self.slots = True, 0
        self.rung.set()

    def can_take(self, lane: str) -> bool:
        is_open = self.is_waiting and not self.rung.is_set()
        return is_open and len(self.promised) + len(self.given) < self.slots and self.session.can_serve(lane)

    def give(self, run: Run) -> None:
        """`run` is durably claimed for this hand."""
        self.promised.discard(run.run_id)
        self.given.append(run)
        self.rung.set()


@dataclass(slots=True)
class Hands:
    """The claims that wait in this process, longest first."""

    _all: dict[Hand, None] = field(default_factory=dict)

    @contextmanager
    def stretched(self, session: Session, slots: int) -> Iterator[Hand]:
        """A hand for as long as its claim lasts."""
        hand = Hand(session, slots)
        self._all[hand] = None
        try:
            yield hand
        finally:
            del self._all[hand]

    def sessions_for(self, lane: str) -> tuple[SessionId, ...]:
        """Whose row a unit needs that may hand over a run of `lane`: at most one."""
        hand = self._first(lane)
        return () if hand is None else (hand.session.session_id,)

    def reach(self, run: Run, session_ids: tuple[SessionId, ...]) -> Hand | None:
        """The hand among `session_ids` that gets `run`, which is promised to it now. A unit that is tried again gets no other."""
        if again := next((each for each in self._all if run.run_id in each.promised), None):
            return again
        hand = self._first(run.lane)
        if hand is None or hand.session.session_id not in session_ids:
            return None
        hand.promised.add(run.run_id)
        return hand

    def _first(self, lane: str) -> Hand | None:
        if not self._all or key_of(lane):
            return None
        return next((hand for hand in self._all if hand.can_take(lane)), None)

    def of(self, session_id: SessionId) -> list[Hand]:
        return [hand for hand in self._all if hand.session.session_id == session_id]

    def ring(self, lanes: set[str]) -> None:
        """Work of these lanes is ready."""
        for hand in self._all:
            if not hand.rung.is_set() and any(hand.session.can_serve(lane) for lane in lanes):
                hand.rung.set()

    def ring_session(self, session_id: SessionId) -> None:
        for hand in self.of(session_id):
            hand.rung.set()

    def ring_all(self) -> None:
        for hand in self._all:
            hand.rung.set()
