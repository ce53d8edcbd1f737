"""DBOS: client and worker in one process (its normal layout), async workflow, queue. `sqlite` or `postgres` as the argument."""

import asyncio
import sys

import trial
from dbos import DBOS

POLL_S = 0.01
STAMP = trial.Stamp()
BACKEND = sys.argv[1]
URL = f"sqlite:///{trial.SCRATCH}/dbos.sqlite" if BACKEND == "sqlite" else trial.POSTGRES
DURABILITY = "SQLite, DBOS's own pragmas" if BACKEND == "sqlite" else "synchronous_commit=on"

DBOS(
    config={
        "name": "bench",
        "system_database_url": URL,
        "log_level": "ERROR",
        "run_admin_server": False,
        "notification_listener_polling_interval_sec": POLL_S,
    }
)


@DBOS.workflow()
async def noop(number: int) -> int:
    STAMP.set()
    return number


async def enqueue(number: int) -> object:
    return await DBOS.enqueue_workflow_async("q", noop, number)


async def one() -> None:
    handle = await DBOS.enqueue_workflow_async("q", noop, 1)
    await handle.get_result(polling_interval_sec=POLL_S)


async def drained(_: int) -> bool:
    left = await DBOS.list_workflows_async(status=["PENDING", "ENQUEUED"], limit=1, load_input=False, load_output=False)
    return not left


async def main() -> None:
    await DBOS.register_queue_async("q", polling_interval_sec=POLL_S)
    name = "DBOS, SQLite" if BACKEND == "sqlite" else "DBOS, PostgreSQL"
    peer = trial.Peer(name=name, setup="10 ms polling, one process, 64 at a time", durability=DURABILITY)
    await peer.measure(stamp=STAMP, one=one, flood=lambda count: trial.at_most(64, count, enqueue), drained=drained)


DBOS.launch()
asyncio.run(main())
DBOS.destroy()
