"""One attempt in the worker's hands: its reporter, its stop, its time limits, and how far it has come."""

import asyncio
from dataclasses import replace
from typing import Any, Final

from ringback.worker.assignment import Assignment, Outcome, Stop, StopReason
from ringback.worker.batching import Outbox
from ringback.worker.messages import Key, Result, report
from ringback.worker.reporting import AttemptReporter

HALTED: Final = Result(ok=False, code="halted")


class Attempt:
    """The state of one attempt; made by the supervisor, and over when its settle was answered."""

    def __init__(self, assignment: Assignment, outbox: Outbox, *, deadline_in_ms: int | None = None) -> None:
        """Nothing is reported yet. The deadline counts from now: the worker's wall clock plays no part (O20)."""
        self.assignment = assignment
        self.key = Key(assignment.run_id, assignment.fence)
        self.reporter = AttemptReporter(self.key, outbox)
        self.stop = Stop()
        self.is_settling = False
        self.is_light = False
        self._claimed_at = asyncio.get_running_loop().time()
        self._deadline_in_ms = deadline_in_ms
        self._outbox = outbox
        self._start_answer: asyncio.Future[Result] | None = None
        self._timers: list[asyncio.TimerHandle] = []

    @property
    def is_lost(self) -> bool:
        """It is no longer this worker's."""
        return self.stop.why == "lost"

    async def ask_to_start(self) -> Result:
        """The server's word on the start; a stop in the meantime answers at once."""
        body = report(self.key, "start", {"provider": "local"})
        self._start_answer = self._outbox.post(self.key, body)
        return await self._start_answer

    def halt(self, why: StopReason, *, grace_ms: int | None = None) -> None:
        """Ask for its end; once it settles that is too late and changes nothing."""
        if self.is_settling:
            return
        self.stop.request(why, grace_ms=grace_ms)
        if self._start_answer is not None and not self._start_answer.done():
            self._start_answer.set_result(HALTED)

    def end(self) -> None:
        """Nothing of it is left alive; the settle is next."""
        self.is_settling = True
        self.reporter.finish()

    def set_limits(self) -> None:
        """Start the clocks: the attempt's limit counts from here, the deadline from the claim."""
        now = asyncio.get_running_loop().time()
        if self.assignment.timeout_ms is not None:
            self._halt_at(now + self.assignment.timeout_ms / 1000, "timeout:attempt")
        if self._deadline_in_ms is not None:
            self._halt_at(self._claimed_at + self._deadline_in_ms / 1000, "timeout:deadline")

    def clear_limits(self) -> None:
        """Stop the clocks."""
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()

    def judged(self, outcome: Outcome) -> Outcome:
        """The outcome in the light of the reason for which the runtime was stopped."""
        if outcome.kind != "stopped":
            return outcome
        if self.stop.why == "drain":
            return replace(outcome, kind="released")
        if self.stop.limit is not None:
            return replace(outcome, kind="timed_out", limit=self.stop.limit)
        return outcome

    def facts(self) -> dict[str, Any]:
        """What a line of the log says about it."""
        return {"run": self.key.run_id, "attempt": self.assignment.attempt_id, "tool": self.assignment.tool}

    def _halt_at(self, moment: float, why: StopReason) -> None:
        self._timers.append(asyncio.get_running_loop().call_at(moment, self.halt, why))
