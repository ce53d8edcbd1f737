"""Hands ready runs to worker sessions: fairly, in order, and never above a concurrency key's limit.

Candidates come from committed rows and are decided again on the desk. One claim is under way at a time: between its question and
its commit only ends of attempts can happen, which free places and never take one, so the limits are exact.

Work that may not be repeated begins only after its worker asked (decision 0008). Work that may be is begun with the claim: that
saves a flush and a round trip, and a loss in between costs nothing but another attempt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from ringback.domain.admission import Head, lanes_for, pick, pool_of
from ringback.domain.decide import decide
from ringback.domain.errors import IllegalTransitionError, SessionExpiredError
from ringback.domain.ids import AttemptId, ProjectId, RunId, SessionId
from ringback.domain.runs import Claim, Decision, Run, Start
from ringback.domain.sessions import Session
from ringback.engine.hands import Hands
from ringback.ports.clock import Ids
from ringback.ports.store import Desk, Store

LANES_MAX = 256  # lanes that one claim looks at; the next one goes on behind them


@dataclass(slots=True, kw_only=True)
class Claims:
    """Takes runs for sessions."""

    store: Store
    ids: Ids
    hands: Hands
    paused: set[tuple[ProjectId, str]] = field(default_factory=set)
    _served: dict[ProjectId, int] = field(default_factory=dict)
    _first_lane: int = 0
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def claim(self, session: Session, *, limit: int) -> list[Run]:
        """Claim up to `limit` runs that `session` can serve; empty when there is none.

        Raises:
            SessionExpiredError: the session is over.
        """
        async with self._one_at_a_time:
            heads = await self._heads(session, limit)
            if not heads:
                return []
            chosen = pick(heads, await self.store.reads.held(), self._served, limit=limit)
            if not chosen:
                return []
            return await self.store.commit(
                lambda desk: self._take(desk, session.session_id, chosen), runs=chosen, sessions=(session.session_id,)
            )

    async def _heads(self, session: Session, limit: int) -> list[Head]:
        lanes = lanes_for(session.offers, await self.store.reads.lanes())
        lanes = [(project_id, lane) for project_id, lane in lanes if (project_id, pool_of(lane)) not in self.paused]
        if len(lanes) > LANES_MAX:
            self._first_lane = (self._first_lane + LANES_MAX) % len(lanes)
            lanes = [*lanes[self._first_lane :], *lanes[: self._first_lane]][:LANES_MAX]
        reads = self.store.reads
        return [head for project_id, lane in lanes for head in await reads.heads(project_id, lane, limit=limit)]

    def _take(self, desk: Desk, session_id: SessionId, chosen: Sequence[RunId]) -> list[Run]:
        session = desk.session(session_id)
        if not _is_alive(session, desk):
            raise SessionExpiredError(session_id)
        taken: list[Run] = []
        for run_id in chosen:
            with suppress(IllegalTransitionError):  # stopped or ended since the question was asked
                taken.append(self._take_one(desk, session, desk.run(run_id)))
        return taken

    def hand_over(self, desk: Desk, run: Run, session_ids: tuple[SessionId, ...]) -> None:
        """Claim a run that is being created for a worker that waits among `session_ids`, if there is one (`engine.hands`)."""
        if run.ready_at is None or run.ready_at > desk.now or (run.project_id, pool_of(run.lane)) in self.paused:
            return
        hand = self.hands.reach(run, session_ids)
        if hand is None:
            return
        session = desk.session(hand.session.session_id)
        if _is_alive(session, desk):
            taken = self._take_one(desk, session, run)
            desk.then(lambda: hand.give(taken))

    def _take_one(self, desk: Desk, session: Session, run: Run) -> Run:
        claim = Claim(session.session_id, AttemptId(self.ids.new()), session.attachment)
        claimed = decide(run, claim, now=desk.now)
        if claimed.run.policy.may_repeat_after_loss:  # whether it has begun makes no difference: nobody needs to ask
            begun = decide(claimed.run, Start(claimed.run.fence, session.provider), now=desk.now)
            claimed = Decision(begun.run, (*claimed.events, *begun.events))
        return desk.save(claimed)


def _is_alive(session: Session, desk: Desk) -> bool:
    return session.ended_at is None and session.lease_until > desk.now
