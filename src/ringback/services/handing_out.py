"""How work reaches a waiting worker, and how it comes back when the worker is not there to hear of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ringback.domain.errors import RingbackError, SessionExpiredError
from ringback.domain.ids import RunId
from ringback.domain.moments import Micros, Moment
from ringback.domain.runs import Lose, Run
from ringback.domain.sessions import Session
from ringback.domain.states import Status
from ringback.engine.apply import apply
from ringback.engine.bells import Bells, ring_within
from ringback.engine.claims import Claims
from ringback.engine.hands import Hand
from ringback.ports.clock import Chance, Clock
from ringback.ports.store import Store
from ringback.services.assignments import assignment_of
from ringback.services.run_tokens import RunTokens

WAIT_MAX_S = 20.0
CLAIMS_MAX = 256


@dataclass(frozen=True, slots=True)
class StopOrder:
    """A run that its worker is to stop."""

    run_id: RunId
    fence: int
    reason: str | None
    grace: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a session gets in an answer.

    Attributes:
        claims: new assignments, in the public JSON shape.
        answered: runs with news of a question; lost news is no loss, for workers look by themselves now and then.
        waiting: those of them that wait for somebody now; with a heartbeat, all that do.
    """

    claims: list[dict[str, Any]]
    stops: list[StopOrder]
    lease_until: Moment
    answered: tuple[RunId, ...] = ()
    waiting: tuple[RunId, ...] = ()


@dataclass(slots=True, kw_only=True)
class HandingOut:
    """Gives runs and stops to worker sessions."""

    store: Store
    clock: Clock
    chance: Chance
    bells: Bells
    claims: Claims
    run_tokens: RunTokens
    _is_closing: bool = False
    _returning: set[asyncio.Future[None]] = field(default_factory=set)

    def close(self) -> None:
        """Let every claim that waits go home empty: the process is going down."""
        self._is_closing = True
        self.bells.hands.ring_all()

    def let_go(self, session: Session) -> None:
        """The session gives work back, maybe because it leaves: a claim of it that waits gets none of that. Another one may."""
        for hand in self.bells.hands.of(session.session_id):
            hand.withdraw()

    async def claim(self, session: Session, *, slots: int, wait_s: float) -> Work:
        """Wait until there is work for `slots` free slots, or a stop, or the time is over; 0 slots wait for stops alone.

        What is under way for a caller that is cancelled meanwhile is finished, and given back.
        """
        self.bells.bell_of(session)
        give_up = asyncio.get_running_loop().time() + min(wait_s, WAIT_MAX_S)
        with self.bells.hands.stretched(session, min(slots, CLAIMS_MAX)) as hand:
            claiming = asyncio.ensure_future(self._claim(hand, give_up))
            try:
                return await asyncio.shield(claiming)
            except asyncio.CancelledError:
                hand.withdraw()
                returning = asyncio.ensure_future(self._return(session, claiming))
                self._returning.add(returning)
                returning.add_done_callback(self._returning.discard)
                raise

    async def _return(self, session: Session, claiming: asyncio.Future[Work]) -> None:
        with suppress(RingbackError):
            await self.take_back(session, await claiming)

    async def _claim(self, hand: Hand, give_up: float) -> Work:
        session, loop = hand.session, asyncio.get_running_loop()
        while True:
            hand.rung.clear()
            work = await self.take(session, slots=hand.slots)
            left = give_up - loop.time()
            if work.claims or work.stops or work.answered or left <= 0 or self._is_closing or hand.is_withdrawn:
                return work
            with hand.open():
                await ring_within(hand.rung, left)
            if hand.promised:  # the ledger takes one thing after the other: behind this, promises are kept or void
                await self.store.commit(lambda _: None)
                hand.promised.clear()
            if hand.given:
                return await self._work(session, hand.given)
            if self.bells.known(session.session_id) is None:
                raise SessionExpiredError(session.session_id)

    async def take(self, session: Session, *, slots: int) -> Work:
        """What there is for the session right now."""
        return await self._work(session, await self.claims.claim(session, limit=slots) if slots > 0 else [])

    async def _work(self, session: Session, runs: Sequence[Run]) -> Work:
        facts = await self.store.reads.facts([run.run_id for run in runs]) if runs else {}
        claims = [assignment_of(run, facts[run.run_id], now=self.clock.now()) for run in runs]
        for run, claim in zip(runs, claims, strict=True):
            if run.attempts_done and (checkpoint := await self.store.reads.checkpoint(run.run_id)) is not None:
                claim["checkpoint"] = checkpoint
            if claim["runtime"] in ("command", "script"):
                claim["runToken"] = self.run_tokens.of(run.run_id, run.fence)
        stops, answered = await self._stops(session), self._answered(session)
        asking = [await self.store.reads.run(run_id) for run_id in answered]
        waiting = tuple(run.run_id for run in asking if run is not None and run.blocking is not None)
        return Work(claims=claims, stops=stops, lease_until=session.lease_until, answered=answered, waiting=waiting)

    def _answered(self, session: Session) -> tuple[RunId, ...]:
        """Runs of the session with news of a question."""
        bell = self.bells.bell_of(session)
        if not bell.answered:
            return ()
        names, bell.answered = bell.answered, set()
        return tuple(sorted(names))

    async def _stops(self, session: Session) -> list[StopOrder]:
        bell = self.bells.bell_of(session)
        if not bell.stops:
            return []
        names, bell.stops = bell.stops, set()
        runs = [await self.store.reads.run(run_id) for run_id in sorted(names)]
        return [stop_order_of(run) for run in runs if run is not None and is_to_stop(run, session)]

    async def take_back(self, session: Session, work: Work) -> None:
        """The worker will not hear of this: its claims go to the next one, its stops are told again."""
        if (bell := self.bells.known(session.session_id)) is not None and work.stops:
            bell.stops.update(order.run_id for order in work.stops)
            self.bells.hands.ring_session(session.session_id)
        await asyncio.gather(*(self._lose(claim) for claim in work.claims))

    async def _lose(self, claim: Mapping[str, Any]) -> None:
        with suppress(RingbackError):
            run_id, why = RunId(claim["runId"]), "its claim could not be handed out"
            await apply(self.store, run_id, Lose(claim["fence"], why, self.chance.draw()))


def is_to_stop(run: Run, session: Session) -> bool:
    return run.status is Status.CANCELING and run.attempt is not None and run.attempt.session_id == session.session_id


def stop_order_of(run: Run) -> StopOrder:
    reason = run.cancellation.reason if run.cancellation else None
    return StopOrder(run.run_id, run.fence, reason, run.policy.cancel_grace)
