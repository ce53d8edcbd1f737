"""The function runtime: attempts of `@app.tool` functions in interpreters that are kept warm.

A pool of at most as many interpreters as the worker has slots. They start when they are needed, the first one at once,
because it tells which tools the application has. One that ended by force, was retired or died is replaced in the
background; of those that stay idle only one is kept. User code never runs in the worker's own interpreter, so neither an
endless loop nor a crash can touch heartbeats or other attempts.
"""

import asyncio
import logging
import os
import sys
import uuid
from collections.abc import Coroutine, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from ringback.worker.assignment import Assignment, Outcome, Reporter, Stop
from ringback.worker.environment import known_secrets
from ringback.worker.masking import Mask
from ringback.worker.processes.child import GuardianLostError, SpawnError
from ringback.worker.processes.guardian import Guardian
from ringback.worker.runtimes.function_attempt import FunctionAttempt
from ringback.worker.runtimes.interpreter import Interpreter, LoadError

LOAD_WITHIN_S: Final = 60.0
KEEP_WARM_S: Final = 60.0
MASKS_MAX: Final = 256
_PRIVATE: Final = ("RINGBACK_TOKEN", "RINGBACK_OWNER_TOKEN")

_log = logging.getLogger("ringback.worker.function")


class FunctionRuntime:
    """Carries out function tools of one application.

    Args:
        guardian: starts the interpreters and ends them with the worker.
        target: `module:app`, importable from `cwd`.
        slots: how many interpreters there may be.
        env: their environment; None is the worker's own without its tokens.
        cwd: their working directory; None is the worker's.
        load_within_s: how long importing the application may take.
        keep_warm_s: how long a second idle interpreter is kept.
        secret_values: what is masked for every tool, besides the secrets that it names: the worker's own token.
    """

    name = "function"

    def __init__(
        self,
        guardian: Guardian,
        target: str,
        *,
        slots: int = 1,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        load_within_s: float = LOAD_WITHIN_S,
        keep_warm_s: float = KEEP_WARM_S,
        secret_values: Iterable[str] = (),
    ) -> None:
        self._guardian = guardian
        self._target = target
        self._env = {k: v for k, v in os.environ.items() if k not in _PRIVATE} if env is None else dict(env)
        self._cwd = str(Path.cwd()) if cwd is None else cwd
        self._load_within_s = load_within_s
        self._keep_warm_s = keep_warm_s
        self._slot_count = slots
        self._slots = asyncio.Semaphore(slots)
        self._busy: set[Interpreter] = set()
        self._idle: list[Interpreter] = []
        self._spawning: set[asyncio.Task[None]] = set()
        self._spawn_error: LoadError | SpawnError | GuardianLostError | None = None
        self._waiting = 0
        self._background: set[asyncio.Task[None]] = set()
        self._trimmer: asyncio.TimerHandle | None = None
        self._secret_values = tuple(secret_values)
        self._masks: dict[tuple[str, ...], Mask] = {}
        self._is_closing = False
        self.definitions: list[dict[str, Any]] = []
        """The application's tools, once started."""

    async def start(self) -> None:
        """Load the application into a first interpreter and learn its tools.

        Raises:
            LoadError: it can't be loaded.
            SpawnError, GuardianLostError: there is no process to load it in.
        """
        interpreter = await self._spawn()
        self.definitions = interpreter.definitions
        self._idle.append(interpreter)

    async def run(self, assignment: Assignment, reporter: Reporter, stop: Stop) -> Outcome:
        """Carry out one assignment; waits while all interpreters are taken."""
        async with self._slots:
            if self._is_closing:
                return Outcome(kind="released")
            try:
                interpreter = await self._acquire(stop)
            except LoadError as error:
                detail = {"traceback": error.trace} if error.trace else None
                return Outcome(kind="failed", error_kind="tool_error", error_message=str(error), error_detail=detail)
            except (SpawnError, GuardianLostError) as error:
                return Outcome(kind="failed", error_kind="internal", error_message=str(error))
            if interpreter is None:
                return _stopped_before(stop)
            return await self._carry_out(interpreter, assignment, reporter, stop)

    async def _carry_out(
        self, interpreter: Interpreter, assignment: Assignment, reporter: Reporter, stop: Stop
    ) -> Outcome:
        secrets = known_secrets(assignment.profile.get("secrets") or (), self._env)
        attempt = FunctionAttempt(interpreter, assignment, reporter, stop, self._mask(secrets), secrets)
        self._busy.add(interpreter)
        try:
            return await attempt.carry_out()
        finally:
            self._busy.discard(interpreter)
            await self._release(interpreter, attempt.retire)

    async def aclose(self) -> None:
        """End what still runs by force; let idle interpreters end by themselves for a moment."""
        if self._is_closing:
            return
        self._is_closing = True
        await asyncio.gather(*(interpreter.kill() for interpreter in self._busy))
        for _ in range(self._slot_count):
            await self._slots.acquire()
        if self._trimmer is not None:
            self._trimmer.cancel()
        for task in self._spawning:
            task.cancel()
        idle, self._idle = self._idle, []
        await asyncio.gather(*(interpreter.leave() for interpreter in idle))
        await asyncio.gather(*self._background, return_exceptions=True)

    # --- the pool ---

    async def _acquire(self, stop: Stop) -> Interpreter | None:
        """An idle interpreter or a new one; None when the stop came first, however long loading takes."""
        self._waiting += 1
        try:
            while stop.why is None:
                if interpreter := self._idle_one():
                    return interpreter
                if self._spawn_error is not None:
                    error, self._spawn_error = self._spawn_error, None
                    raise error
                while len(self._spawning) < self._waiting:
                    self._begin_spawn()
                await self._spawned_or_stopped(stop)
            return None
        finally:
            self._waiting -= 1

    def _idle_one(self) -> Interpreter | None:
        while self._idle:
            interpreter = self._idle.pop()
            if not interpreter.is_dead:
                return interpreter
            self._in_background(interpreter.aclose())
        return None

    async def _spawned_or_stopped(self, stop: Stop) -> None:
        stopped = asyncio.get_running_loop().create_task(stop.requested.wait())
        try:
            await asyncio.wait({stopped, *self._spawning}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()

    async def _release(self, interpreter: Interpreter, retire: str) -> None:
        if not retire and not interpreter.is_dead and not self._is_closing:
            self._keep(interpreter)
            return
        _log.info("an interpreter is replaced", extra={"pid": interpreter.child.pid, "reason": retire})
        await asyncio.shield(interpreter.aclose())
        if not self._idle and not self._spawning and not self._is_closing:
            self._begin_spawn()

    async def _spawn(self) -> Interpreter:
        argv = [sys.executable, "-m", "ringback.worker.child", self._target]
        env = {**self._env, "RINGBACK_ATTEMPT": f"warm-{uuid.uuid4()}"}
        return await Interpreter.start(self._guardian, argv, env=env, cwd=self._cwd, within_s=self._load_within_s)

    def _begin_spawn(self) -> None:
        task = self._in_background(self._spawn_one())
        self._spawning.add(task)
        task.add_done_callback(self._spawning.discard)

    async def _spawn_one(self) -> None:
        """Add an interpreter to the idle ones; a failure is for one of those who wait, if there are any."""
        try:
            interpreter = await self._spawn()
        except (LoadError, SpawnError, GuardianLostError) as error:
            _log.warning("an interpreter could not be started", extra={"reason": str(error)})
            self._spawn_error = error if self._waiting else None
        else:
            self._keep(interpreter)  # whoever it was meant for may have been served by another one

    def _keep(self, interpreter: Interpreter) -> None:
        self._idle.append(interpreter)
        if len(self._idle) > 1 and self._trimmer is None:
            self._trimmer = asyncio.get_running_loop().call_later(self._keep_warm_s, self._trim)

    def _trim(self) -> None:
        """All but one of the interpreters that were idle for long may leave; the most recently used one stays."""
        self._trimmer = None
        self._idle, surplus = self._idle[-1:], self._idle[:-1]
        for interpreter in surplus:
            self._in_background(interpreter.leave())

    def _in_background(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    def _mask(self, secrets: Mapping[str, str]) -> Mask:
        values = tuple(secrets.values())
        if values not in self._masks:
            if len(self._masks) >= MASKS_MAX:  # values change when files of secrets do
                self._masks.clear()
            self._masks[values] = Mask((*self._secret_values, *values))
        return self._masks[values]


def _stopped_before(stop: Stop) -> Outcome:
    if stop.limit is not None:
        return Outcome(kind="timed_out", limit=stop.limit, forced=False)
    return Outcome(kind="released" if stop.why == "drain" else "stopped", forced=False)
