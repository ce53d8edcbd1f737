"""Huey's application: imported by its consumer and by the caller."""

import trial
from huey import SqliteHuey

huey = SqliteHuey("bench", filename=str(trial.SCRATCH / "huey.db"), fsync=True)
STAMP = trial.Stamp()


@huey.task()
def noop(number: int) -> int:
    STAMP.set()
    return number
