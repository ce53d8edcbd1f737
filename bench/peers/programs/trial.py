"""What is measured of a peer, the same for each: one caller's latencies, idle starts, floods, and batches where it has them.

Runs in the peer's own environment, so it uses the standard library only. A program hands in four functions and gets its
figures printed as one line of JSON. Everything it needs stands in `BENCH_*` variables.
"""

import asyncio
import json
import mmap
import os
import random
import struct
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

SCRATCH = Path(os.environ.get("BENCH_SCRATCH", "."))
REDIS = os.environ.get("BENCH_REDIS", "")
POSTGRES = os.environ.get("BENCH_POSTGRES", "")
FLOOD = int(os.environ.get("BENCH_FLOOD", "2000"))
FLOODS = int(os.environ.get("BENCH_FLOODS", "3"))
LATENCIES = int(os.environ.get("BENCH_LATENCIES", "100"))
IDLES = int(os.environ.get("BENCH_IDLES", "7"))
BATCH = 500
LOOK_EVERY_S = 0.02
PATIENCE_S = 120.0


class Stamp:
    """A moment in a file that two processes share: written by the task's body, read by the caller."""

    def __init__(self) -> None:
        descriptor = os.open(SCRATCH / "stamp", os.O_CREAT | os.O_RDWR)
        os.ftruncate(descriptor, 4096)
        self._page = mmap.mmap(descriptor, 4096)

    def set(self) -> None:
        self._page[:8] = struct.pack("d", time.time())

    def get(self) -> float:
        return float(struct.unpack("d", self._page[:8])[0])


@dataclass(kw_only=True)
class Peer:
    """A peer as it was set up, and what was measured of it. Rates are a second, times are milliseconds."""

    name: str
    setup: str
    durability: str
    enqueue: list[float] = field(default_factory=list)
    end_to_end: list[float] = field(default_factory=list)
    latency_ms: list[float] = field(default_factory=list)
    idle_ms: list[float] = field(default_factory=list)
    bulk: list[float] = field(default_factory=list)

    async def measure(
        self,
        *,
        stamp: Stamp,
        one: Callable[[], Awaitable[object]],
        flood: Callable[[int], Awaitable[object]],
        drained: Callable[[int], Awaitable[bool]],
        clear: Callable[[], Awaitable[object]] | None = None,
        bulk: Callable[[int], Awaitable[object]] | None = None,
    ) -> None:
        """Measure and print.

        Args:
            one: start a task and return when its end is seen.
            flood: start so many tasks, as fast as one client can.
            drained: whether so many tasks have ended since `clear`.
            clear: forget what has ended.
            bulk: start so many tasks in requests of `BATCH`.
        """
        for _ in range(20):
            await one()
        for _ in range(IDLES):
            await asyncio.sleep(random.uniform(0.4, 0.9))
            began = time.time()
            await one()
            self.idle_ms.append((stamp.get() - began) * 1e3)
        for _ in range(LATENCIES):
            began = time.perf_counter()
            await one()
            self.latency_ms.append((time.perf_counter() - began) * 1e3)
        await _trial(flood, drained, clear, FLOOD // 4)
        for _ in range(FLOODS):
            enqueued, ended = await _trial(flood, drained, clear, FLOOD)
            self.enqueue.append(enqueued)
            self.end_to_end.append(ended)
        if bulk is not None:
            count = max(BATCH * 4, FLOOD // BATCH * BATCH * 2)
            for _ in range(FLOODS):
                self.bulk.append((await _trial(bulk, drained, clear, count))[1])
        print(json.dumps(asdict(self)), flush=True)


async def _trial(
    start: Callable[[int], Awaitable[object]],
    drained: Callable[[int], Awaitable[bool]],
    clear: Callable[[], Awaitable[object]] | None,
    count: int,
) -> tuple[float, float]:
    """Tasks started a second, tasks ended a second."""
    if clear is not None:
        await clear()
    began = time.perf_counter()
    await start(count)
    started = time.perf_counter()
    while not await drained(count):
        if time.perf_counter() - started > PATIENCE_S:
            raise TimeoutError(f"{count} tasks did not end within {PATIENCE_S:g} s")
        await asyncio.sleep(LOOK_EVERY_S)
    return count / (started - began), count / (time.perf_counter() - began)


async def at_most(width: int, count: int, step: Callable[[int], Awaitable[object]]) -> None:
    """`count` steps, `width` of them at a time."""
    numbers = iter(range(count))

    async def lane() -> None:
        for number in numbers:
            await step(number)

    await asyncio.gather(*(lane() for _ in range(width)))


def companion(*words: str) -> "subprocess.Popen[bytes]":
    """The peer's worker: `words` after this environment's bin folder, or this very program when there is no such command."""
    command = Path(sys.executable).parent / words[0]
    argv = [str(command), *words[1:]] if command.is_file() else [sys.executable, sys.argv[0], *words]
    return subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=Path(__file__).parent)


def ended(process: "subprocess.Popen[bytes]", within_s: float = 20) -> None:
    """Stop a companion, by force if it takes too long."""
    process.terminate()
    try:
        process.wait(within_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def setting(words: Sequence[str], index: int, default: int) -> int:
    return int(words[index]) if len(words) > index else default
