"""Holds the attempts: one task for each, from the claim to the answered settle.

What is decided here: user code starts only after the server accepted the start, or began the attempt with the claim; a
stop that comes before that means it never starts; every end becomes exactly one settle, except a lost attempt's, which is
killed without a word; a fault in a runtime costs its own attempt only. What an attempt does and how it is killed is the
runtime's business, and what the server says comes in through the `Holder` methods.

A slot is vacated when the runtime has returned (nothing of the attempt is left), while the attempt stays *held* until
its settle was answered, so that a heartbeat in between doesn't make it look lost. An attempt that only waits for others
(`LIGHT`) gives its slot back as soon as it runs.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ringback.worker.assignment import LIGHT, LIGHT_MAX, Assignment, Outcome, Runtime, StopReason
from ringback.worker.attempt import Attempt
from ringback.worker.backoff import Backoff
from ringback.worker.batching import Outbox
from ringback.worker.messages import Cancel, Key, Result
from ringback.worker.settlement import FINAL_CODES, RETRY_CODES, ended_early, ended_refused, settle_report, substitute
from ringback.worker.slots import Slots

STOP_GRACE_MS: Final = 1_000
KILL_WITHIN_S: Final = 2.0

_log = logging.getLogger("ringback.worker.supervisor")


class Supervisor:
    """The attempts of this worker, and the `Holder` of its link."""

    def __init__(self, *, runtimes: Mapping[str, Runtime], outbox: Outbox, slots: Slots) -> None:
        """`runtimes` by the name that assignments use."""
        self._runtimes = runtimes
        self._outbox = outbox
        self._slots = slots
        self._attempts: dict[Key, Attempt] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._light_count = 0
        self._at_rest = asyncio.Event()
        self._at_rest.set()

    # -- what the server says --------------------------------------------------------------------------------------

    def held(self) -> Sequence[Key]:
        """The attempts whose settle has not been answered, without those that are lost."""
        return [key for key, attempt in self._attempts.items() if not attempt.is_lost]

    def take(self, claims: Sequence[Mapping[str, Any]], count: int) -> None:
        """Start the first `count` claims, whose slots are taken already, and give the others back."""
        for position, body in enumerate(claims):
            self._begin(body, has_slot=position < count)

    def cancel(self, order: Cancel) -> None:
        """Stop an attempt as the server asked; once it settles this comes too late and changes nothing."""
        attempt = self._attempts.get(order.key)
        if attempt is not None:
            attempt.halt("cancel", grace_ms=order.grace_ms)

    def answered(self, run_id: str, *, is_waiting: bool) -> None:
        """Let the attempt of this run look how its questions stand."""
        for key, attempt in self._attempts.items():
            if key.run_id == run_id:
                attempt.stop.rest(is_waiting)
                attempt.reporter.look()

    def waiting(self, run_ids: Sequence[str]) -> None:
        """Let the idle limits of these runs rest, and no others."""
        for key, attempt in self._attempts.items():
            attempt.stop.rest(key.run_id in run_ids)

    def lose(self, key: Key) -> None:
        """Kill an attempt that is no longer this worker's; what it still had to say is thrown away."""
        attempt = self._attempts.get(key)
        if attempt is not None and not attempt.is_settling:
            attempt.halt("lost")
            self._outbox.mute(key, discard=True)

    def lose_all(self, *, discard: bool) -> None:
        """Kill everything that still runs, without a settle; results that were reached stay in the outbox."""
        for key, attempt in self._attempts.items():
            if not attempt.is_settling:
                attempt.halt("lost")
                self._outbox.mute(key, discard=discard)

    async def at_rest(self) -> None:
        """Wait until nothing runs; results may still be on their way."""
        await self._at_rest.wait()

    # -- the end of the worker -------------------------------------------------------------------------------------

    async def drain(self, grace_s: float) -> None:
        """Take nothing more, let what runs end by itself for a while, then stop it; returns when nothing runs.

        The time is bounded: the grace, the time to stop, and the time to kill. A second signal cancels this.
        """
        self._slots.close()
        for attempt in self._attempts.values():
            if attempt.is_light:  # whoever goes on with it finds it where it is
                attempt.halt("drain")
        if await self._rest_within(grace_s):
            return
        self._halt_all("drain")
        if await self._rest_within(STOP_GRACE_MS / 1000 + KILL_WITHIN_S):
            return
        await self.kill()

    async def kill(self) -> None:
        """Kill what runs at once, without a settle."""
        self._slots.close()
        self._halt_all("lost")
        if not await self._rest_within(KILL_WITHIN_S):
            _log.error("attempts did not end", extra={"count": self._slots.running + self._light_count})
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _halt_all(self, why: StopReason) -> None:
        for key, attempt in self._attempts.items():
            if not attempt.is_settling:
                attempt.halt(why, grace_ms=min(STOP_GRACE_MS, attempt.assignment.grace_ms))
                if why == "lost":
                    self._outbox.mute(key, discard=True)

    async def _rest_within(self, limit_s: float) -> bool:
        try:
            async with asyncio.timeout(limit_s):
                await self._at_rest.wait()
        except TimeoutError:
            return False
        return True

    # -- one attempt -----------------------------------------------------------------------------------------------

    def _begin(self, body: Mapping[str, Any], *, has_slot: bool) -> None:
        try:
            assignment = Assignment.from_wire(body)
        except (KeyError, TypeError, ValueError) as error:
            _log.error("a claim can't be read", extra={"run": str(body.get("runId")), "error": str(error)})
            if has_slot:
                self._slots.vacate()
            return
        attempt = Attempt(assignment, self._outbox, deadline_in_ms=body.get("deadlineInMs"))
        if attempt.key in self._attempts:
            if has_slot:
                self._slots.vacate()
            return
        self._attempts[attempt.key] = attempt
        if has_slot:
            self._at_rest.clear()
        task = asyncio.get_running_loop().create_task(self._attend(attempt, has_slot=has_slot))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("an attempt was not settled", exc_info=error)

    async def _attend(self, attempt: Attempt, *, has_slot: bool) -> None:
        try:
            outcome = await self._carry_out(attempt) if has_slot else Outcome(kind="released")
            attempt.end()
        finally:
            if has_slot:
                self._vacate(attempt)
        try:
            if outcome is not None and not attempt.is_lost:
                await self._settle(attempt, outcome)
        finally:
            del self._attempts[attempt.key]
            self._outbox.forget(attempt.key)

    def _vacate(self, attempt: Attempt) -> None:
        if attempt.is_light:
            self._light_count -= 1
        else:
            self._slots.vacate()
        if not self._slots.running and not self._light_count:
            self._at_rest.set()

    def _lighten(self, attempt: Attempt) -> None:
        """Give the slot back if the attempt is one that waits, and not too many do."""
        if attempt.assignment.runtime in LIGHT and self._light_count < LIGHT_MAX:
            attempt.is_light = True
            self._light_count += 1
            self._slots.vacate()

    async def _carry_out(self, attempt: Attempt) -> Outcome | None:
        """How the attempt ended; None when it is not this worker's to settle."""
        if not attempt.assignment.is_started:
            started = await self._start(attempt)
            if attempt.stop.why is None and not started.ok:
                return ended_refused(started)
        if attempt.stop.why is not None:
            return ended_early(attempt.stop)
        attempt.set_limits()
        runtime = self._runtimes.get(attempt.assignment.runtime)
        if runtime is None:
            message = f"this worker has no runtime {attempt.assignment.runtime!r}"
            return Outcome(kind="failed", error_kind="internal", error_message=message)
        self._lighten(attempt)
        try:
            outcome = await runtime.run(attempt.assignment, attempt.reporter, attempt.stop)
        except Exception as error:  # noqa: BLE001 - a fault of a runtime costs its own attempt only
            _log.exception("a runtime failed", extra=attempt.facts())
            message = f"{type(error).__name__}: {error}"
            outcome = Outcome(kind="failed", error_kind="internal", error_message=message)
        finally:
            attempt.clear_limits()
        return attempt.judged(outcome)

    async def _start(self, attempt: Attempt) -> Result:
        """Ask for the start until the server decided, or until it no longer matters."""
        backoff = Backoff()
        while True:
            result = await attempt.ask_to_start()
            if result.code not in RETRY_CODES or attempt.stop.why is not None:
                return result
            await asyncio.sleep(backoff.wait_s())

    async def _settle(self, attempt: Attempt, outcome: Outcome) -> None:
        """Settle until the server answered it; what it can't take is settled as a failure that says so."""
        backoff = Backoff()
        body = settle_report(attempt.key, outcome)
        is_substitute = False
        while True:
            result = await self._outbox.post(attempt.key, body)
            if result.ok or result.code in FINAL_CODES:
                return
            if result.code in RETRY_CODES:
                await asyncio.sleep(backoff.wait_s())
            elif is_substitute:
                _log.error("the server takes no settle", extra={**attempt.facts(), "code": result.code})
                return
            else:
                body, is_substitute = settle_report(attempt.key, substitute(result)), True
