"""A server that is a program: messages are lines on its stdin and stdout, and what it writes to stderr is its talk.

* A line has a limit. A longer one is let go while it arrives, so that nobody's memory is at stake.
* The end is the exit of the process or the end of its stdout, whatever comes first: a descendant that holds the pipe
  open keeps nothing alive, and a server that closed its stdout is of no use.
* Writing waits for a server that does not read. A write that was given up in the middle of a line ends the session.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from ringback.worker.hosting.errors import GoneError
from ringback.worker.hosting.transport import MESSAGE_MAX, Incoming, Message, TooLarge, messages_in
from ringback.worker.processes import procfs
from ringback.worker.processes.child import Child, GuardianLostError

READ_BYTES: Final = 256 * 1024
ENDS_BYTES: Final = 256
LAST_WORDS_BYTES: Final = 4096
CODE_WITHIN_S: Final = 1.0
LEAVE_WITHIN_S: Final = 0.5

Talk = Callable[[bytes], Awaitable[None]]


class StdioTransport:
    """Implements `Transport` over the pipes of a child."""

    def __init__(self, child: Child) -> None:
        self.child = child
        self.protocol_version: str | None = None
        self.last_words = bytearray()
        self.on_talk: Talk | None = None
        """Gets what the server writes to stderr, while somebody wants it."""
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray()
        self._dropping: TooLarge | None = None
        self._writing = asyncio.Lock()
        self._talking = asyncio.Lock()
        self._is_broken = False
        self._is_over = False
        self._exited = self._loop.create_task(self._watch())
        self._listening = self._loop.create_task(self._listen())

    @property
    def is_alive(self) -> bool:
        """Whether the server's process runs, though nobody may have been told of its end yet."""
        found = procfs.process(self.child.pid)
        return not self._exited.done() and found is not None and not found.is_dead

    async def send(self, message: Message) -> None:
        """See `Transport`."""
        data = memoryview(msgspec.json.encode(message) + b"\n")
        async with self._writing:
            if self._is_broken or self.child.stdin < 0:
                raise await self._gone()
            sent = 0
            try:
                while sent < len(data):
                    try:
                        sent += os.write(self.child.stdin, data[sent:])
                    except BlockingIOError:
                        await self._ready(self._loop.add_writer, self._loop.remove_writer, self.child.stdin)
            except OSError:
                self._is_broken = True
                raise await self._gone() from None
            finally:
                self._is_broken = self._is_broken or 0 < sent < len(data)

    async def receive(self) -> list[Incoming]:
        """See `Transport`."""
        while True:
            line = self._line()
            if isinstance(line, TooLarge):
                return [line]
            if line is not None and line.strip():
                return messages_in(line)
            if line is None and not await self._read():
                raise await self._gone()

    async def hear_out(self) -> None:
        """Pass on what the server has written to stderr up to now."""
        async with self._talking:
            while data := self._take(self.child.stderr):
                await self._pass_on(data)

    async def aclose(self, grace_s: float) -> bool:
        """See `Transport`. Its input ends first: a polite server leaves by itself, others get SIGTERM and the grace."""
        self._is_over = True
        is_forced = False
        try:
            self._is_broken = True
            self.child.end_input()
            with contextlib.suppress(TimeoutError, GuardianLostError):
                async with asyncio.timeout(min(grace_s, LEAVE_WITHIN_S)):
                    await self.child.gone()
            with contextlib.suppress(GuardianLostError):
                is_forced = await self.child.stop(grace_s)
            await self.hear_out()
        finally:
            for task in (self._exited, self._listening):
                task.cancel()
            await asyncio.gather(self._exited, self._listening, return_exceptions=True)
            await asyncio.shield(self.child.aclose())
        return is_forced

    # --- lines ---

    def _line(self) -> bytes | TooLarge | None:
        """The next whole line; None when more has to be read."""
        end = self._buffer.find(b"\n")
        if end < 0:
            if len(self._buffer) > MESSAGE_MAX or self._dropping is not None:
                self._drop(len(self._buffer))
            return None
        if self._dropping is not None or end > MESSAGE_MAX:
            self._drop(end)
            del self._buffer[:1]
            dropped, self._dropping = self._dropping, None
            return dropped
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    def _drop(self, count: int) -> None:
        known = self._dropping or TooLarge(0, bytes(self._buffer[:ENDS_BYTES]) + b" ... ")
        head, tail = known.ends[: ENDS_BYTES + 5], known.ends[ENDS_BYTES + 5 :]
        tail = (tail + bytes(self._buffer[max(0, count - ENDS_BYTES) : count]))[-ENDS_BYTES:]
        self._dropping = TooLarge(known.size + count, head + tail)
        del self._buffer[:count]

    # --- pipes ---

    async def _read(self) -> bool:
        """Wait for more of stdout; False at its end, or when the process has ended and its pipe is empty."""
        while True:
            data = self._take(self.child.stdout)
            if data is not None:
                self._buffer += data
                return bool(data)
            if self._exited.done() or self._is_over:
                return False
            await self._ready(self._loop.add_reader, self._loop.remove_reader, self.child.stdout)

    def _take(self, descriptor: int) -> bytes | None:
        """What is in a pipe; None when there is nothing now, empty at its end."""
        if descriptor < 0:
            return b""
        try:
            return os.read(descriptor, READ_BYTES)
        except BlockingIOError:
            return None

    async def _ready(
        self, add: Callable[..., object], remove: Callable[[int], object], descriptor: int, *, whatever: bool = False
    ) -> None:
        """Return when the descriptor is ready, or when the process has ended."""
        ready: asyncio.Future[None] = self._loop.create_future()

        def wake(*_: object) -> None:
            if not ready.done():
                ready.set_result(None)

        add(descriptor, wake)
        if not whatever:
            self._exited.add_done_callback(wake)
        try:
            await ready
        finally:
            self._exited.remove_done_callback(wake)
            remove(descriptor)

    async def _listen(self) -> None:
        """Read stderr to its end: a full pipe would stop the server."""
        while self.child.stderr >= 0:
            async with self._talking:
                data = self._take(self.child.stderr)
                if data == b"":
                    return
                if data is not None:
                    await self._pass_on(data)
            if data is None:
                await self._ready(self._loop.add_reader, self._loop.remove_reader, self.child.stderr, whatever=True)

    async def _pass_on(self, data: bytes) -> None:
        self.last_words += data[-LAST_WORDS_BYTES:]
        del self.last_words[:-LAST_WORDS_BYTES]
        if self.on_talk is not None:
            await self.on_talk(data)

    async def _watch(self) -> None:
        with contextlib.suppress(GuardianLostError):
            await self.child.wait()

    async def _gone(self) -> GoneError:
        """Why the session is over; the process is given a moment to have an exit status."""
        with contextlib.suppress(TimeoutError, GuardianLostError):
            async with asyncio.timeout(CODE_WITHIN_S):
                return _ended(await self.child.wait())
        if self._exited.done():
            return GoneError("the MCP server was lost with the process that guarded it")
        return GoneError("the MCP server closed its output")


def _ended(code: int) -> GoneError:
    if code >= 0:
        return GoneError(f"the MCP server ended with exit code {code}", code=code)
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return GoneError(f"the MCP server was killed by {name}", code=code)
