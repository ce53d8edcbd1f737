"""Docket on Redis, one worker process with 50 at a time and the shortest useful check interval."""

import asyncio
import logging
import sys
from datetime import timedelta

import trial
from docket import Docket, Worker

logging.disable(logging.WARNING)
CHECK = timedelta(milliseconds=5)
STAMP = trial.Stamp()


async def noop(number: int) -> int:
    STAMP.set()
    return number


def _docket() -> Docket:
    return Docket(name="bench", url=f"{trial.REDIS}/3")


async def work() -> None:
    async with _docket() as docket:
        docket.register(noop)
        async with Worker(docket, concurrency=50, minimum_check_interval=CHECK) as worker:
            await worker.run_forever()


async def main() -> None:
    async with _docket() as docket:
        docket.register(noop)
        worker = trial.companion("worker")

        async def one() -> None:
            execution = await docket.add(noop)(1)
            await execution.get_result()

        async def drained(_: int) -> bool:
            async with docket.redis() as redis:
                groups = await redis.xinfo_groups(docket.stream_key)
                length = await redis.xlen(docket.stream_key)
            return length == 0 and all(group["pending"] == 0 for group in groups)

        async def bulk(count: int) -> None:
            for _ in range(count // trial.BATCH):
                await docket.add_many([docket.call(noop)(number) for number in range(trial.BATCH)])

        try:
            await asyncio.sleep(2)
            peer = trial.Peer(
                name="Docket, Redis",
                setup="1 worker process, concurrency 50, 5 ms check",
                durability="Redis without persistence",
            )
            await peer.measure(
                stamp=STAMP,
                one=one,
                flood=lambda count: trial.at_most(32, count, docket.add(noop)),
                drained=drained,
                bulk=bulk,
            )
        finally:
            trial.ended(worker)


asyncio.run(work() if sys.argv[1:2] == ["worker"] else main())
