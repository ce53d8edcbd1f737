"""Huey on SQLite with fsync; its consumer is a process of its own with one thread (more are slower)."""

import asyncio
import time

import trial
from huey_app import STAMP, huey, noop


async def one() -> None:
    result = noop(1)
    while result.get() is None:
        time.sleep(0.0005)  # noqa: ASYNC251 - Huey blocks; there is nothing else on this loop


async def flood(count: int) -> None:
    for number in range(count):
        noop(number)


async def drained(count: int) -> bool:
    return int(huey.storage.result_store_size()) >= count


async def clear() -> None:
    huey.storage.flush_results()


async def main() -> None:
    huey.storage.flush_all()
    consumer = trial.companion("huey_consumer", "huey_app.huey", "-w", "1", "-k", "thread", "-d", "0.1", "-q")
    try:
        await asyncio.sleep(2)
        peer = trial.Peer(
            name="Huey, SQLite",
            setup="consumer with 1 thread, delay 0.1 s; the caller looks every 0.5 ms",
            durability="fsync on",
        )
        await peer.measure(stamp=STAMP, one=one, flood=flood, drained=drained, clear=clear)
    finally:
        trial.ended(consumer)


asyncio.run(main())
