"""TIME: limits, clocks and time zones."""

import datetime
import os
import re
import sys
import time
from typing import Any

import pytest

from tests.reliability.client import FINAL, Client
from tests.reliability.conftest import Fresh
from tests.reliability.installation import LEASE_S, Installation
from tests.reliability.scale import times
from tests.reliability.waiting import until


def test_a_final_state_never_changes_whichever_comes_first(installation: Installation, client: Client) -> None:
    """O19: the limit and the end of the work race; every answer that was ever given is kept."""
    tool = installation.command(["sleep", "{pause}"], inputs={"pause": {"type": "string"}})
    count = times(60, 300)
    waves = [range(start, min(start + 12, count)) for start in range(0, count, 12)]
    outcomes = set()
    for wave in waves:
        pauses = [0.45 + 0.1 * (number % 12) / 11 for number in wave]
        jobs = [client.start(tool, {"pause": f"{pause:.3f}"}, timeout_seconds=0.5) for pause in pauses]
        seen: dict[str, list[dict[str, object]]] = {job: [] for job in jobs}
        while not all(answers and answers[-1]["status"] in FINAL for answers in seen.values()):
            for job in jobs:
                seen[job].append(client.job(job))
        for job, answers in seen.items():
            final = [answer for answer in answers if answer["status"] in FINAL]
            assert all(answer == client.job(job) for answer in final)
            has_result = "exit_code" in client.result(job)
            assert has_result == (final[0]["status"] == "done")
            outcomes.add(final[0]["status"])
            assert len([event for event in client.events(job) if event.is_final]) == 1
    assert outcomes <= {"done", "failed"}


NANOS = "time.time_ns = lambda: int(time.time() * 1e9)"


def test_a_workers_clock_steals_nothing_and_loses_nothing(fresh: Fresh) -> None:
    """O20 on SQLite: the server's clock is the only one; two workers ten minutes off in both directions change nothing."""
    here = fresh()
    here.start_server()
    for name, skew_s in (("ahead", 600), ("behind", -600)):
        skew = f"import time; real = time.time; time.time = lambda: real() + {skew_s}"
        folder = here.folder / name
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(f"{skew}; {NANOS}\n", encoding="utf-8")
        here.start_worker(name, slots=10, env={"PYTHONPATH": os.pathsep.join((str(folder), *sys.path))})
    client = here.client()
    seconds = LEASE_S + 1
    began = time.time()
    tool = here.command(f"sleep {seconds}; echo x >> o20", retryOnLost=True)
    jobs = [client.start(tool, total_timeout_seconds=60) for _ in range(20)]
    ended = [client.ended(job) for job in jobs]
    assert [(job["status"], job["attempts"]) for job in ended] == [("done", 1)] * 20
    assert len(here.lines("o20")) == 20
    moments = [_seconds(job[name]) for job in ended for name in ("created_at", "started_at", "finished_at")]
    assert began - 1 <= min(moments)
    assert max(moments) <= time.time() + 1
    sessions = {attempt["sessionId"] for job in jobs for attempt in client.attempts(job)}
    assert len(sessions) == 2


def _seconds(text: str) -> float:
    return datetime.datetime.fromisoformat(text).timestamp()


MOMENTS = {
    "2027-10-31T02:30:00+02:00": "2027-10-31T00:30:00.000000Z",  # the first of the two in Berlin
    "2027-10-31T02:30:00+01:00": "2027-10-31T01:30:00.000000Z",  # the second
    "2027-03-28T02:30:00+01:00": "2027-03-28T01:30:00.000000Z",  # a moment that no clock in Berlin shows
    "2027-03-28T02:30:00+05:45": "2027-03-27T20:45:00.000000Z",
    "2027-03-28T02:30:00Z": "2027-03-28T02:30:00.000000Z",
}


def test_a_moment_is_absolute(fresh: Fresh) -> None:
    """O21: the server's own time zone plays no part."""
    here = fresh()
    here.start_server(env={"TZ": "America/New_York"})
    client = here.client()
    tool = here.command("true")
    for given, stored in MOMENTS.items():
        job = client.start(tool, not_before=given)
        assert client.job(job)["waiting_for"] == {"kind": "not_before", "until": stored}
        assert client.run(job)["createdAt"].endswith("Z")


@pytest.mark.parametrize(
    "given", ["2027-03-28 02:30", "2027-03-28T02:30:00", "2027-03-28T02:30:00[Europe/Berlin]", "soon", ""]
)
def test_a_moment_without_offset_is_refused(installation: Installation, client: Client, given: str) -> None:
    """O21: nobody guesses which moment was meant."""
    answer = client.post(installation.command("true"), not_before=given)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/not_before")


def test_a_job_with_a_start_time_runs_once(installation: Installation, client: Client) -> None:
    """O21: at its time, in UTC, once."""
    at = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(time.time() + 2))
    job = client.start(installation.command("echo x >> o21"), not_before=at)
    ended = client.ended(job)
    assert (ended["status"], installation.lines("o21")) == ("done", ["x"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", ended["started_at"])
    assert ended["started_at"][:19] >= at[:19]


LIMITS: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "attempt": ({"timeout_seconds": 0.5}, "timeout", {}),
    "deadline": ({"total_timeout_seconds": 0.5}, "timeout", {}),
    "idle": ({}, "timeout", {"timeouts": {"idleS": 0.5}}),
    "queue": ({}, "expired", {"timeouts": {"queueS": 0.5}, "pool": "nobody"}),
}


@pytest.mark.parametrize("limit", LIMITS)
def test_the_limit_that_fired_is_named_everywhere(installation: Installation, client: Client, limit: str) -> None:
    """O22: on the job, on the run, in the events; distinct from cancelled and failed."""
    options, kind, policy = LIMITS[limit]
    job = client.start(installation.command("sleep 30", **policy), **options)
    ended = client.ended(job)
    run = client.run(job)
    last = client.events(job)[-1].body
    assert (ended["status"], ended["error_kind"], ended["time_limit"]) == ("failed", kind, limit)
    assert (run["status"], run["failureKind"], run["timeLimit"]) == ("failed", kind, limit)
    assert (last["status"], last["failureKind"], last["timeLimit"]) == ("failed", kind, limit)


def test_cancelled_failed_and_timed_out_are_three_things(installation: Installation, client: Client) -> None:
    """O22: a cancelled job and a failed one name no limit."""
    cancelled = client.start(installation.command("exec sleep 30"))
    client.running(cancelled)
    client.stop(cancelled)
    failed = client.start(installation.command("exit 1"))
    seen = [client.ended(job) for job in (cancelled, failed)]
    assert [(job["status"], job.get("error_kind"), job.get("time_limit")) for job in seen] == [
        ("cancelled", None, None),
        ("failed", "tool_error", None),
    ]
    until(lambda: client.job(cancelled)["end_reason"] == "cancelled_cooperatively", "the reason is told")
