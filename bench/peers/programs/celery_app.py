"""Celery's application: imported by its worker and by the caller."""

import trial
from celery import Celery

app = Celery("bench", broker=f"{trial.REDIS}/1", backend=f"{trial.REDIS}/2")
app.conf.update(worker_prefetch_multiplier=4, broker_connection_retry_on_startup=True, worker_hijack_root_logger=False)
STAMP = trial.Stamp()


@app.task(name="noop")
def noop(number: int) -> int:
    STAMP.set()
    return number
