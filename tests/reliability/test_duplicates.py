"""DUP: nothing runs twice that must not, and who was superseded changes nothing."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from tests.reliability.client import Client, Json
from tests.reliability.conftest import Fresh
from tests.reliability.installation import FUNCTIONS, LEASE_S, attached_times
from tests.reliability.lossy import LossyRelay
from tests.reliability.processes import running
from tests.reliability.scale import times
from tests.reliability.waiting import holds_for, until


def test_a_job_that_waits_for_its_time_is_claimed_once(fresh: Fresh) -> None:
    """O04: the wait is longer than several leases, and a waiting job holds no lease."""
    here = fresh()
    here.start_server()
    for _ in range(3):
        here.start_worker()
    client = here.client()
    wait_s = times(4, 20)
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + wait_s + 1))
    job = client.start(here.command("echo run >> t1"), not_before=at)
    assert client.job(job)["waiting_for"]["kind"] == "not_before"
    ended = client.ended(job)
    assert (ended["status"], ended["attempts"], here.lines("t1")) == ("done", 1, ["run"])
    assert ended["started_at"] >= at.replace("Z", ".000000Z")


@pytest.mark.parametrize("tool", ["spin", "hold"])
def test_work_that_hogs_its_interpreter_keeps_its_lease(fresh: Fresh, tool: str) -> None:
    """O05: heartbeats come from outside the job's interpreter."""
    here = fresh()
    here.start_server()
    for _ in range(2):
        here.start_worker(app=FUNCTIONS, slots=2)
    client = here.client()
    seconds = times(2, 4) * LEASE_S
    job = client.start(tool, {"seconds": seconds, "file": str(here.work / "begun")})
    ended = client.ended(job)
    assert (ended["status"], ended["attempts"], here.lines("begun")) == ("done", 1, ["begun"])


def test_a_superseded_attempt_changes_nothing(fresh: Fresh) -> None:
    """O06: a worker wakes up long after its lease; its writes are refused and it kills its own processes."""
    here = fresh()
    here.start_server()
    asleep = here.start_worker(slots=1)
    client = here.client()
    script = "echo begun $RINGBACK_ATTEMPT_NO; if [ $RINGBACK_ATTEMPT_NO = 1 ]; then exec sleep 8.25; fi; echo ok"
    job = client.start(here.command(script, retryOnLost=True, retry={"attemptsMax": 2, "delayS": 0}))
    child = client.start(here.command("echo downstream >> down"), depends_on=[job])
    until(lambda: b"begun 1" in client.output(job), "the first attempt writes")
    asleep.suspend()
    here.start_worker(slots=1)
    ended = client.ended(job)
    assert (ended["status"], ended["attempts"]) == ("done", 2)
    client.ended(child)
    before = client.events(job), client.run(job)["version"], client.output(job)
    assert running("sleep 8.25")
    asleep.resume()
    until(lambda: not running("sleep 8.25"), "the superseded attempt is killed", within_s=7)
    until(lambda: attached_times(asleep) == 2, "the worker is back")
    assert (client.events(job), client.run(job)["version"], client.output(job)) == before
    assert [each["outcome"] for each in client.attempts(job)] == ["lost", "succeeded"]
    assert (client.ended(child)["status"], here.lines("down")) == ("done", ["downstream"])
    assert client.replay(job)


def test_who_shows_an_old_fence_is_refused(fresh: Fresh) -> None:
    """O06, with a worker that does write: while the next attempt runs, and after it."""
    here = fresh()
    here.start_server()
    client = here.client()
    script = f"until [ -e {here.work / 'gate'} ]; do sleep 0.05; done; echo ok"
    job = client.start(here.command(script, retryOnLost=True, retry={"attemptsMax": 2, "delayS": 0}))
    run_id = client.run(job)["runId"]
    first = _attached(client)
    claim = client.read("POST", f"/v1/workers/{first}/claim", json={"slots": 1, "waitMs": 10_000})["claims"][0]
    assert (claim["runId"], claim["fence"]) == (run_id, 1)
    client.read("POST", f"/v1/workers/{first}/report", json={"reports": [{**_of(claim), "kind": "start"}]})
    here.start_worker()
    until(
        lambda: client.run(job)["status"] == "running" and client.job(job)["attempts"] == 2, "the second attempt runs"
    )
    for _ in range(2):
        assert client.ask("POST", f"/v1/workers/{first}/heartbeat", json={"held": [_of(claim)]}).status_code == 410
        assert client.ask("POST", f"/v1/workers/{first}/report", json={"reports": _reports(claim)}).status_code == 410
        before = client.run(job)["version"], client.events(job)
        again = client.read("POST", f"/v1/workers/{_attached(client)}/report", json={"reports": _reports(claim)})
        assert [result["code"] for result in again["results"]] == ["stale_fence"] * 4
        assert (client.run(job)["version"], client.events(job)) == before
        (here.work / "gate").touch()
        assert client.ended(job)["status"] == "done"
    assert client.output(job) == b"ok\n"
    attempts = client.attempts(job)
    assert [each["outcome"] for each in attempts] == ["lost", "succeeded"]
    assert attempts[0]["lateOutcome"]["outcome"] == "succeeded", "kept as evidence, and no more"
    assert len(list(client.jobs())) == 1
    assert client.replay(job)


def _attached(client: Client) -> str:
    hello = {"name": "x", "incarnation": "i", "protocolVersion": 1, "slots": 1, "offers": ["default/command"]}
    return str(client.read("POST", "/v1/workers/attach", json=hello)["sessionId"])


def _of(claim: Json) -> Json:
    return {"runId": claim["runId"], "fence": claim["fence"]}


def _reports(claim: Json) -> list[Json]:
    chunk = {"type": "output.chunk", "stream": "stdout", "offset": 0, "data": "Zm9yZ2Vk"}
    told: list[Json] = [
        {"kind": "start"},
        {"kind": "events", "events": [chunk]},
        {"kind": "child", "requestId": "r", "tool": claim["tool"], "arguments": {}},
        {"kind": "settle", "outcome": "succeeded", "result": "forged"},
    ]
    return [{**_of(claim), **each} for each in told]


def test_a_lost_answer_doubles_nothing(fresh: Fresh) -> None:
    """O07: the worker says again what the server knows already, again and again: starts, output, pages, ends."""
    here = fresh(lease_s=30.0)
    here.start_server()
    client = here.client()
    with LossyRelay(here.settings.port, b"/report") as relay:
        here.start_worker(slots=1, url=relay.url, app=FUNCTIONS)
        lines = "".join(f"line {number}\n" for number in range(20))
        printed = client.start(
            here.command("i=0; while [ $i -lt 20 ]; do echo line $i; i=$((i+1)); sleep 0.06; done; echo x >> o07")
        )
        assert client.ended(printed)["status"] == "done"
        paged = client.start("pages", {"count": 20, "pause_s": 0.05})
        assert client.ended(paged)["status"] == "done"
        assert relay.lost >= 5
    assert client.output(printed) == lines.encode()
    assert client.result(paged)["items"] == list(range(20))
    assert (client.job(printed)["attempts"], client.job(paged)["attempts"], here.lines("o07")) == (1, 1, ["x"])
    assert client.replay(printed)
    assert client.replay(paged)


def test_recovery_touches_only_what_was_begun_before_it(fresh: Fresh) -> None:
    """O07: a client starts jobs all the while the server is restarted; each accepted one runs as often as is recorded."""
    here = fresh()
    server = here.start_server()
    here.start_worker(slots=4)
    tool = here.command("echo $RINGBACK_RUN_ID >> t3", retryOnLost=True)
    client = here.client()
    accepted: dict[str, str] = {}
    is_over = threading.Event()

    def start_all_the_while() -> None:
        number = 0
        while not is_over.is_set():
            number += 1
            try:
                accepted[f"k{number}"] = client.start(tool, key=f"k{number}")
            except httpx2.TransportError:
                is_over.wait(0.02)

    starter = threading.Thread(target=start_all_the_while)
    starter.start()
    try:
        for _ in range(times(3, 10)):
            enough = len(accepted) + 5
            until(lambda: len(accepted) >= enough, "jobs are accepted")  # noqa: B023 - called at once
            server.kill()
            server = here.start_server()
    finally:
        is_over.set()
        starter.join()
    for job in accepted.values():
        assert client.ended(job)["status"] == "done"
    written = here.lines("t3")
    for job in accepted.values():
        attempts = client.attempts(job)
        began = [each for each in attempts if "startedAt" in each]
        assert 1 <= written.count(client.run(job)["runId"]) <= len(began), attempts
        assert [each["outcome"] for each in attempts[:-1]] == ["lost"] * (len(attempts) - 1)


def test_sweeps_at_the_same_time_count_a_loss_once(fresh: Fresh) -> None:
    """O08: several sweeps look at the same lost attempts; on SQLite they are the sweeper, a heartbeat and a detach."""
    here = fresh()
    here.start_server()
    doomed = here.start_worker(slots=50)
    client = here.client()
    tool = here.command("exec sleep 60.5", retryOnLost=True, retry={"attemptsMax": 3, "delayS": 600})
    jobs = [client.start(tool) for _ in range(times(20, 50))]
    for job in jobs:
        client.running(job)
    doomed.kill()
    with ThreadPoolExecutor(4) as pool:
        for _ in range(12):  # each of these sweeps at its end
            session = client.read("POST", "/v1/workers/attach", json=_hello())["sessionId"]
            list(pool.map(lambda path: client.ask("POST", path, json={}), [f"/v1/workers/{session}/detach"] * 4))
    for job in jobs:
        until(lambda: client.job(job)["attempts"] == 1 and client.run(job)["status"] == "retrying", "it is lost")  # noqa: B023
    holds_for(1.0, lambda: all(client.job(job)["attempts"] == 1 for job in jobs), "an attempt was counted twice")
    for job in jobs:
        assert [event.body["outcome"] for event in client.events(job) if event.type == "attempt.ended"] == ["lost"]
    assert "deadlock" not in here.log() and "locked" not in here.log()


def _hello() -> dict[str, object]:
    return {"name": "x", "incarnation": "i", "protocolVersion": 1, "slots": 1, "offers": []}
