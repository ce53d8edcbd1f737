"""QUEUE: slots come back, budgets hold, retries spread, projects share."""

import asyncio
from pathlib import Path

from ringback.domain.moments import SECOND, micros
from ringback.domain.policy import RetryPolicy
from ringback.store.clock import SystemChance
from tests.reliability.client import Client
from tests.reliability.conftest import Fresh
from tests.reliability.installation import LEASE_S, Installation
from tests.reliability.scale import times
from tests.reliability.waiting import until


def test_a_dead_holder_frees_its_place(fresh: Fresh) -> None:
    """O49: the key's limit is one; its holder dies with its worker."""
    here = fresh()
    here.start_server()
    doomed = here.start_worker()
    client = here.client()
    holder = client.start(here.command("exec sleep 300", concurrencyKey="group"))
    client.running(holder)
    doomed.kill()
    here.start_worker()
    following = client.start(here.command("true", concurrencyKey="group"))
    assert client.job(following)["waiting_for"] == {"kind": "concurrency_key", "key": "group", "limit": 1, "held": 1}
    assert client.ended(following, within_s=LEASE_S + 15)["status"] == "done"
    assert client.job(holder)["error_kind"] == "lost"


KILL_THE_WORKER = "kill -9 $(ps -o ppid= -p $(ps -o ppid= -p $$)); sleep 30"


def test_a_job_that_kills_its_workers_comes_to_an_end(fresh: Fresh) -> None:
    """O50: lost attempts count; healthy jobs go on; a second such job stays stopped."""
    here = fresh()
    here.start_server()
    here.start_worker("healthy", pools=["default"])
    workers = [here.start_worker("doomed", pools=["poison"])]
    client = here.client()
    poison = here.command(KILL_THE_WORKER, pool="poison", retryOnLost=True, retry={"attemptsMax": 3, "delayS": 0})
    jobs = [client.start(poison) for _ in range(2)]
    healthy = [client.start(here.command("true")) for _ in range(10)]

    def revive() -> bool:
        if workers[-1].code is not None:
            workers.append(here.start_worker("doomed", pools=["poison"], slots=1))
        return bool(client.job(jobs[1])["attempts"]) and bool(client.run(jobs[1])["status"] == "retrying")

    until(revive, "the second job has lost its first attempt")
    assert client.stop(jobs[1])["status"] == "cancelled"

    def ended() -> bool:
        revive()
        return bool(client.job(jobs[0])["status"] == "failed")

    until(ended, "the first job has used up its attempts", within_s=60)
    first = client.job(jobs[0])
    assert (first["error_kind"], first["attempts"]) == ("attempts_exhausted", 3)
    assert [each["outcome"] for each in client.attempts(jobs[0])] == ["lost"] * 3
    assert [client.ended(job)["status"] for job in healthy] == ["done"] * 10
    stopped = client.job(jobs[1])
    assert (stopped["status"], stopped["attempts"]) == ("cancelled", 1)


def test_retries_spread_and_are_never_early(installation: Installation, client: Client) -> None:
    """O51: jobs that fail together come back over a window, none before its time."""
    wait_s = 2
    tool = installation.command("exit 1", retry={"attemptsMax": 2, "delayS": wait_s}, pool="second")
    jobs = [client.start(tool) for _ in range(times(60, 200))]
    for job in jobs:
        client.ended(job)
    waits = []
    for job in jobs:
        first, second = client.attempts(job)
        waits.append(_seconds_between(first["endedAt"], second["claimedAt"]))
    assert min(waits) >= wait_s
    asked = [event.body for event in client.events(jobs[0]) if event.body.get("status") == "retrying"]
    assert asked[0]["reason"] == "retry"
    policy = RetryPolicy(delay=wait_s * SECOND)
    drawn = sorted(policy.wait_after(1, draw=SystemChance().draw()) for _ in jobs)
    assert drawn[-1] - drawn[0] > micros(wait_s * 0.25)
    assert max(waits) - min(waits) > wait_s * 0.25


def _seconds_between(earlier: str, later: str) -> float:
    from datetime import datetime

    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


def test_a_backlog_does_not_hold_up_another_project(fresh: Fresh) -> None:
    """O52: one project has many jobs waiting, another one's first job starts within seconds."""
    here = fresh()
    server = here.start_server()
    server.end()
    token = asyncio.run(_second_project(here))
    here.start_server()
    client = here.client()
    tool = here.command("sleep 0.3")
    backlog = times(150, 5000)
    first = [client.start(tool) for _ in range(backlog)]
    here.start_worker(slots=4)
    client.running(first[0])
    other = Client(here.url, token, project="other")
    try:
        other.apply({"name": "single", "runtime": "command", "profile": {"command": ["true"]}})
        job = other.start("single")
        assert other.ended(job, within_s=15)["status"] == "done"
        waiting = [each for each in client.jobs(limit=200) if each["status"] == "queued"]
        assert len(waiting) > backlog / 3
        assert other.ask("GET", f"/jobs/{first[0]}").status_code == 404
    finally:
        other.close()


async def _second_project(here: Installation) -> str:
    """Add a project to a ledger at rest; a token that is bound to it."""
    from ringback.core import Options, assemble
    from ringback.ports.store import Desk
    from ringback.services.access import SCOPES, new_token
    from ringback.store.clock import SystemClock, UuidIds
    from ringback.store.local_notify import LocalNotify
    from ringback.store.sqlite import SqliteStore

    clock, notify = SystemClock(), LocalNotify()
    store = SqliteStore(Path(here.settings.places.database), clock=clock, notify=notify)
    await store.open()
    pepper = (here.data / "token.key").read_text(encoding="ascii").strip().encode()
    parts = {"store": store, "clock": clock, "notify": notify, "ids": UuidIds(), "chance": SystemChance()}
    core = assemble(**parts, pepper=pepper, options=Options())  # type: ignore[arg-type]
    values = {"project_id": "other", "org_id": "local", "slug": "other", "name": "other", "created_at": clock.now()}

    def add(desk: Desk) -> None:
        desk.write("insert_project", values)

    await store.commit(add)
    token = new_token()
    await core.access.remember(token, owner="somebody", scopes=SCOPES, project_id="other")  # type: ignore[arg-type]
    await store.aclose()
    return token
