"""From the pipes of a process to the reporter: masked, capped, in pieces, and never more in memory than a few MiB.

* Bytes stay bytes; there are no lines and no encodings here. A piece leaves when 64 KiB are together, when it has waited
  for 200 ms, or at the end.
* Awaiting the reporter stops the reading, a full pipe stops the writer: that is the back-pressure.
* The cap counts both streams. Its first part is passed on as it comes. After that the newest bytes are kept in memory
  and what they push out is dropped, said so at once and every ten seconds; the newest are passed on at the end.
* The end of a stream is its end of file, or the moment that `finish_by` names: a descendant or a stranger that holds the
  pipe open cannot hold up the attempt.
"""

import asyncio
import os
from collections import deque
from typing import Final

from ringback.worker.assignment import OutputStream, Reporter
from ringback.worker.masking import Mask, MaskedStream

CAP_BYTES: Final = 16 * 1024 * 1024
NEWEST_BYTES_MAX: Final = 4 * 1024 * 1024
CHUNK_BYTES: Final = 64 * 1024
READ_BYTES: Final = 256 * 1024
LATE_BYTES_MAX: Final = 1024 * 1024  # no pipe of a child holds more (see `channels`)
FLUSH_AFTER_S: Final = 0.2
TAIL_BYTES: Final = 1024 * 1024  # twice as much is held for a moment
NOTICE_EVERY_S: Final = 10.0


class Capture:
    """The output of one process."""

    def __init__(self, reporter: Reporter, mask: Mask, *, cap_bytes: int = CAP_BYTES) -> None:
        """Pass output on to `reporter`, at most `cap_bytes` of it."""
        self._loop = asyncio.get_running_loop()
        self._reporter = reporter
        self._mask = mask
        newest = min(cap_bytes // 4, NEWEST_BYTES_MAX)
        self._head_left = cap_bytes - newest
        self._newest = _Newest(newest)
        self._tail = bytearray()
        self._streams: list[_Stream] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._blocked = 0
        self._last_read_at = self._loop.time()
        self.is_tail_whole = True
        self.dropped_bytes = 0
        self.broken: asyncio.Future[None] = self._loop.create_future()

    def start(self, stdout: int, stderr: int) -> None:
        """Begin to read two non-blocking descriptors, which stay the caller's; `broken` fails when the reporter does."""
        pipes: tuple[tuple[OutputStream, int], ...] = (("stdout", stdout), ("stderr", stderr))
        for name, descriptor in pipes:
            stream = _Stream(name, descriptor, self._mask)
            self._streams.append(stream)
            task = self._loop.create_task(self._pump(stream))
            task.add_done_callback(self._on_ended)
            self._tasks.append(task)

    @property
    def last_active_at(self) -> float:
        """The loop's moment of the last output; now, while the reporter holds output back."""
        return self._loop.time() if self._blocked else self._last_read_at

    @property
    def tail(self) -> bytes:
        """The last output of both streams in the order in which it came, masked; `is_tail_whole` if that is all."""
        return bytes(self._tail[-TAIL_BYTES:])

    def finish_by(self, moment: float) -> None:
        """End both streams at this moment of the loop's clock, though nothing that was written before may be missed."""
        for stream in self._streams:
            stream.end_at = min(stream.end_at, moment)
            stream.wake()

    async def ended(self) -> None:
        """Return when both streams ended and everything was passed on."""
        await asyncio.gather(*self._tasks)
        await self._publish_newest()

    async def read_to_the_end(self, within_s: float) -> None:
        """Return when both pipes were closed by all writers, or after so many seconds."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=within_s)

    async def abandon(self) -> None:
        """Stop reading and pass nothing more on."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _pump(self, stream: "_Stream") -> None:
        try:
            while not stream.is_over():
                data = stream.read(self._loop.time())
                if data is None:
                    await self._pause(stream)
                    continue
                if not data:
                    break
                self._last_read_at = self._loop.time()
                await self._keep(stream, stream.masked.feed(data))
                await asyncio.sleep(0)
            await self._keep(stream, stream.masked.finish())
            await self._flush(stream)
        finally:
            stream.forget(self._loop)

    async def _pause(self, stream: "_Stream") -> None:
        """Wait for output, but not beyond the moment when a piece has to leave or the stream to end."""
        if stream.pending and stream.flush_at <= self._loop.time():
            await self._flush(stream)
        else:
            await stream.readable(self._loop)

    async def _keep(self, stream: "_Stream", data: bytes) -> None:
        if not data:
            return
        self._tail += data[-TAIL_BYTES:]
        self.is_tail_whole = self.is_tail_whole and len(data) <= TAIL_BYTES and len(self._tail) <= TAIL_BYTES
        if len(self._tail) > 2 * TAIL_BYTES:
            del self._tail[:-TAIL_BYTES]
        head = data[: self._head_left]
        self._head_left -= len(head)
        if head:
            if not stream.pending:
                stream.flush_at = self._loop.time() + FLUSH_AFTER_S
            stream.pending += head
            if len(stream.pending) >= CHUNK_BYTES:
                await self._flush(stream)
        if len(head) < len(data):
            await self._flush(stream)
            for name, count in self._newest.add(stream.name, data[len(head) :]):
                self._stream(name).unsaid += count
                self.dropped_bytes += count
            await self._say_dropped(stream)

    async def _flush(self, stream: "_Stream") -> None:
        while stream.pending:
            piece = bytes(stream.pending[:CHUNK_BYTES])
            del stream.pending[:CHUNK_BYTES]
            await self._pass_on(stream.name, piece)

    async def _pass_on(self, name: OutputStream, piece: bytes) -> None:
        self._blocked += 1
        try:
            await self._reporter.output(name, piece)
        finally:
            self._blocked -= 1
            self._last_read_at = self._loop.time()

    async def _say_dropped(self, stream: "_Stream", *, is_last: bool = False) -> None:
        now = self._loop.time()
        if stream.unsaid and (is_last or now >= stream.notice_at):
            count, stream.unsaid, stream.notice_at = stream.unsaid, 0, now + NOTICE_EVERY_S
            await self._reporter.dropped(stream.name, count)

    async def _publish_newest(self) -> None:
        for stream in self._streams:
            await self._say_dropped(stream, is_last=True)
        for name, data in self._newest.take():
            for start in range(0, len(data), CHUNK_BYTES):
                await self._pass_on(name, data[start : start + CHUNK_BYTES])

    def _on_ended(self, task: "asyncio.Task[None]") -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None and not self.broken.done():
            self.broken.set_exception(error)
            self.broken.exception()  # whoever waits gets it; nobody has to

    def _stream(self, name: OutputStream) -> "_Stream":
        return next(stream for stream in self._streams if stream.name == name)


class _Stream:
    """One pipe: what was read and not yet passed on, and when it has to be."""

    def __init__(self, name: OutputStream, descriptor: int, mask: Mask) -> None:
        self.name: Final[OutputStream] = name
        self.masked = MaskedStream(mask)
        self.pending = bytearray()
        self.flush_at = 0.0
        self.end_at = float("inf")
        self.unsaid = 0
        self.notice_at = 0.0
        self._descriptor = descriptor
        self._late_bytes = 0
        self._is_drained = False
        self._waiter: asyncio.Future[None] | None = None

    def read(self, now: float) -> bytes | None:
        """The next bytes; None when there are none now, empty at the end."""
        is_late = now >= self.end_at
        try:
            data = os.read(self._descriptor, READ_BYTES)
        except BlockingIOError:
            self._is_drained = is_late
            return None
        self._late_bytes += len(data) if is_late else 0
        return data

    def is_over(self) -> bool:
        """Whether the time is up and everything that was in the pipe by then has been read."""
        return self._is_drained or self._late_bytes >= LATE_BYTES_MAX

    def wake(self) -> None:
        """Let a waiting reader look again."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def readable(self, loop: asyncio.AbstractEventLoop) -> None:
        """Return when there may be bytes, or at the next moment that matters."""
        self._waiter = loop.create_future()
        until = min(self.end_at, self.flush_at if self.pending else float("inf"))
        timer = None if until == float("inf") else loop.call_at(until, self.wake)
        loop.add_reader(self._descriptor, self.wake)
        try:
            await self._waiter
        finally:
            loop.remove_reader(self._descriptor)
            if timer is not None:
                timer.cancel()

    def forget(self, loop: asyncio.AbstractEventLoop) -> None:
        """No more reading."""
        loop.remove_reader(self._descriptor)


class _Newest:
    """The newest bytes of all streams, in the order in which they came, within a bound."""

    _SMALL: Final = 32 * 1024
    _ENTRY_COST: Final = 128

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._size = 0
        self._entries: deque[tuple[OutputStream, bytearray]] = deque()

    def add(self, name: OutputStream, data: bytes) -> list[tuple[OutputStream, int]]:
        """Keep the data; returns how much of which stream fell out."""
        fallen: list[tuple[OutputStream, int]] = []
        if self._entries and self._entries[-1][0] == name and len(self._entries[-1][1]) < self._SMALL:
            self._entries[-1][1].extend(data)
            self._size += len(data)
        else:
            self._entries.append((name, bytearray(data)))
            self._size += len(data) + self._ENTRY_COST
        while self._size > self._most and self._entries:
            fallen.append(self._shed())
        return fallen

    def take(self) -> list[tuple[OutputStream, bytes]]:
        """Everything that is kept; afterwards nothing is."""
        kept = [(name, bytes(data)) for name, data in self._entries]
        self._entries.clear()
        self._size = 0
        return kept

    def _shed(self) -> tuple[OutputStream, int]:
        name, data = self._entries[0]
        excess = self._size - self._most
        if excess < len(data):
            del data[:excess]
            self._size -= excess
            return name, excess
        self._entries.popleft()
        self._size -= len(data) + self._ENTRY_COST
        return name, len(data)
