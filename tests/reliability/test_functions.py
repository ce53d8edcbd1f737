"""PY: Python functions that return oddly, block, and are stopped again and again."""

import random
import time

import pytest

from tests.reliability.client import Client
from tests.reliability.conftest import Fresh
from tests.reliability.installation import FUNCTIONS, LEASE_S
from tests.reliability.processes import children_of, thread_count
from tests.reliability.scale import times
from tests.reliability.waiting import until

MAPPED = {
    "set": [1, 2],
    "datetime": "2026-01-02T00:00:00Z",
    "decimal": "1.10",
    "generator": [0, 1, 2],
}
REFUSED = ["lambda", "file", "unpicklable", "huge", "cyclic"]


@pytest.mark.parametrize("kind", [*MAPPED, *REFUSED, "bytes", "nan"])
def test_an_odd_result_costs_its_own_job_at_most(client: Client, kind: str) -> None:
    """O79: mapped as documented, or failed with a reason that says so; the next job runs."""
    job = client.start("odd", {"kind": kind})
    ended = client.ended(job)
    if ended["status"] == "done":
        result = client.result(job)
        assert kind not in REFUSED
        if kind in MAPPED:
            assert result.get("result", result.get("items")) == MAPPED[kind]
    else:
        assert kind not in MAPPED
        assert (ended["error_kind"], ended["attempts"]) == ("tool_error", 1)
        assert any(word in ended["error_message"] for word in ("JSON", "serial", "bytes", "large"))
    following = client.start("quick", {"number": 1})
    assert client.ended(following)["status"] == "done"
    assert client.result(following)["result"] == 2


def test_a_function_that_blocks_holds_up_nobody(fresh: Fresh) -> None:
    """O80: quick jobs beside a blocked event loop start at once, and no lease is lost."""
    here = fresh()
    here.start_server()
    here.start_worker(slots=12, app=FUNCTIONS)
    client = here.client()
    blocked = client.start("block", {"seconds": times(2, 4) * LEASE_S})
    client.running(blocked)
    quick = [client.start("quick", {"number": number}) for number in range(10)]
    assert [client.ended(job)["status"] for job in quick] == ["done"] * 10
    assert client.job(blocked)["status"] == "running"
    ended = client.ended(blocked)
    assert (ended["status"], ended["attempts"]) == ("done", 1)


def test_stopped_functions_leave_nothing_and_hold_up_no_exit(fresh: Fresh) -> None:
    """O81: many timeouts, many stops at random, then SIGTERM."""
    here = fresh(lease_s=10.0)
    here.start_server()
    worker = here.start_worker(slots=8, app=FUNCTIONS)
    client = here.client()
    chance = random.Random(81)

    def warm() -> None:
        for job in [client.start("quick", {"number": number}) for number in range(20)]:
            client.ended(job)

    warm()
    threads = thread_count(worker.pid)
    overdue = [client.start("nap", {"seconds": 30}, timeout_seconds=0.2) for _ in range(times(24, 200))]
    for job in overdue:
        ended = client.ended(job, within_s=120)
        assert (ended["status"], ended["error_kind"], ended["time_limit"]) == ("failed", "timeout", "attempt")
    short = []
    for _ in range(times(60, 300)):
        short.append(client.start("cooperative", {"seconds": 0.002}))
        if chance.random() < 0.7:
            client.stop(short[-1])
    assert {client.ended(job)["status"] for job in short} <= {"done", "cancelled"}
    warm()
    until(lambda: thread_count(worker.pid) <= threads + 1, "threads are as many as before")
    until(lambda: len(_interpreters(worker.pid)) <= 9, "interpreters are as many as slots at most")
    began = time.monotonic()
    assert worker.end() == 0
    assert time.monotonic() - began < 8


def _interpreters(worker: int) -> list[int]:
    """The children of the worker's guardian."""
    return [pid for guardian in children_of(worker) for pid in children_of(guardian)]
