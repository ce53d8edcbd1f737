"""PROC: process trees, pipes, standard input, and what many short jobs leave behind."""

import os
import pty
import socket
import sys

import pytest

from tests.reliability.client import Client
from tests.reliability.conftest import Fresh
from tests.reliability.installation import Installation, python
from tests.reliability.processes import children_of, descendants_of, descriptor_count, is_zombie, running, thread_count
from tests.reliability.scale import times
from tests.reliability.waiting import until


def _bound(port: int) -> bool:
    with socket.socket() as other:
        return other.connect_ex(("127.0.0.1", port)) == 0


def test_cancelled_means_that_the_whole_tree_is_gone(installation: Installation, client: Client) -> None:
    """O09: when `cancelled` is read, no descendant lives and the port is free."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    script = f"sleep 900.09 & {sys.executable} -m http.server {port} --bind 127.0.0.1 & wait"
    job = client.start(installation.command(script, cancelGraceS=1))
    until(lambda: _bound(port), "the descendant listens")
    client.stop(job)
    ended = client.ended(job)
    left = running("sleep 900.09"), running(f"http.server {port}")
    assert (ended["status"], left) == ("cancelled", ([], []))
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", port))


def test_timed_out_means_that_the_whole_tree_is_gone(installation: Installation, client: Client) -> None:
    """O09, for a limit of time."""
    job = client.start(installation.command("sleep 900.11 & sleep 900.12", cancelGraceS=1), timeout_seconds=0.5)
    ended = client.ended(job)
    left = running("sleep 900.11"), running("sleep 900.12")
    assert (ended["status"], ended["error_kind"], left) == ("failed", "timeout", ([], []))


def test_the_end_is_the_exit_of_the_main_process(installation: Installation, client: Client) -> None:
    """O10: a background child that keeps the pipes open holds nothing up; it is killed and noted."""
    job = client.start(installation.command("sleep 600.1 & echo done"))
    ended = client.ended(job, within_s=15)
    result = client.result(job)
    assert (ended["status"], result["output"], result["exit_code"]) == ("done", "done\n", 0)
    assert result["result"]["leftoverProcesses"] == 1
    assert not running("sleep 600.1")


ESCAPING = """
setsid sh -c 'trap "" TERM; sleep 900.21' &
(setsid sh -c 'sleep 901.21 & exit' &)
echo out > escaped
sleep 900.22
"""


def test_a_stop_reaches_what_left_the_group_and_what_ignores_it(installation: Installation, client: Client) -> None:
    """O11: another session, a double fork, a trap for SIGTERM."""
    job = client.start(installation.command(ESCAPING, cancelGraceS=0.5))
    names = ("sleep 900.21", "sleep 901.21", "sleep 900.22")
    until(lambda: all(running(name) for name in names), "all of them run")
    client.stop(job)
    ended = client.ended(job)
    assert (ended["status"], [running(name) for name in names]) == ("cancelled", [[], [], []])
    assert ended["end_reason"] == "cancel_forced"


def test_many_short_jobs_leave_nothing(fresh: Fresh) -> None:
    """O12: descriptors, threads and zombies stay flat, in the worker and in the guardian."""
    here = fresh()
    here.start_server()
    worker = here.start_worker(slots=4)
    client = here.client()
    tool = here.command(["true"])

    def finish(count: int) -> None:
        for job in [client.start(tool) for _ in range(count)]:
            assert client.ended(job)["status"] == "done"

    def measure() -> list[tuple[int, int]]:
        processes = [worker.pid, *children_of(worker.pid)]
        return [(descriptor_count(pid), thread_count(pid)) for pid in processes]

    finish(50)
    before = until(lambda: _settled(measure), "the counts are at rest")
    for _ in range(times(3, 20)):
        finish(100)
        until(lambda: measure() == before, f"the counts are as before: {before}")
        assert not [pid for pid in descendants_of(worker.pid) if is_zombie(pid)]


def _settled(measure: object) -> list[tuple[int, int]]:
    assert callable(measure)
    first = measure()
    return first if first == measure() else []


PROMPTS = {
    "input": python("input('pw:')"),
    "terminal": ["sh", "-c", "read x </dev/tty"],
    "editor": ["sh", "-c", "git init -q repo && cd repo && git commit --allow-empty"],
}


@pytest.mark.parametrize("name", PROMPTS)
def test_a_prompt_fails_at_once(fresh: Fresh, name: str) -> None:
    """O13: the server and the worker have a terminal; no job gets at it, and nothing appears on it."""
    here = fresh()
    leader, follower = pty.openpty()
    try:
        here.start_server()
        here.start_worker(terminal=os.ttyname(follower))
        client = here.client()
        who = {f"GIT_{role}_{fact}": "a@example.org" for role in ("AUTHOR", "COMMITTER") for fact in ("NAME", "EMAIL")}
        tool = here.command(PROMPTS[name], env={"EDITOR": "vi", **who})
        ended = client.ended(client.start(tool), within_s=20)
        assert ended["status"] == "failed"
        assert ended["error_kind"] == "tool_error"
        os.set_blocking(leader, False)
        with pytest.raises(BlockingIOError):
            os.read(leader, 100)
    finally:
        os.close(leader)
        os.close(follower)


FLOOD = """
import signal
signal.signal(15, signal.SIG_IGN)
while True:
    print("x" * 65536)
"""


def test_a_flood_that_ignores_the_signal_is_ended_in_time(installation: Installation, client: Client) -> None:
    """O14: timeout and grace hold while output streams; the slot is free afterwards."""
    tool = installation.command(python(FLOOD), cancelGraceS=0.5, pool="second", limits={"outputBytes": 1_000_000})
    jobs = [client.start(tool, timeout_seconds=1) for _ in range(4)]  # as many as the pool has slots
    for job in jobs:
        ended = client.ended(job, within_s=30)
        assert (ended["status"], ended["error_kind"], ended["time_limit"]) == ("failed", "timeout", "attempt")
    following = client.start(installation.command("echo next", pool="second"))
    assert client.ended(following)["status"] == "done"
