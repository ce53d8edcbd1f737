"""Celery on Redis, prefork with two processes, results in Redis."""

import asyncio

import redis
import trial
from celery_app import STAMP, noop

BACKEND = redis.Redis.from_url(f"{trial.REDIS}/2")


async def one() -> None:
    noop.delay(1).get(timeout=10)


async def flood(count: int) -> None:
    for number in range(count):
        noop.apply_async((number,))


async def drained(count: int) -> bool:
    return int(BACKEND.dbsize()) >= count


async def clear() -> None:
    BACKEND.flushdb()


async def main() -> None:
    words = ("-A", "celery_app", "worker", "-P", "prefork", "-c", "2", "-l", "ERROR", "--without-gossip")
    worker = trial.companion("celery", *words, "--without-mingle")
    try:
        await asyncio.sleep(4)
        peer = trial.Peer(
            name="Celery, Redis",
            setup="prefork -c 2, results by publish/subscribe",
            durability="Redis without persistence",
        )
        await peer.measure(stamp=STAMP, one=one, flood=flood, drained=drained, clear=clear)
    finally:
        trial.ended(worker)


asyncio.run(main())
