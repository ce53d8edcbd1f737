"""SQLITE: many writers, long readers, a full disk."""

import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from ringback.store import maintenance
from tests.reliability.client import Client
from tests.reliability.conftest import Fresh
from tests.reliability.installation import Installation, errors_in
from tests.reliability.scale import times
from tests.reliability.waiting import until

DISK_BYTES = 30_000_000


def test_many_processes_and_many_callers_meet_no_lock(fresh: Fresh) -> None:
    """O53: eight workers, two hundred starts at once, with reads and streams beside them; each job runs once."""
    here = fresh(lease_s=10.0)
    here.start_server()
    for _ in range(8):
        here.start_worker(slots=2, is_awaited=False)
    client = here.client()
    until(lambda: client.read("GET", "/readyz")["workers"] == 8, "all workers are attached", within_s=90)
    tool = here.command("echo $RINGBACK_JOB_ID >> o53")

    def use(number: int) -> str:
        job = client.start(tool, key=f"o53-{number}")
        client.job(job)
        with client.stream(job) as events:
            assert [event.is_final for event in events][-1]
        return job

    with ThreadPoolExecutor(25) as pool:
        jobs = list(pool.map(use, range(200)))
    assert len(set(jobs)) == 200
    assert {client.job(job)["status"] for job in jobs} == {"done"}
    assert sorted(here.lines("o53")) == sorted(jobs)
    log = here.log()
    assert "locked" not in log
    assert "busy" not in log
    assert errors_in(log) == []


def test_slow_readers_hold_up_no_checkpoint(installation: Installation, client: Client) -> None:
    """O54: streams that are open and not read, a list that is paged slowly, and writes all the while: the log of the
    ledger stays bounded and shrinks."""
    wal = Path(f"{installation.settings.places.database}-wal")
    busy = client.start(installation.command("exec sleep 120"))
    client.running(busy)
    chatty = installation.command(
        "i=0; while [ $i -lt 40 ]; do head -c 60000 /dev/zero; i=$((i+1)); sleep 0.01; done", pool="second"
    )
    largest = 0
    with ExitStack() as stack:
        for _ in range(5):
            next(stack.enter_context(client.stream(busy)))  # opened, and read no further
        cursor: dict[str, str] = {}
        end = time.monotonic() + times(8, 600)
        while time.monotonic() < end:
            jobs = [client.start(chatty) for _ in range(4)]
            page = client.read("GET", "/jobs", params={"limit": 1, **cursor})
            cursor = {"cursor": page["next_cursor"]} if "next_cursor" in page else {}
            for job in jobs:
                client.ended(job)
            largest = max(largest, wal.stat().st_size)
        ledger = installation.settings.places.database.stat().st_size
    assert largest < 120 << 20
    assert ledger > 20 << 20, "so much was written that a log which never shrinks would show"
    client.stop(busy)
    client.ended(busy)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own that is easily filled."""
    folder = tmp_path / "disk"
    folder.mkdir()
    options = f"size={DISK_BYTES}"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.decode(errors='replace').strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def _fill(folder: Path) -> Path:
    """Leave not one free block."""
    ballast = folder / "ballast"
    size = 1 << 20
    with ballast.open("ab", buffering=0) as file:
        while size:
            try:
                file.write(b"\0" * size)
            except OSError:
                size //= 2
    return ballast


def test_a_full_disk_costs_nothing_that_was_promised(small_disk: Path, fresh: Fresh, tmp_path: Path) -> None:
    """O55: a start is refused and leaves no ghost, running work keeps its state, and service comes back by itself."""
    here = fresh(lease_s=30.0, data_folder=small_disk / "data")
    here.start_server()
    here.start_worker()
    client = here.client()
    gate = here.work / "gate"
    tool = here.command(f"until [ -e {gate} ]; do sleep 0.05; done; echo through")
    long = here.command("exec sleep 300")
    first, second = client.start(tool), client.start(long)
    for job in (first, second):
        client.running(job)
    ballast = _fill(small_disk)
    refused = until(lambda: _refusal(client, tool), "a start is refused")
    assert refused == (507, "storage_full", True)
    stop = client.ask("DELETE", f"/jobs/{second}")
    assert stop.status_code in (202, 507), stop.text
    gate.touch()  # the first job ends now, and nobody can write that down
    known = {job["job_id"] for job in client.jobs(limit=200)}
    assert _refusal(client, tool) == (507, "storage_full", True)
    assert {job["job_id"] for job in client.jobs(limit=200)} == known
    assert client.job(first)["status"] == "running"
    ballast.unlink()
    assert client.ended(first)["status"] == "done"
    assert client.result(first)["output"] == "through\n"
    client.stop(second)
    assert client.ended(second)["status"] == "cancelled"
    for job in known - {first, second}:
        assert client.ended(job)["status"] == "done"
    assert client.ended(client.start(tool))["status"] == "done"
    assert all(client.replay(job) for job in known)
    assert maintenance.check(here.data) == []
    here.close()


def _refusal(client: Client, tool: str) -> tuple[int, str, bool] | None:
    answer = client.post(tool)
    if answer.status_code == 202:
        return None
    problem = answer.json()
    return answer.status_code, problem["code"], problem["retryable"]


def test_everybody_writes_while_a_copy_is_made(installation: Installation, client: Client, tmp_path: Path) -> None:
    """O53 with a backup beside it: the copy is whole, and nobody waits for it."""
    is_over = threading.Event()

    def write() -> int:
        count = 0
        while not is_over.is_set():
            client.ended(client.start("quick", {"number": count}))
            count += 1
        return count

    with ThreadPoolExecutor(2) as pool:
        writing = [pool.submit(write) for _ in range(2)]
        try:
            maintenance.backup(installation.data, tmp_path / "ringback.db")
        finally:
            is_over.set()
        assert sum(each.result() for each in writing) > 0
    assert maintenance.check(tmp_path) == []
