"""A process that the guardian started for this worker, seen from the worker, with everything that descends from it.

`wait` follows the exit of the leader, never the closing of a pipe. `gone` means that nothing of the tree lives any more.
Between the two there may be descendants: `left` counts them, and `stop`, `kill_tree` or `aclose` end them.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Iterable
from typing import Any

from ringback.worker.processes.channels import Channels
from ringback.worker.processes.wire import Message


class SpawnError(Exception):
    """The program could not be started; the text names it, or its working directory, and the reason."""


class GuardianLostError(Exception):
    """The guardian died. Its wards were killed; what they had done by then is not known."""


class Child:
    """One leader and its descendants. `pid` is the leader's, which is also its session and its process group."""

    def __init__(self, number: int, channels: Channels, send: Callable[[Message], None]) -> None:
        """Made by `Guardian.spawn` only."""
        loop = asyncio.get_running_loop()
        self.pid = 0
        self.stdin = channels.stdin
        self.stdout = channels.stdout
        self.stderr = channels.stderr
        self.control = channels.control
        self.left = 0
        self.immune = 0
        self._number = number
        self._send = send
        self._started: asyncio.Future[int] = loop.create_future()
        self._exited: asyncio.Future[int] = loop.create_future()
        self._gone: asyncio.Future[None] = loop.create_future()
        self._pruned: asyncio.Future[int] | None = None

    @property
    def is_gone(self) -> bool:
        """Whether the leader and all its descendants are known to be dead."""
        return self._gone.done()

    @property
    def returncode(self) -> int | None:
        """The exit status of the leader as far as it is known; negative is a signal."""
        is_known = self._exited.done() and self._exited.exception() is None
        return self._exited.result() if is_known else None

    async def started(self) -> None:
        """Return when the program runs.

        Raises:
            SpawnError: it could not be started.
            GuardianLostError: the guardian died; nothing of the tree is left.
        """
        await asyncio.shield(self._started)

    async def wait(self) -> int:
        """The leader's exit status; negative is the number of the signal that killed it. Descendants may live on.

        Raises:
            GuardianLostError: the guardian died; nothing of the tree is left.
        """
        return await asyncio.shield(self._exited)

    async def gone(self) -> None:
        """Return when neither the leader nor any descendant lives; `immune` counts what could not be killed.

        Raises:
            GuardianLostError: the guardian died; nothing of the tree is left.
        """
        await asyncio.shield(self._gone)

    def terminate(self) -> None:
        """Send SIGTERM to every process of the tree."""
        self._tell("signal", signal=int(signal.SIGTERM))

    async def stop(self, grace_s: float) -> bool:
        """SIGTERM to the tree, a grace in seconds, SIGKILL; returns when all is gone, True when SIGKILL was needed."""
        if self.is_gone:
            return False
        if grace_s > 0:
            self.terminate()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace_s):
                    await self.gone()
                return False
        await self.kill_tree()
        return True

    async def kill_tree(self) -> None:
        """SIGKILL for every process of the tree, again and again until none is left."""
        self._tell("kill")
        await self.gone()

    async def prune(self) -> int:
        """Kill every descendant but spare the leader; returns how many processes were killed."""
        if self._gone.done():
            return 0
        if self._pruned is None or self._pruned.done():
            self._pruned = asyncio.get_running_loop().create_future()
            self._tell("prune")
        return await asyncio.shield(self._pruned)

    async def aclose(self) -> None:
        """Kill what still lives, and close the pipes and the control socket."""
        try:
            with contextlib.suppress(GuardianLostError, SpawnError):
                await self.kill_tree()
        finally:
            self.close_pipes()

    def end_input(self) -> None:
        """Close what feeds the program: it reads the end of its input."""
        if self.stdin >= 0:
            os.close(self.stdin)
        self.stdin = -1

    def close_pipes(self) -> None:
        """Close this side's descriptors; nobody may be reading them any more."""
        self.end_input()
        for descriptor in (self.stdout, self.stderr):
            if descriptor >= 0:
                os.close(descriptor)
        self.stdout = self.stderr = -1
        if self.control is not None:
            self.control.close()

    def hear(self, message: Message) -> bool:
        """Take in what the guardian says of this child; True when that was the last word."""
        match message["op"]:
            case "started":
                self.pid = message["pid"]
                _resolve(self._started, self.pid)
            case "refused":
                _fail((self._started, self._exited, self._gone), SpawnError(message["reason"]))
                return True
            case "exited":
                self.left = message["left"]
                _resolve(self._exited, message["code"])
            case "pruned":
                _resolve(self._pruned, message["killed"])
            case "gone":
                self._part(message)
                return True
            case unknown:
                raise ValueError(f"the guardian said {unknown!r}")
        return False

    def lose(self) -> None:
        """The guardian is dead and so is everything that it guarded."""
        pending = (self._started, self._exited, self._gone, self._pruned)
        _fail(pending, GuardianLostError("the guardian process died; everything it guarded was killed"))

    def _part(self, message: Message) -> None:
        self.immune = message["immune"]
        _resolve(self._exited, -int(signal.SIGKILL) if message["code"] is None else message["code"])
        _resolve(self._gone, None)
        _resolve(self._pruned, 0)

    def _tell(self, operation: str, **details: int) -> None:
        if not self._gone.done():
            self._send({"op": operation, "id": self._number, **details})


def _resolve(future: "asyncio.Future[Any] | None", value: Any) -> None:
    if future is not None and not future.done():
        future.set_result(value)


def _fail(futures: "Iterable[asyncio.Future[Any] | None]", error: Exception) -> None:
    for future in futures:
        if future is not None and not future.done():
            future.set_exception(error)
            future.exception()  # whoever waits gets it; nobody has to
