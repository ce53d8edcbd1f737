"""taskiq on Redis streams, one worker process, results in Redis."""

import asyncio

import redis.asyncio
import trial
from taskiq_redis import RedisAsyncResultBackend, RedisStreamBroker

RESULTS = f"{trial.REDIS}/7"
broker = RedisStreamBroker(f"{trial.REDIS}/6").with_result_backend(RedisAsyncResultBackend(RESULTS))
STAMP = trial.Stamp()


@broker.task(task_name="noop")
async def noop(number: int) -> int:
    STAMP.set()
    return number


async def one() -> None:
    task = await noop.kiq(1)
    await task.wait_result(check_interval=0.001, timeout=10)


async def main() -> None:
    words = ("worker", "taskiq_redis_stream:broker", "--workers", "1", "--log-level", "ERROR")
    worker = trial.companion("taskiq", *words)
    results = redis.asyncio.Redis.from_url(RESULTS)

    async def drained(count: int) -> bool:
        return int(await results.dbsize()) >= count

    try:
        await broker.startup()
        await asyncio.sleep(4)
        peer = trial.Peer(
            name="taskiq, Redis streams",
            setup="1 worker process; the caller looks every 1 ms",
            durability="Redis without persistence",
        )
        await peer.measure(
            stamp=STAMP,
            one=one,
            flood=lambda count: trial.at_most(32, count, noop.kiq),
            drained=drained,
            clear=results.flushdb,
        )
        await broker.shutdown()
    finally:
        await results.aclose()
        trial.ended(worker)


if __name__ == "__main__":
    asyncio.run(main())
