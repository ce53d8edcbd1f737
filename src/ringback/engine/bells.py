"""Wakes whoever waits in this process: callers for a run, sessions for work or for a stop.

A bell only says "look again"; what is true stands in the ledger. So a bell may ring for nothing, and every wait has an end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ringback.domain.admission import key_of
from ringback.domain.ids import RunId, SessionId
from ringback.domain.moments import Moment
from ringback.domain.runs import Run
from ringback.domain.sessions import Session
from ringback.engine.hands import Hands
from ringback.ports.notify import Notify
from ringback.ports.store import Change

Watcher = Callable[[Change], None]


@dataclass(slots=True)
class SessionBell:
    """A worker session; `stops` are runs that it holds and that were asked to stop, `answered` those with news of a question."""

    session: Session
    stops: set[RunId] = field(default_factory=set)
    answered: set[RunId] = field(default_factory=set)


@dataclass(slots=True)
class Bells:
    """All bells of this process. Call `start` once."""

    notify: Notify
    hands: Hands = field(default_factory=Hands)
    timer_set: Callable[[Moment], None] = lambda _: None
    _watchers: dict[RunId, set[Watcher]] = field(default_factory=dict)
    _sessions: dict[SessionId, SessionBell] = field(default_factory=dict)

    def start(self) -> Callable[[], None]:
        return self.notify.listen(self._ring)

    def watch(self, run_id: RunId, watcher: Watcher) -> Callable[[], None]:
        """Call `watcher` after each committed change of the run, until the returned function is called."""
        self._watchers.setdefault(run_id, set()).add(watcher)

        def stop() -> None:
            watchers = self._watchers.get(run_id)
            if watchers is not None:
                watchers.discard(watcher)
                if not watchers:
                    del self._watchers[run_id]

        return stop

    def bell_of(self, session: Session) -> SessionBell:
        bell = self._sessions.setdefault(session.session_id, SessionBell(session))
        bell.session = session
        return bell

    def known(self, session_id: SessionId) -> SessionBell | None:
        return self._sessions.get(session_id)

    def answered(self, run: Run) -> None:
        """A question of the run is over: its worker should look."""
        bell = None if run.attempt is None else self._sessions.get(run.attempt.session_id)
        if bell is not None:
            bell.answered.add(run.run_id)
            self.hands.ring_session(bell.session.session_id)

    def forget(self, session_id: SessionId) -> None:
        if self._sessions.pop(session_id, None):
            self.hands.ring_session(session_id)

    def _ring(self, changes: Sequence[Change]) -> None:
        lanes: set[str] = set()
        for change in changes:
            if watchers := self._watchers.get(change.run_id):
                for watcher in tuple(watchers):
                    watcher(change)
            if change.is_ready or (change.is_terminal and key_of(change.lane)):
                lanes.add(change.lane)
            if change.cancel_for and (bell := self._sessions.get(change.cancel_for)):
                bell.stops.add(change.run_id)
                self.hands.ring_session(change.cancel_for)
            if change.timer_at is not None:
                self.timer_set(change.timer_at)
        if lanes:
            self.hands.ring(lanes)


async def ring_within(event: asyncio.Event, seconds: float) -> bool:
    """Wait for `event`, at most so long; whether it rang. When the time is over the event is set, too: look again either way."""
    if event.is_set():
        return True
    is_late = False

    def give_up() -> None:
        nonlocal is_late
        is_late = True
        event.set()

    timer = asyncio.get_running_loop().call_later(seconds, give_up)
    try:
        await event.wait()
    finally:
        timer.cancel()
    return not is_late
