"""CANCEL: a stop that was accepted holds, whatever it races with."""

import random
import time

import pytest

from tests.reliability.client import Client
from tests.reliability.conftest import Fresh
from tests.reliability.installation import Installation
from tests.reliability.processes import running
from tests.reliability.scale import times
from tests.reliability.waiting import until


def test_a_queued_job_is_stopped_at_once_and_never_starts(installation: Installation, client: Client) -> None:
    """O15"""
    busy = client.start(installation.command("sleep 2.5", concurrencyKey="o15"))
    client.running(busy)
    queued = client.start(installation.command("touch o15", concurrencyKey="o15"))
    stopped = client.stop(queued)
    assert (stopped["status"], stopped["end_reason"]) == ("cancelled", "cancelled_before_start")
    assert client.ended(busy)["status"] == "done"
    after = client.start(installation.command("true", concurrencyKey="o15"))  # behind it in the queue
    assert client.ended(after)["status"] == "done"
    assert not (installation.work / "o15").exists()
    assert client.attempts(queued) == []


def test_a_stop_that_races_with_the_start_prevents_it_or_ends_it(installation: Installation, client: Client) -> None:
    """O16"""
    chance = random.Random(16)
    (installation.work / "m").mkdir()
    tool = installation.command("sleep 0.616; touch m/$RINGBACK_JOB_ID", cancelGraceS=0.5)
    jobs = []
    for _ in range(times(60, 200)):
        job = client.start(tool)
        began, pause_s = time.monotonic(), chance.uniform(0, 0.03)
        until(lambda: time.monotonic() - began >= pause_s, "a moment")  # noqa: B023 - called at once
        client.stop(job)
        jobs.append(job)
    ended = [client.ended(job) for job in jobs]
    cancelled = [job["job_id"] for job in ended if job["status"] == "cancelled"]
    assert not running("sleep 0.616")
    last = client.start(installation.command("sleep 0.7"))  # longer than any of them could still take
    client.ended(last)
    assert [job for job in cancelled if (installation.work / "m" / job).exists()] == []
    assert len(cancelled) > len(jobs) / 2
    assert {job["status"] for job in ended} <= {"cancelled", "done"}
    reasons = {job["end_reason"] for job in ended}
    assert reasons <= {"cancelled_before_start", "cancelled_cooperatively", "cancel_forced", "completed_despite_cancel"}
    assert all(client.replay(job) for job in jobs)


def test_a_stop_between_attempts_is_final(installation: Installation, client: Client) -> None:
    """O17, in the wait between two attempts."""
    tool = installation.command("echo x >> o17; exit 1", retry={"attemptsMax": 6, "delayS": 1, "jitterS": 0})
    job = client.start(tool)
    until(lambda: client.job(job).get("waiting_for", {}).get("kind") == "backoff", "it waits for its second attempt")
    assert client.stop(job)["status"] == "cancelled"
    last = client.start(installation.command("sleep 1.5"))  # longer than the wait
    client.ended(last)
    assert (client.job(job)["status"], client.job(job)["attempts"], installation.lines("o17")) == (
        "cancelled",
        1,
        ["x"],
    )


def test_a_stop_beats_the_exit_code_and_the_retries(installation: Installation, client: Client) -> None:
    """O17, while the command runs and answers SIGTERM with a failure."""
    script = "trap 'exit 7' TERM; echo up >> o17b; while :; do sleep 0.05; done"
    job = client.start(installation.command(script, retry={"attemptsMax": 6, "delayS": 0, "jitterS": 0}))
    until(lambda: installation.lines("o17b"), "it runs")
    client.stop(job)
    ended = client.ended(job)
    assert (ended["status"], ended["attempts"], installation.lines("o17b")) == ("cancelled", 1, ["up"])


def test_a_stop_of_a_finished_job_is_nothing(installation: Installation, client: Client) -> None:
    """O18"""
    jobs = [client.start("quick", {"number": number}) for number in range(times(100, 500))]
    for job in jobs:
        client.ended(job)
        before = client.job(job)
        for _ in range(2):
            answer = client.ask("DELETE", f"/jobs/{job}")
            assert (answer.status_code, answer.json()) == (200, before)
    again = [client.start("quick", {"number": number}) for number in range(10)]
    assert [client.ended(job)["status"] for job in again] == ["done"] * 10


@pytest.mark.parametrize("is_restarted", [False, True], ids=["same server", "server killed in between"])
def test_a_stop_survives_the_server(fresh: Fresh, is_restarted: bool) -> None:
    """O17 and O57 on SQLite: a stop is a fact of the ledger and is delivered by whatever comes next."""
    here = fresh()
    server = here.start_server()
    worker = here.start_worker()
    client = here.client()
    job = client.start(here.command("exec sleep 300.17", retryOnLost=True))
    client.running(job)
    worker.suspend()
    assert client.stop(job)["status"] == "running"
    if is_restarted:
        server.kill()
        here.start_server()
    worker.resume()
    ended = client.ended(job)
    assert (ended["status"], ended["attempts"]) == ("cancelled", 1)
    assert not running("sleep 300.17")
