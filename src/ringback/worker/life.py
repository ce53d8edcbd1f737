"""The life of one worker, from the attach to the detach.

    begin    attached, once the server can be reached
    run      until a signal, or until its parent is gone and what it held is done
    end      nothing more is claimed → running attempts get the grace, then are stopped → settles are flushed → detached

The end is bounded in time, and a second signal makes it immediate. A server that can't be reached is waited for without
limit, unless the worker belongs to a process that is gone (`parent_pid`): then it claims nothing more, finishes what it
holds, and waits for the server no longer than its patience, so that no orphan stays.
"""

import asyncio
import logging
import signal
import uuid
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Final

from ringback.worker import parent
from ringback.worker.assignment import Runtime
from ringback.worker.batching import Outbox
from ringback.worker.channel import NotAllowedError, RefusedError
from ringback.worker.connection import Address
from ringback.worker.link import Link
from ringback.worker.messages import PROTOCOL_VERSION
from ringback.worker.offers import capabilities, offers, unserved
from ringback.worker.settings import WorkerSettings
from ringback.worker.slots import Slots
from ringback.worker.supervisor import Supervisor

FLUSH_WITHIN_S: Final = 5.0
FAILED: Final = 1
NOT_ALLOWED: Final = 6
KILLED: Final = 128

_log = logging.getLogger("ringback.worker")


class StartupError(Exception):
    """The worker can't start; one line for a person, and the exit code."""

    def __init__(self, message: str, *, code: int = FAILED) -> None:
        """`code` is the exit code of the process."""
        super().__init__(message)
        self.code = code


class Signals:
    """SIGTERM and SIGINT of this process, counted."""

    def __init__(self) -> None:
        """From now on they are events on the running loop."""
        self.first = asyncio.Event()
        self.second = asyncio.Event()
        self.number = 0
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.heard, number)

    def heard(self, number: int) -> None:
        """One came in."""
        self.number = number
        (self.second if self.first.is_set() else self.first).set()


class Life:
    """One worker between two runtimes' worlds: the server's on one side, the attempts' on the other."""

    def __init__(
        self,
        settings: WorkerSettings,
        runtimes: Sequence[Runtime],
        definitions: Sequence[Mapping[str, Any]],
        outbox: Outbox,
    ) -> None:
        """`definitions` are the function tools that the worker brings, and `outbox` holds what it has to tell."""
        for name, pool in unserved(settings.pools, definitions).items():
            _log.warning("a function's runs go to a pool that is not served here", extra={"tool": name, "pool": pool})
        self._settings = settings
        self._outbox = outbox
        self._slots = Slots(settings.slots)
        by_name = {runtime.name: runtime for runtime in runtimes}
        self._supervisor = Supervisor(runtimes=by_name, outbox=self._outbox, slots=self._slots)
        self._link = Link(
            address=Address.parse(settings.url),
            token=settings.token,
            identity=_identity(settings, definitions),
            outbox=self._outbox,
            slots=self._slots,
        )

    async def run(self, signals: Signals) -> int:
        """Live; returns the exit code.

        Raises:
            StartupError: the server does not take this worker.
        """
        orphaned = asyncio.ensure_future(self._orphaned())
        told = asyncio.ensure_future(signals.first.wait())
        serving = asyncio.ensure_future(self._attach_and_serve())
        try:
            await asyncio.wait({serving, told, orphaned}, return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                serving.result()
            return await self._end(signals)
        finally:
            await self._supervisor.kill()
            await _cancelled(serving, told, orphaned)
            await self._link.detach()

    async def _attach_and_serve(self) -> None:
        try:
            await self._link.attach()
        except NotAllowedError as error:
            message = f"{self._settings.url} does not allow this worker to attach: {error}"
            raise StartupError(message, code=NOT_ALLOWED) from None
        except RefusedError as error:
            raise StartupError(f"{self._settings.url} does not take this worker: {error}") from None
        await self._link.serve(self._supervisor)

    async def _orphaned(self) -> None:
        """Return when the parent is gone and there is nothing left to do, or nobody to do it for."""
        if self._settings.parent_pid is None:
            await asyncio.Event().wait()
            return
        await parent.ended(self._settings.parent_pid)
        _log.warning("the parent is gone; finishing what is held", extra={"parent": self._settings.parent_pid})
        self._slots.close()
        await _first(self._done(), self._out_of_patience())

    async def _done(self) -> None:
        await self._supervisor.at_rest()
        await self._link.flush()

    async def _out_of_patience(self) -> None:
        while True:
            left_s = self._settings.patience_s - self._link.contact.elapsed_s()
            if left_s <= 0:
                return
            await asyncio.sleep(left_s)

    async def _end(self, signals: Signals) -> int:
        _log.info("draining", extra={"held": len(self._supervisor.held()), "signal": signals.number})
        await _first(self._drain(), signals.second.wait())
        if signals.second.is_set():
            _log.warning("killed by a second signal")
            return KILLED + signals.number
        return 0

    async def _drain(self) -> None:
        await self._supervisor.drain(self._settings.drain_grace_s)
        try:
            async with asyncio.timeout(FLUSH_WITHIN_S):
                await self._link.flush()
        except TimeoutError:
            _log.warning("the server took no more reports in time")


def _identity(settings: WorkerSettings, definitions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "name": settings.name,
        "incarnation": str(uuid.uuid4()),
        "protocolVersion": PROTOCOL_VERSION,
        "slots": settings.slots,
        "offers": offers(settings.pools, definitions),
        "labels": dict(settings.labels),
        "capabilities": capabilities(),
        "tools": list(definitions),
    }


async def _first(*awaitables: Awaitable[object]) -> None:
    """Return when one has ended, with its error if that is how; the others are cancelled."""
    tasks = [asyncio.ensure_future(awaitable) for awaitable in awaitables]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        await _cancelled(*tasks)


async def _cancelled(*tasks: "asyncio.Future[Any]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
