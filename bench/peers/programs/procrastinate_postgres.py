"""Procrastinate on PostgreSQL, one worker process with 16 at a time, notified."""

import asyncio
import logging
import sys

import procrastinate
import psycopg
import trial

logging.disable(logging.WARNING)
STAMP = trial.Stamp()
app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=trial.POSTGRES, min_size=4, max_size=20))


@app.task(queue="q", name="noop")
async def noop(number: int) -> None:
    STAMP.set()


async def work() -> None:
    async with app.open_async():
        await app.run_worker_async(queues=["q"], concurrency=16, install_signal_handlers=True)


async def main() -> None:
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        worker = trial.companion("worker")
        look = await psycopg.AsyncConnection.connect(trial.POSTGRES, autocommit=True)

        async def value(question: str, *values: object) -> object:
            row = await (await look.execute(question, values or None)).fetchone()
            return None if row is None else row[0]

        async def one() -> None:
            job = await noop.defer_async(number=1)
            while await value("SELECT status FROM procrastinate_jobs WHERE id = %s", job) != "succeeded":
                await asyncio.sleep(0.001)

        async def drained(_: int) -> bool:
            return not await value("SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')")

        async def clear() -> None:
            await look.execute("TRUNCATE procrastinate_jobs CASCADE")

        async def bulk(count: int) -> None:
            for _ in range(count // trial.BATCH):
                await noop.batch_defer_async(*[{"number": number} for number in range(trial.BATCH)])

        try:
            await asyncio.sleep(2)
            peer = trial.Peer(
                name="Procrastinate, PostgreSQL",
                setup="1 worker process, concurrency 16, notified; the caller looks every 1 ms",
                durability="synchronous_commit=on",
            )
            await peer.measure(
                stamp=STAMP,
                one=one,
                flood=lambda count: trial.at_most(16, count, lambda number: noop.defer_async(number=number)),
                drained=drained,
                clear=clear,
                bulk=bulk,
            )
        finally:
            trial.ended(worker)
            await look.close()


asyncio.run(work() if sys.argv[1:2] == ["worker"] else main())
