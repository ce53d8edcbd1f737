"""SHUT: the end and the beginning of processes."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.reliability.client import Event
from tests.reliability.conftest import Fresh
from tests.reliability.installation import FUNCTIONS, ROOT, Installation
from tests.reliability.processes import running
from tests.reliability.waiting import until

DRAIN_S = 5.0


def test_a_draining_worker_gives_everything_back(fresh: Fresh) -> None:
    """O75: what was interrupted is back at once, not after a lease, and its places in the group with it."""
    here = fresh(lease_s=60.0)
    here.start_server()
    leaving = here.start_worker(slots=5, drain_grace_s=0.5)
    client = here.client()
    group: dict[str, Any] = {"concurrencyKey": "group", "concurrencyLimit": 5}
    once = "[ -e again ] || exec sleep 60.75"
    repeatable = here.command(once, retryOnLost=True, retry={"attemptsMax": 3, "delayS": 600}, **group)
    unsafe = here.command("exec sleep 60.75", **group)
    jobs = [client.start(repeatable) for _ in range(4)]
    jobs.append(client.start(unsafe))
    for job in jobs:
        client.running(job)
    here.start_worker()
    following = client.start(here.command("true", **group))
    (here.work / "again").touch()
    began = time.monotonic()
    assert leaving.end() == 0
    assert client.ended(following)["status"] == "done"
    for job in jobs[:4]:
        assert client.ended(job)["status"] == "done"
        begun = [each["outcome"] for each in client.attempts(job) if "startedAt" in each]
        assert begun == ["released", "succeeded"]  # one may also have been offered to who was leaving
    assert time.monotonic() - began < 20  # neither a lease nor a pause between attempts passed
    assert client.ended(jobs[4])["error_kind"] == "lost"
    assert not running("sleep 60.75")


def test_streams_and_waits_do_not_hold_up_the_end(fresh: Fresh) -> None:
    """O76: three streams, a wait and a worker's poll are open; the server is gone in time and readers go on afterwards."""
    here = fresh(drain_s=DRAIN_S)
    server = here.start_server()
    here.start_worker()
    client = here.client()
    job = client.start(here.command("echo one; sleep 4; echo two"))
    client.running(job)
    parts: list[list[Event]] = [[] for _ in range(3)]
    is_open = [threading.Event() for _ in parts]
    endings: list[str] = []

    def read(index: int) -> None:
        with client.stream(job) as events:
            for event in events:
                parts[index].append(event)
                is_open[index].set()
        endings.append("clean")

    def wait() -> None:
        endings.append(client.job(job, wait_s=30)["status"])

    threads = [threading.Thread(target=read, args=(index,)) for index in range(3)] + [threading.Thread(target=wait)]
    for thread in threads:
        thread.start()
    for each in is_open:
        assert each.wait(10)
    began = time.monotonic()
    assert server.end(within_s=DRAIN_S + 5) == 0
    assert time.monotonic() - began < DRAIN_S + 1
    for thread in threads:
        thread.join(10)
    assert sorted(endings) == ["clean", "clean", "clean", "running"]
    here.start_server()
    for part in parts:
        with client.stream(job, last_event_id=str(part[-1].sequence)) as events:
            part.extend(events)
        assert [event.sequence for event in part] == list(range(1, len(part) + 1))
        assert part[-1].body["status"] == "succeeded"


def test_a_worker_never_takes_what_it_cannot_do(fresh: Fresh) -> None:
    """O77: without the function it is not claimed, and says why it waits; the next worker has it."""
    here = fresh()
    here.start_server()
    capable = here.start_worker("v2", app=FUNCTIONS)
    client = here.client()
    assert capable.end() == 0
    old = here.start_worker("v1")
    job = client.start("quick", {"number": 1})
    beside = client.start(here.command("true"))
    assert client.ended(beside)["status"] == "done"
    waiting = client.job(job)
    assert (waiting["status"], waiting["waiting_for"]) == (
        "queued",
        {"kind": "no_worker", "offer": "default/function:quick"},
    )
    assert waiting["queue_position"] == 1
    here.start_worker("v2", app=FUNCTIONS)
    ended = client.ended(job)
    assert (ended["status"], ended["attempts"]) == ("done", 1)
    assert old.code is None


def _environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RINGBACK_")}
    return kept | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "src")))} | more


def _up(folder: Path, *words: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ringback", "up", *words]
    return subprocess.run(
        command, cwd=folder, env=_environment(**(env or {})), capture_output=True, text=True, timeout=30, check=False
    )


def _unwritable(folder: Path) -> str:
    """A data folder that nobody can make, not even root: its parent is a file."""
    (folder / "file").write_text("", encoding="utf-8")
    return str(folder / "file" / "data")


FAULTS = {
    "port": "taken",
    "data": "cannot be written",
    "store": "store",
    "store file": "",
    "key": "unknown key",
    "value": "port",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_server_that_cannot_start_says_why_in_a_line(tmp_path: Path, fault: str) -> None:
    """O78: within seconds, with an exit code, without a traceback."""
    data = str(tmp_path / "data")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        words, env = {
            "port": (["--data", data, "--port", str(taken.getsockname()[1])], {}),
            "data": (["--data", _unwritable(tmp_path)], {}),
            "store": (["--data", data, "--store", "mysql://nowhere", "--port", "0"], {}),
            "store file": (["--data", data, "--store", f"sqlite:///{tmp_path}", "--port", "0"], {}),
            "key": (["--data", data, "--port", "0"], {"RINGBACK_LEASES": "5"}),
            "value": (["--data", data, "--port", "seventy"], {}),
        }[fault]
        done = _up(tmp_path, *words, env=env)
    said = [line for line in done.stderr.splitlines() if line.strip()]
    assert done.returncode in (1, 2), done.stderr
    assert FAULTS[fault] in done.stderr
    assert len(said) <= 4, done.stderr
    assert "Traceback" not in done.stderr


def test_up_ends_as_a_whole(tmp_path: Path) -> None:
    """O76 for `ringback up`: one SIGTERM ends worker and server in order; a job that runs is given back."""
    here = Installation(tmp_path)
    command = [
        sys.executable,
        "-m",
        "ringback",
        "up",
        "--json",
        "--data",
        str(here.data),
        "--port",
        "0",
        "--drain",
        "4",
    ]
    with subprocess.Popen(
        command, env=_environment(), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as up:
        try:
            assert up.stdout is not None
            here.url = json.loads(up.stdout.readline())["url"]
            client = here.client()
            job = client.start(here.command("exec sleep 300.76", retryOnLost=True))
            client.running(job)
            until(lambda: bool(running("sleep 300.76")), "the work runs")
            began = time.monotonic()
            up.send_signal(signal.SIGTERM)
            assert up.wait(20) == 0
            assert time.monotonic() - began < 15
        finally:
            up.kill()
    assert not running("sleep 300.76")
    here.close()
    with Installation(tmp_path) as again:
        again.start_server()
        attempts = again.client().attempts(job)
        assert [each["outcome"] for each in attempts] == ["released"]
