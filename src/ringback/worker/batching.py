"""Reports on their way to the server: bounded, in order for each attempt, grouped as the server's commits allow.

Group commit without a timer: whatever is waiting when the previous request was answered goes together in the next one.
An idle worker's report leaves at once, a busy worker's reports share a request and the server's one commit.

The laws:
* Reports of one attempt arrive in the order in which they were put. A batch takes a share of each attempt in turn, so a
  flood of output from one attempt doesn't hold back the settle of another.
* A batch leaves the outbox only when it was answered. Until then the very same batch is sent again (`Outbox.batch`
  gives it again) under the same number, so the server can recognise one whose answer got lost.
* `put` waits while its attempt, or all together, have too much waiting: output can't fill the memory. `post` never
  waits; it is for the reports that are few by nature (start, settle, one checkpoint), at most some for each slot.
* A muted attempt reports nothing any more, and nobody waits for it.
"""

import asyncio
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Final

from ringback.worker.messages import DecodeError, Key, Result

BATCH_BYTES: Final = 1024 * 1024
BATCH_REPORTS: Final = 500
SHARE_BYTES: Final = 256 * 1024
LANE_BYTES: Final = 1024 * 1024
TOTAL_BYTES: Final = 8 * 1024 * 1024
MUTED: Final = Result(ok=False, code="muted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """One report that waits, and who waits for its answer."""

    key: Key
    body: bytes
    answer: asyncio.Future[Result] | None = None

    def resolve(self, result: Result) -> None:
        """Tell the one who waits, unless nobody does any more."""
        if self.answer is not None and not self.answer.done():
            self.answer.set_result(result)


@dataclass(slots=True)
class _Lane:
    """The reports of one attempt that are not under way yet."""

    waiting: deque[Pending] = field(default_factory=deque)
    size: int = 0


class Outbox:
    """All reports that the server has not answered yet. Not thread-safe: everything happens on the worker's loop."""

    def __init__(self, *, lane_bytes: int = LANE_BYTES, total_bytes: int = TOTAL_BYTES) -> None:
        """The bounds are for `put`, in bytes of JSON."""
        self._lane_bytes = lane_bytes
        self._total_bytes = total_bytes
        self._lanes: OrderedDict[Key, _Lane] = OrderedDict()
        self._muted: set[Key] = set()
        self._size = 0
        self._batch: list[Pending] = []
        self.number = 0
        self._filled = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._waiters: list[asyncio.Future[None]] = []

    @property
    def size(self) -> int:
        """Bytes that are not under way yet."""
        return self._size

    @property
    def is_idle(self) -> bool:
        """Nothing waits and nothing is under way."""
        return self._idle.is_set()

    async def idle(self) -> None:
        """Wait until nothing waits and nothing is under way."""
        await self._idle.wait()

    def post(self, key: Key, body: bytes) -> asyncio.Future[Result]:
        """Put a report without waiting for room; the future is its answer."""
        answer: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._append(Pending(key=key, body=body, answer=answer))
        return answer

    def note(self, key: Key, body: bytes) -> None:
        """Put a small report that nobody waits for, such as progress."""
        self._append(Pending(key=key, body=body))

    async def put(self, key: Key, body: bytes) -> None:
        """Put a report once there is room for it; returns at once, doing nothing, for a muted attempt."""
        while self._is_full(key):
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(turn)
            await turn
        self._append(Pending(key=key, body=body))

    async def batch(self) -> list[Pending]:
        """Wait for something to send; the batch before it is given again until it was answered."""
        if not self._batch:
            await self._filled.wait()
            self._batch = self._assemble()
            self.number += 1
            self._note_state()
            self._wake()
        return self._batch

    def answered(self, results: list[Result]) -> list[tuple[Key, Result]]:
        """The server answered the batch; returns the refused reports with their reasons, in order.

        Raises:
            DecodeError: the server answered another number of reports than it was given; the batch stays.
        """
        if len(results) != len(self._batch):
            raise DecodeError(f"{len(self._batch)} reports were sent, {len(results)} answers came")
        batch, self._batch = self._batch, []
        for pending, result in zip(batch, results, strict=True):
            pending.resolve(result)
        self._note_state()
        self._wake()
        return [(pending.key, result) for pending, result in zip(batch, results, strict=True) if not result.ok]

    def split(self) -> bool:
        """Send only the first report of the batch next, to find the one that the server can't take; False if it is one."""
        if len(self._batch) <= 1:
            return False
        first, rest = self._batch[0], self._batch[1:]
        for pending in reversed(rest):
            self._enqueue(pending, at_front=True)
        self._batch = [first]
        self.number += 1
        return True

    def mute(self, key: Key, *, discard: bool) -> None:
        """Take no more reports of the attempt; with `discard` also drop what waits. Those who wait are let go."""
        self._muted.add(key)
        if discard and (lane := self._lanes.pop(key, None)) is not None:
            self._size -= lane.size
            for pending in lane.waiting:
                pending.resolve(MUTED)
        self._note_state()
        self._wake()

    def discard_all(self, reason: Result) -> None:
        """Drop everything, under way or not: the session that it was for is over."""
        dropped = [*self._batch, *(pending for lane in self._lanes.values() for pending in lane.waiting)]
        self._batch, self._size = [], 0
        self._lanes.clear()
        for pending in dropped:
            pending.resolve(reason)
        self._note_state()
        self._wake()

    def forget(self, key: Key) -> None:
        """The attempt is over; its mark as muted is no longer needed."""
        self._muted.discard(key)

    def _is_full(self, key: Key) -> bool:
        if key in self._muted:
            return False
        lane = self._lanes.get(key)
        return self._size >= self._total_bytes or (lane is not None and lane.size >= self._lane_bytes)

    def _append(self, pending: Pending) -> None:
        if pending.key in self._muted:
            pending.resolve(MUTED)
        else:
            self._enqueue(pending, at_front=False)

    def _enqueue(self, pending: Pending, *, at_front: bool) -> None:
        lane = self._lanes.setdefault(pending.key, _Lane())
        (lane.waiting.appendleft if at_front else lane.waiting.append)(pending)
        lane.size += len(pending.body)
        self._size += len(pending.body)
        self._note_state()

    def _assemble(self) -> list[Pending]:
        batch: list[Pending] = []
        room = BATCH_BYTES
        for key in list(self._lanes):
            share = min(room, SHARE_BYTES) if len(self._lanes) > 1 else room
            room -= self._take(key, share, batch)
            if room <= 0 or len(batch) >= BATCH_REPORTS:
                break
        return batch

    def _take(self, key: Key, share: int, batch: list[Pending]) -> int:
        """Move reports of one attempt to the batch, at least one; the rest goes to the end of the round."""
        lane = self._lanes[key]
        taken = 0
        while lane.waiting and len(batch) < BATCH_REPORTS and (not taken or taken + len(lane.waiting[0].body) <= share):
            pending = lane.waiting.popleft()
            taken += len(pending.body)
            batch.append(pending)
        lane.size -= taken
        self._size -= taken
        if lane.waiting:
            self._lanes.move_to_end(key)
        else:
            del self._lanes[key]
        return taken

    def _note_state(self) -> None:
        if self._lanes:
            self._filled.set()
        else:
            self._filled.clear()
        if self._lanes or self._batch:
            self._idle.clear()
        else:
            self._idle.set()

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for turn in waiters:
            if not turn.done():
                turn.set_result(None)
