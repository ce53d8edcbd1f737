"""Runs a program as an attempt: nothing inherited, everything captured, nothing left behind.

The order of things, which the outcome depends on:

1. Arguments, secrets, folder and program are checked; what is wrong ends the attempt before a process exists.
2. The end is whatever comes first: the exit of the leader, a request to stop, the attempt's limit, the idle limit.
3. A stop is SIGTERM to the whole tree, the grace, SIGKILL. From SIGTERM on, the exit code no longer decides anything.
4. After an exit of its own accord the output is drained for a bounded time, then leftovers are ended and counted.
5. Only when nothing of the tree lives any more the outcome is told.
"""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ringback.domain.commands import CommandTemplateError, render
from ringback.summaries import summarize
from ringback.worker.artifacts import fresh_files
from ringback.worker.assignment import Assignment, Outcome, Reporter, Stop, StopReason
from ringback.worker.capture import CAP_BYTES, Capture
from ringback.worker.environment import MissingSecretError, environment_of, secrets_of
from ringback.worker.masking import Mask
from ringback.worker.processes.child import Child, GuardianLostError, SpawnError
from ringback.worker.processes.guardian import Guardian

DRAIN_S: Final = 1.0
LEFTOVER_GRACE_S: Final = 0.5
LAST_MOMENT_S: Final = 0.1
SMALL_OUTPUT_BYTES: Final = 4096


class CommandRuntime:
    """The runtime for tools that are programs."""

    name: Final = "command"

    def __init__(
        self,
        guardian: Guardian,
        *,
        environment: Mapping[str, str] | None = None,
        secret_values: Iterable[str] = (),
        drain_s: float = DRAIN_S,
        url: str = "",
    ) -> None:
        """Start programs through `guardian`, which stays the caller's.

        Args:
            environment: the worker's variables, from which commands get what is allowed; None is this process's.
            secret_values: what is masked in every command's output beside its own secrets (the worker's token).
            drain_s: how long, in seconds, output may still come after the leader's exit.
            url: where commands find the server, to ask people with the token of their attempt.
        """
        self._guardian = guardian
        self._environment = dict(os.environ if environment is None else environment)
        self._secret_values = tuple(secret_values)
        self._drain_s = drain_s
        self._url = url

    async def run(self, assignment: Assignment, reporter: Reporter, stop: Stop) -> Outcome:
        """Carry out one attempt; when this returns or raises, no process of it is left."""
        hidden = [*self._secret_values, assignment.run_token]
        mask = Mask(hidden)
        try:
            secrets = secrets_of(assignment, self._environment)
            mask = Mask([*hidden, *secrets.values()])
            argv = (*assignment.prefix, *render(assignment.profile, assignment.arguments))
        except MissingSecretError as error:
            return Outcome(kind="failed", error_kind="tool_error", error_message=str(error))
        except CommandTemplateError as error:
            return _refused(mask.text(str(error)), {"pointer": error.pointer})
        except ValueError as error:
            return _refused(mask.text(str(error)))
        if stop.why is not None:
            return _stopped(stop.why, forced=False)
        environment = environment_of(assignment, self._environment, secrets, url=self._url)
        work = Work(argv, environment, mask, assignment, reporter, stop, self._drain_s)
        try:
            return await work.carry_out(self._guardian)
        except SpawnError as error:
            return Outcome(kind="failed", error_kind="tool_error", error_message=mask.text(str(error)))
        except GuardianLostError as error:
            return Outcome(kind="failed", error_kind="internal", error_message=str(error))

    async def aclose(self) -> None:
        """Nothing is held between assignments."""


@dataclass(slots=True)
class Work:
    """One program on its way from start to outcome."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    mask: Mask
    assignment: Assignment
    reporter: Reporter
    stop: Stop
    drain_s: float

    async def carry_out(self, guardian: Guardian) -> Outcome:
        """Start it, and return when nothing of it is left."""
        profile = self.assignment.profile
        limits: Mapping[str, int] = profile.get("limits") or {}
        folder = str(profile.get("cwd") or os.getcwd())  # noqa: PTH109 - no file is touched
        began_ns = time.time_ns()
        child = await guardian.spawn(self.argv, env=self.environment, cwd=folder, limits=limits)
        capture = Capture(self.reporter, self.mask, cap_bytes=limits.get("outputBytes") or CAP_BYTES)
        capture.start(child.stdout, child.stderr)
        try:
            outcome = await self._see_through(child, capture)
            if outcome is not None and child.immune:
                message = f"the command was stopped, but processes that could not be killed are left: {child.immune}"
                return Outcome(kind="failed", error_kind="internal", error_message=message, retryable=False)
            return outcome or await self._verdict(child, capture, folder, began_ns)
        except GuardianLostError:
            await self._read_rest(capture)
            raise
        finally:
            await asyncio.shield(_clean_up(child, capture))

    async def _see_through(self, child: Child, capture: Capture) -> Outcome | None:
        """Return when nothing lives and all output was passed on; None when it ended of its own accord."""
        await _first(child.wait(), self._stop_due(capture), asyncio.shield(capture.broken))
        outcome = None
        if child.returncode is None:
            forced = await self._halt(child)
            assert self.stop.why is not None
            outcome = _stopped(self.stop.why, forced=forced)
        elif not child.is_gone:
            await self._end_leftovers(child, capture)
        await self._read_rest(capture)
        return outcome

    async def _stop_due(self, capture: Capture) -> None:
        """Return when the attempt has to be stopped, with the reason in `stop`."""
        loop = asyncio.get_running_loop()
        timeout_ms, idle_ms = self.assignment.timeout_ms, self.assignment.idle_timeout_ms
        ends_at = float("inf") if timeout_ms is None else loop.time() + timeout_ms / 1000
        while not self.stop.requested.is_set():
            alive_at = self.stop.alive_at(capture.last_active_at)
            idle_at = float("inf") if idle_ms is None else alive_at + idle_ms / 1000
            why: StopReason = "timeout:attempt" if ends_at <= idle_at else "timeout:idle"
            due = min(ends_at, idle_at)
            if due <= loop.time():
                self.stop.request(why)
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(None if due == float("inf") else due):
                    await self.stop.requested.wait()

    async def _halt(self, child: Child) -> bool:
        """Stop the tree; True when it had to be killed. Telling about it may wait for the server, the killing does not."""
        why, grace_ms = self.stop.why, self.stop.grace_ms
        grace_s = (self.assignment.grace_ms if grace_ms is None else grace_ms) / 1000
        stopping = asyncio.ensure_future(self._stop_unless_lost(child, grace_s))
        await asyncio.sleep(0)  # SIGTERM is on its way
        if why == "cancel":
            await self.reporter.cancel_delivered()
        try:
            forced = await stopping
        except GuardianLostError:
            return True  # it is dead all the same
        if why == "cancel" and not forced:
            await self.reporter.cancel_acknowledged()
        return forced

    async def _stop_unless_lost(self, child: Child, grace_s: float) -> bool:
        return bool(await _first(child.stop(grace_s), self._kill_when_lost(child)))

    async def _kill_when_lost(self, child: Child) -> bool:
        await self.stop.lost.wait()
        await child.kill_tree()
        return True

    async def _end_leftovers(self, child: Child, capture: Capture) -> None:
        """The leader is done, descendants are not: let them finish their output for a moment, then end them."""
        await _first(child.gone(), capture.read_to_the_end(self.drain_s), self.stop.requested.wait())
        # The pipes of a process close a moment before its end is known: whoever just finished is no leftover.
        await _first(child.gone(), asyncio.sleep(LAST_MOMENT_S), self.stop.requested.wait())
        if not child.is_gone:
            await child.stop(0 if self.stop.requested.is_set() else LEFTOVER_GRACE_S)
        else:
            child.left = 0

    async def _read_rest(self, capture: Capture) -> None:
        """Pass on what was written; a lost attempt has nobody to pass it to."""
        capture.finish_by(asyncio.get_running_loop().time())
        await _first(capture.ended(), self.stop.lost.wait())

    async def _verdict(self, child: Child, capture: Capture, folder: str, began_ns: int) -> Outcome:
        code = child.returncode
        assert code is not None
        summary = await self._summary(code, capture, folder, began_ns)
        facts: dict[str, Any] = {"exitCode": code} if code >= 0 else {"signal": signal_name(-code)}
        if child.left:
            facts["leftoverProcesses"] = child.left
        if child.immune:
            facts["unkillableProcesses"] = child.immune
        if capture.dropped_bytes:
            facts["droppedBytes"] = capture.dropped_bytes
        if code == 0:
            return Outcome(kind="succeeded", result=facts, summary=summary, exit_code=0)
        return Outcome(
            kind="failed",
            summary=summary,
            exit_code=code if code > 0 else None,
            signal=signal_name(-code) if code < 0 else None,
            error_kind="tool_error",
            error_message=f"exit code {code}" if code > 0 else f"killed by {signal_name(-code)}",
            error_detail=facts,
        )

    async def _summary(self, code: int, capture: Capture, folder: str, began_ns: int) -> str:
        spec, tail, is_whole = self.assignment.summary, capture.tail, capture.is_tail_whole

        def read() -> str:
            files = fresh_files(spec, folder, began_ns)
            summary = summarize(spec, output=tail, exit_code=code, files=files, cwd=folder, is_complete=is_whole)
            return summary.text

        text = read() if len(tail) <= SMALL_OUTPUT_BYTES else await asyncio.to_thread(read)
        return self.mask.text(text)


def signal_name(number: int) -> str:
    """SIGSEGV for 11; a number without a name of its own stays one."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _stopped(why: StopReason, *, forced: bool) -> Outcome:
    match why:
        case "cancel":
            return Outcome(kind="stopped", forced=forced)
        case "timeout:attempt":
            return Outcome(kind="timed_out", limit="attempt", forced=forced)
        case "timeout:idle":
            return Outcome(kind="timed_out", limit="idle", forced=forced)
        case "timeout:deadline":
            return Outcome(kind="timed_out", limit="deadline", forced=forced)
        case "lost" | "drain":
            return Outcome(kind="released", forced=forced)


def _refused(message: str, detail: Any = None) -> Outcome:
    return Outcome(
        kind="failed", error_kind="invalid_params", error_message=message, error_detail=detail, retryable=False
    )


async def _first(*awaitables: Awaitable[Any]) -> Any:
    """The result of the one that ends first; the others are cancelled."""
    tasks: list[asyncio.Future[Any]] = [asyncio.ensure_future(awaitable) for awaitable in awaitables]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return next(task for task in tasks if task in done).result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _clean_up(child: Child, capture: Capture) -> None:
    await capture.abandon()
    await child.aclose()
