"""LOST: what becomes of work whose worker, or whose server, is gone."""

import time
from pathlib import Path

import pytest

from ringback.domain.moments import SECOND
from ringback.settings import SettingsError, load_server_settings
from tests.installed import Installed
from tests.reliability.conftest import Fresh
from tests.reliability.installation import LEASE_S
from tests.reliability.processes import running
from tests.reliability.waiting import until


def test_a_lease_belongs_to_an_incarnation_and_not_to_a_name(fresh: Fresh) -> None:
    """O01: the next process of the same name keeps nothing of the old one alive."""
    here = fresh()
    here.start_server()
    worker = here.start_worker("w1")
    client = here.client()
    job = client.start(here.command("sleep 300"))
    client.running(job)
    worker.kill()
    killed_at = time.monotonic()
    here.start_worker("w1")
    ended = client.ended(job, within_s=LEASE_S + 15)
    assert (ended["status"], ended["error_kind"], ended["attempts"]) == ("failed", "lost", 1)
    assert "unknown" in ended["error_message"]
    assert time.monotonic() - killed_at < LEASE_S + 15
    assert client.attempts(job)[0]["outcome"] == "lost"


def test_the_sweep_needs_no_slot(fresh: Fresh) -> None:
    """O02: every slot is taken, and a lost job is found all the same. On SQLite the server sweeps, so a suspended worker
    cannot be the one that should have done it; here it is suspended as well, and its own work is lost with it."""
    here = fresh()
    here.start_server()
    full = here.start_worker(slots=2)
    client = here.client()
    busy = here.command("sleep 600")
    fillers = [client.start(busy) for _ in range(2)]
    for job in fillers:
        client.running(job)
    doomed = here.start_worker(slots=1)
    job = client.start(here.command("sleep 601", idempotent=True))
    client.running(job)
    doomed.kill()
    requeued = until(
        lambda: [event for event in client.events(job) if event.body.get("status") == "retrying"],
        "the lost job waits for its next attempt",
    )
    assert requeued[0].body["reason"] == "lost"
    assert [client.job(filler)["status"] for filler in fillers] == ["running", "running"]
    full.suspend()
    for filler in fillers:
        assert client.ended(filler)["error_kind"] == "lost"
    here.start_worker(slots=1)
    until(lambda: client.job(job)["attempts"] == 2, "the second attempt begins")


def test_after_a_crash_of_everything_every_job_is_accounted_for(fresh: Fresh) -> None:
    """O03: server and workers die in one instant; each attempt counts once."""
    here = fresh()
    server = here.start_server()
    workers = [here.start_worker(slots=2), here.start_worker(slots=2)]
    client = here.client()
    tool = here.command("sleep 1.75", retry={"attemptsMax": 2, "delayS": 0}, retryOnLost=True)
    long = here.command("sleep 31.75", retry={"attemptsMax": 2, "delayS": 0})
    repeated = [client.start(tool) for _ in range(2)]
    unsafe = client.start(long)
    for job in (*repeated, unsafe):
        client.running(job)
    for process in (server, *workers):
        process.suspend()  # so that none of them acts on the death of another
    for process in (server, *workers):
        process.kill()
    until(lambda: not here.attempt_processes(), "no work outlives its worker")
    here.start_server()
    here.start_worker(slots=4)
    for job in repeated:
        ended = client.ended(job)
        assert (ended["status"], ended["attempts"]) == ("done", 2)
        assert [each["outcome"] for each in client.attempts(job)] == ["lost", "succeeded"]
    ended = client.ended(unsafe)
    assert (ended["status"], ended["error_kind"], ended["attempts"]) == ("failed", "lost", 1)
    assert not running("sleep 31.75")
    assert all(client.replay(job) for job in (*repeated, unsafe))


def test_a_result_that_was_reached_while_the_server_was_away_counts(fresh: Fresh) -> None:
    """O03, and O58 on SQLite: the server is away for longer than a lease; the work, which may not be repeated, is done once."""
    here = fresh()
    server = here.start_server()
    here.start_worker()
    client = here.client()
    job = client.start(here.command("echo begun >> o58; sleep 1; echo done >> o58"))
    until(lambda: here.lines("o58"), "the work has begun")
    server.kill()
    away_since = time.monotonic()
    until(lambda: time.monotonic() - away_since > LEASE_S + 1, "a lease has passed")
    here.start_server()
    ended = client.ended(job)
    assert (ended["status"], ended["attempts"], here.lines("o58")) == ("done", 1, ["begun", "done"])
    assert client.replay(job)


@pytest.mark.parametrize(
    ("lease_s", "asked_s", "every_s"), [(15, 5, 5), (60, 5, 5), (3, 5, 1), (15, 1, 1), (30, 20, 10)]
)
async def test_a_lease_outlives_two_heartbeats_that_got_lost(
    here: Installed, lease_s: int, asked_s: int, every_s: int
) -> None:
    """O01, O05: whatever the settings are."""
    here.core.workers.lease, here.core.workers.beat_every = lease_s * SECOND, asked_s * SECOND
    assert here.core.workers.heartbeat_every == every_s * SECOND


def test_a_lease_is_no_shorter_than_three_seconds(tmp_path: Path) -> None:
    """O01, O05: a worker beats once a second at most."""
    with pytest.raises(SettingsError, match="RINGBACK_LEASE_S"):
        load_server_settings(environ={"RINGBACK_LEASE_S": "2.9"}, folder=tmp_path)
