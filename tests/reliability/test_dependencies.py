"""DEP: jobs that wait for others."""

from typing import Any

import pytest

from tests.reliability.client import Client
from tests.reliability.installation import Installation

UNKNOWN = ["job_" + "0" * 26, "01a2291d-0000-7000-8000-000000000000", "nonsense", "", "../jobs"]


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_unknown_upstream_job_is_refused(installation: Installation, client: Client, name: str) -> None:
    """O48, and O45: a job can name only jobs that exist before it, so no ring of any length can be closed; what would be
    needed for one (an id of a job that is yet to come) is unknown."""
    tool = installation.command("true")
    answer = client.post(tool, depends_on=[name])
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_dependency")
    assert answer.json()["errors"] == [{"pointer": "/depends_on/0", "detail": "no such run"}]
    assert list(client.jobs(tool=tool)) == []


def test_a_job_cannot_wait_for_itself(installation: Installation, client: Client) -> None:
    """O45: with its own key, before and after; nothing but the first request is stored, and other jobs run."""
    tool = installation.command("true")
    assert client.post(tool, key="o45", depends_on=["o45"]).status_code == 422
    job = client.start(tool, key="o45")
    answer = client.post(tool, key="o45", depends_on=[job])
    assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_key_reused")
    assert client.ask("PATCH", f"/jobs/{job}", json={"depends_on": [job]}).status_code == 405
    assert client.ended(job)["status"] == "done"
    assert client.job(job).get("depends_on") is None
    assert len(list(client.jobs(tool=tool))) == 1


@pytest.mark.parametrize("how", ["failed", "cancelled", "timeout"])
def test_a_chain_ends_with_its_beginning(installation: Installation, client: Client, how: str) -> None:
    """O46: whatever keeps the first from succeeding ends the others at once, naming it, without an attempt."""
    script = {"failed": "sleep 2; exit 1", "cancelled": "exec sleep 60", "timeout": "exec sleep 60"}[how]
    limits: dict[str, Any] = {"timeout_seconds": 0.5} if how == "timeout" else {}
    first = client.start(installation.command(script), **limits)
    follower = installation.command(f"touch o46-{how}")
    second = client.start(follower, depends_on=[first])
    third = client.start(follower, depends_on=[second])
    assert client.job(third)["waiting_for"]["kind"] == "dependency"
    if how == "cancelled":
        client.stop(first)
    for job, upstream in ((second, first), (third, second)):
        ended = client.ended(job, within_s=10)
        assert (ended["status"], ended["error_kind"], ended["attempts"]) == ("failed", "dependency_failed", 0)
        assert client.run(upstream)["runId"] in ended["error_message"]
        assert client.events(job)[-1].body["failureKind"] == "dependency_failed"
    late = client.start(follower, depends_on=[third])
    assert client.ended(late)["error_kind"] == "dependency_failed"
    assert not (installation.work / f"o46-{how}").exists()


def test_what_waits_looks_at_the_job_and_not_at_an_attempt(installation: Installation, client: Client) -> None:
    """O47: the first attempt fails, the second succeeds, and then the follower starts."""
    script = 'test "$RINGBACK_ATTEMPT_NO" = 2'
    first = client.start(installation.command(script, retry={"attemptsMax": 2, "delayS": 1, "jitterS": 0}))
    second = client.start(installation.command("true"), depends_on=[first])
    ended = [client.ended(job) for job in (first, second)]
    assert [(job["status"], job["attempts"]) for job in ended] == [("done", 2), ("done", 1)]
    assert ended[1]["started_at"] >= ended[0]["finished_at"]


def test_an_upstream_job_that_is_named_twice_counts_once(installation: Installation, client: Client) -> None:
    """O48: in both spellings of its id."""
    first = client.start(installation.command("true"))
    run_id = client.run(first)["runId"]
    second = client.start(installation.command("true"), depends_on=[first, first, run_id])
    assert client.job(second)["depends_on"] == [first]
    assert client.ended(second)["status"] == "done"
