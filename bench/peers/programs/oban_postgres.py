"""Oban for Python on PostgreSQL, one worker process with a limit of 20."""

import asyncio
import logging
import signal
import sys

import psycopg
import trial
from oban import Oban, worker as task

logging.disable(logging.WARNING)
LIMIT = 20
STAMP = trial.Stamp()


@task(queue="q")
class Noop:
    async def process(self, job: object) -> None:
        STAMP.set()


async def work() -> None:
    pool = await Oban.create_pool(trial.POSTGRES, min_size=4, max_size=10)
    async with Oban(pool=pool, queues={"q": LIMIT}):
        told = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.set)
        await told.wait()
    await pool.close()


async def main() -> None:
    trial.companion("oban", "install", "--dsn", trial.POSTGRES).wait(60)
    worker = trial.companion("worker")
    pool = await Oban.create_pool(trial.POSTGRES, min_size=8, max_size=8)
    look = await psycopg.AsyncConnection.connect(trial.POSTGRES, autocommit=True)

    async def value(question: str, *values: object) -> object:
        row = await (await look.execute(question, values or None)).fetchone()
        return None if row is None else row[0]

    async def one() -> None:
        job = await Noop.enqueue({"number": 1})
        while await value("SELECT state::text FROM oban_jobs WHERE id = %s", job.id) != "completed":
            await asyncio.sleep(0.001)

    async def drained(_: int) -> bool:
        return not await value("SELECT count(*) FROM oban_jobs WHERE state <> 'completed'")

    async def clear() -> None:
        await look.execute("TRUNCATE oban_jobs")

    try:
        async with Oban(pool=pool) as oban:

            async def bulk(count: int) -> None:
                for _ in range(count // trial.BATCH):
                    await oban.enqueue_many(*[Noop.new({"number": number}) for number in range(trial.BATCH)])

            await asyncio.sleep(3)
            peer = trial.Peer(
                name="Oban, PostgreSQL",
                setup=f"1 worker process, limit {LIMIT}, notified; the caller looks every 1 ms",
                durability="synchronous_commit=on",
            )
            await peer.measure(
                stamp=STAMP,
                one=one,
                flood=lambda count: trial.at_most(16, count, lambda number: Noop.enqueue({"number": number})),
                drained=drained,
                clear=clear,
                bulk=bulk,
            )
    finally:
        trial.ended(worker)
        await look.close()
        await pool.close()


asyncio.run(work() if sys.argv[1:2] == ["worker"] else main())
