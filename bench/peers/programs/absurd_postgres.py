"""absurd on PostgreSQL, one worker process with 16 at a time and 10 ms polling."""

import asyncio
import os
import signal
import sys

import psycopg
import trial
from absurd_sdk import AsyncAbsurd

POLL_S = 0.01
STAMP = trial.Stamp()


def _app() -> AsyncAbsurd:
    app = AsyncAbsurd(trial.POSTGRES, queue_name="q")

    @app.register_task(name="noop")
    async def noop(params: object, context: object) -> dict[str, bool]:
        STAMP.set()
        return {"ok": True}

    return app


async def work() -> None:
    app = _app()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, app.stop_worker)
    await app.start_worker(concurrency=16, poll_interval=POLL_S)


async def main() -> None:
    os.environ["ABSURD_DATABASE_URL"] = trial.POSTGRES
    trial.companion("absurdctl", "init").wait(60)
    trial.companion("absurdctl", "create-queue", "q").wait(60)
    worker = trial.companion("worker")
    apps = [_app() for _ in range(8)]
    for app in apps:
        await app._ensure_connected()
    look = await psycopg.AsyncConnection.connect(trial.POSTGRES, autocommit=True)

    async def one() -> None:
        task = await apps[0].spawn("noop", {"number": 1}, queue="q")
        while (found := await apps[0].fetch_task_result(task["task_id"])) is None or found.state != "completed":
            await asyncio.sleep(0.001)

    async def flood(count: int) -> None:
        async def lane(app: AsyncAbsurd) -> None:
            for number in range(count // len(apps)):
                await app.spawn("noop", {"number": number}, queue="q")

        await asyncio.gather(*(lane(app) for app in apps))

    async def drained(_: int) -> bool:
        row = await (await look.execute("SELECT count(*) FROM absurd.t_q WHERE state <> 'completed'")).fetchone()
        return row is not None and not row[0]

    try:
        await asyncio.sleep(2)
        peer = trial.Peer(
            name="absurd, PostgreSQL",
            setup="1 worker process, concurrency 16, 10 ms polling; the caller looks every 1 ms",
            durability="synchronous_commit=on",
        )
        await peer.measure(stamp=STAMP, one=one, flood=flood, drained=drained)
    finally:
        trial.ended(worker)
        await look.close()


asyncio.run(work() if sys.argv[1:2] == ["worker"] else main())
