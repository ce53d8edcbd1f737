"""pgqueuer on PostgreSQL through asyncpg, one worker process; batches of 10, or of the argument."""

import asyncio
import logging
import os
import sys
from urllib.parse import urlsplit

import asyncpg
import trial
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver, AsyncpgPoolDriver
from pgqueuer.queries import Queries

logging.disable(logging.WARNING)
STAMP = trial.Stamp()


async def work(batch: int) -> None:
    pool = await asyncpg.create_pool(trial.POSTGRES, min_size=4, max_size=10)
    async with AsyncpgPoolDriver(pool) as driver:
        queuer = PgQueuer(driver)

        @queuer.entrypoint("noop")
        async def noop(_: object) -> None:
            STAMP.set()

        await queuer.run(batch_size=batch)


async def main(batch: int) -> None:
    url = urlsplit(trial.POSTGRES)
    there = {"PGHOST": url.hostname, "PGPORT": str(url.port), "PGUSER": url.username, "PGDATABASE": url.path[1:]}
    os.environ.update({name: value for name, value in there.items() if value})
    trial.companion("pgq", "install").wait(60)
    worker = trial.companion("worker", str(batch))
    pool = await asyncpg.create_pool(trial.POSTGRES, min_size=8, max_size=8)
    look = await asyncpg.connect(trial.POSTGRES)
    alone, queries = Queries(AsyncpgDriver(await asyncpg.connect(trial.POSTGRES))), Queries(AsyncpgPoolDriver(pool))

    async def one() -> None:
        job = (await alone.enqueue("noop", b"x"))[0]
        done = "SELECT 1 FROM pgqueuer_log WHERE job_id = $1 AND status = 'successful'"
        while not await look.fetchval(done, int(job)):
            await asyncio.sleep(0.001)

    async def drained(_: int) -> bool:
        return not await look.fetchval("SELECT count(*) FROM pgqueuer")

    async def clear() -> None:
        await look.execute("TRUNCATE pgqueuer_log")

    async def bulk(count: int) -> None:
        size = trial.BATCH
        for _ in range(count // size):
            await alone.enqueue(["noop"] * size, [b"x"] * size, [0] * size)

    try:
        await asyncio.sleep(2)
        peer = trial.Peer(
            name=f"pgqueuer, PostgreSQL, batches of {batch}",
            setup="1 worker process; the caller looks every 1 ms",
            durability="synchronous_commit=on",
        )
        await peer.measure(
            stamp=STAMP,
            one=one,
            flood=lambda count: trial.at_most(16, count, lambda _: queries.enqueue("noop", b"x")),
            drained=drained,
            clear=clear,
            bulk=bulk,
        )
    finally:
        trial.ended(worker)


if sys.argv[1:2] == ["worker"]:
    asyncio.run(work(int(sys.argv[2])))
else:
    asyncio.run(main(trial.setting(sys.argv, 1, 10)))
