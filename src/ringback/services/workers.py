"""The runtime protocol: how a worker attaches, takes work, tells what happens, and lets go.

Every write shows the fence of its attempt; a superseded worker changes nothing, and what it brings is kept as evidence only.
Reports of one request are decided in order in one transaction, each for itself: a refused one stands in no other's way.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ringback.domain.decide import decide
from ringback.domain.errors import RingbackError, SessionExpiredError, StaleFenceError
from ringback.domain.ids import ProjectId, RunId, SessionId
from ringback.domain.moments import SECOND, Micros, rfc3339
from ringback.domain.runs import Append, AttemptOutcome, Lose, Run, Settle
from ringback.domain.sessions import Session, beat, end
from ringback.domain.states import FailureKind
from ringback.engine.apply import apply
from ringback.engine.bells import Bells
from ringback.engine.sweeper import Sweeper
from ringback.ports.clock import Chance, Clock
from ringback.ports.store import Desk, Store
from ringback.services.attempt_requests import AttemptRequests, check_holder
from ringback.services.connections import Attach, Connections
from ringback.services.continuations import note_answers
from ringback.services.handing_out import HandingOut, Work, is_to_stop, stop_order_of
from ringback.services.reports import Asked, Decided, Report, SettleReport, command_of
from ringback.services.resources import Resources

__all__ = ["Attach", "Workers"]

log = logging.getLogger(__name__)

UNANSWERED = 4  # how `ringback ask` exits when nobody answered in time


@dataclass(slots=True, kw_only=True)
class Workers:
    """Serves worker sessions."""

    store: Store
    clock: Clock
    chance: Chance
    bells: Bells
    handing_out: HandingOut
    sweeper: Sweeper
    requests: AttemptRequests
    resources: Resources
    connections: Connections
    lease: Micros = 15 * SECOND
    beat_every: Micros = 5 * SECOND

    @property
    def heartbeat_every(self) -> Micros:
        """As often as asked for, and so often that a lease outlives two heartbeats that got lost; once a second at most."""
        return max(min(self.beat_every, self.lease // 3), SECOND)

    async def attach(self, project_id: ProjectId, owner: str, hello: Attach) -> Session:
        """Open a session, and release the function tools that the worker brings."""
        if hello.tools:
            await self.resources.apply(project_id, hello.tools, actor=owner)
        return await self.connections.open(owner, hello)

    async def session(self, session_id: str) -> Session:
        """A session that is not over.

        Raises:
            SessionExpiredError: it is, or never was.
        """
        if (bell := self.bells.known(SessionId(session_id))) is not None:
            return bell.session
        for session in await self.store.reads.sessions():
            if session.session_id == session_id:
                self.bells.bell_of(session)
                return session
        raise SessionExpiredError(session_id)

    async def heartbeat(
        self, session_id: SessionId, held: Sequence[tuple[RunId, int]]
    ) -> tuple[Work, list[tuple[RunId, int]]]:
        """Renew the lease and compare what the worker holds with what the ledger says it holds.

        Returns:
            Stops that are still to be delivered, and attempts that the worker must end at once, for they are not its own.

        Raises:
            SessionExpiredError: the session is over.
        """
        session = await self.store.commit(lambda desk: self._beat(desk, session_id), sessions=(session_id,))
        self.bells.bell_of(session)
        ledger = {run.run_id: run for run in await self.store.reads.runs_held_by(session_id)}
        told = dict(held)
        lost = [(run_id, fence) for run_id, fence in held if run_id not in ledger or ledger[run_id].fence != fence]
        for run in ledger.values():
            assert run.attempt is not None
            if run.run_id not in told and run.attempt.claimed_at + self.lease < self.clock.now():
                was_heard = run.attempt.started_at is not None
                await self._lose(run, "its worker let go of it" if was_heard else "its worker never heard of it")
        stops = [stop_order_of(run) for run in ledger.values() if is_to_stop(run, session)]
        waiting = tuple(run.run_id for run in ledger.values() if run.blocking is not None)
        return Work(claims=[], stops=stops, lease_until=session.lease_until, waiting=waiting), lost

    async def _lose(self, run: Run, why: str) -> None:
        try:
            await apply(self.store, run.run_id, Lose(run.fence, why, self.chance.draw()))
        except StaleFenceError:  # settled meanwhile
            return

    def _beat(self, desk: Desk, session_id: SessionId) -> Session:
        session = beat(desk.session(session_id), now=desk.now, lease=self.lease)
        desk.save_session(session)
        return session

    async def detach(self, session_id: SessionId) -> None:
        """Close the session; what it still holds is given back at once."""

        def work(desk: Desk) -> None:
            desk.save_session(end(desk.session(session_id), now=desk.now, reason="detached"))

        await self.store.commit(work, sessions=(session_id,))
        self.bells.forget(session_id)
        await self.sweeper.end_orphans()

    async def exchange(
        self, session: Session, reports: Sequence[Report], *, slots: int
    ) -> tuple[list[dict[str, Any]], Work]:
        """Reports in, work out. Both are put down side by side, so that they share a flush."""
        answers, work = await asyncio.gather(
            self.report(session, reports), self.handing_out.take(session, slots=slots), return_exceptions=True
        )
        if isinstance(answers, BaseException):
            if not isinstance(work, BaseException):  # the worker will not hear of them
                await self.handing_out.take_back(session, work)
            raise answers
        if isinstance(work, BaseException):  # the reports stand; work is asked for again
            log.warning("no work was handed out with an answer: %s", work)
            work = Work(claims=[], stops=[], lease_until=session.lease_until)
        return answers, work

    async def report(self, session: Session, reports: Sequence[Report]) -> list[dict[str, Any]]:
        """Decide each report in order; an answer for each, `{"ok": true}` or why not."""
        answers: list[dict[str, Any]] = [{"ok": True}] * len(reports)
        ledgered = [(i, await self._judged(each)) for i, each in enumerate(reports) if not isinstance(each, Asked)]
        if any(isinstance(each, SettleReport) and each.outcome is AttemptOutcome.RELEASED for _, each in ledgered):
            self.handing_out.let_go(session)
        if ledgered:
            run_ids = list(dict.fromkeys(report.run_id for _, report in ledgered))
            refusals = await self.store.commit(lambda desk: self._decide_all(desk, session, ledgered), runs=run_ids)
            for index, error in refusals:
                answers[index] = {"ok": False, "code": error.code, "detail": str(error)}
        for index, report in enumerate(reports):
            if isinstance(report, Asked):
                answers[index] = await self.requests.answer(session, report)
        return answers

    async def _judged(self, report: Decided) -> Decided:
        """A command that ends with the exit code of a question which nobody answered in time has failed of that.

        Another attempt would find the same question, expired.
        """
        if not isinstance(report, SettleReport) or report.error_kind is not FailureKind.TOOL_ERROR:
            return report
        if report.result.get("exitCode") != UNANSWERED:
            return report
        asked = await self.requests.interactions.unheard(report.run_id)
        if asked is None:
            return report
        error = f"nobody answered in time: {asked.question['title']}"
        result = {**report.result, "error": {"kind": FailureKind.EXPIRED.value, "message": error}}
        return replace(report, error_kind=FailureKind.EXPIRED, error=error, result=result, is_retryable=False)

    def _decide_all(
        self, desk: Desk, session: Session, reports: Sequence[tuple[int, Decided]]
    ) -> list[tuple[int, RingbackError]]:
        refusals: list[tuple[int, RingbackError]] = []
        for index, report in reports:
            command = command_of(report, draw=self.chance.draw(), provider=session.provider)
            try:
                run = desk.run(report.run_id)
                check_holder(run, session, report.fence)
                saved = desk.save(decide(run, command, now=desk.now))
                if isinstance(command, Append):
                    note_answers(desk, run, saved, command.events)
                if isinstance(command, Append) and report.checkpoint is not None:
                    values = {"run_id": run.run_id, "value": report.checkpoint, "saved_at": desk.now}
                    desk.write("save_checkpoint", values)
            except RingbackError as error:
                refusals.append((index, error))
                if isinstance(command, Settle) and isinstance(error, StaleFenceError):
                    late = json.dumps(
                        {"outcome": command.outcome.value, "error": command.error, "at": rfc3339(desk.now)}
                    )
                    values = {"run_id": report.run_id, "fence": command.fence, "late": late}
                    desk.write("note_late_outcome", values)
        return refusals
