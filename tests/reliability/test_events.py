"""EVT: streams of events end with the end, and can be taken up anywhere."""

import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.reliability.client import Client, Event
from tests.reliability.conftest import Fresh
from tests.reliability.installation import Installation
from tests.reliability.scale import times
from tests.reliability.waiting import until

CLOSES_WITHIN_S = 5.0


def _read_to_the_end(client: Client, job: str, delay_s: float) -> tuple[list[Event], float]:
    """All events of a stream that is opened a moment later, and how long it stayed open behind the last one."""
    began = time.monotonic()
    until(lambda: time.monotonic() - began >= delay_s, "a moment")
    events, last_at = [], time.monotonic()
    with client.stream(job) as stream:
        for event in stream:
            events.append(event)
            last_at = time.monotonic()
    return events, time.monotonic() - last_at


def test_a_stream_ends_with_the_end_whenever_it_was_opened(installation: Installation, client: Client) -> None:
    """O36: before, during or after the end of the job; one terminal event, the last, and then it closes."""
    chance = random.Random(36)
    tool = installation.command(["true"])
    delays = [chance.uniform(0, 0.2) for _ in range(times(120, 500))]
    jobs = []
    with ThreadPoolExecutor(8) as pool:
        reading = []
        for delay_s in delays:
            jobs.append(client.start(tool))
            reading.append(pool.submit(_read_to_the_end, client, jobs[-1], delay_s))
        read = [each.result() for each in reading]
    for events, open_s in [*read, *(_read_to_the_end(client, job, 0) for job in jobs[:20])]:
        assert [event.is_final for event in events] == [False] * (len(events) - 1) + [True]
        assert [event.sequence for event in events] == list(range(1, len(events) + 1))
        assert open_s < CLOSES_WITHIN_S


def test_a_position_may_be_read_from_again_and_again(installation: Installation, client: Client) -> None:
    """O37: cut after the headers, three times; the fourth time it is read on."""
    job = client.start(installation.command("echo a; sleep 0.3; echo b >&2; sleep 0.3; echo c"))
    client.ended(job)
    total = client.run(job)["eventSequence"]
    assert total >= 9
    for _ in range(3):
        with client.stream(job, last_event_id="5") as events:
            assert next(events).sequence == 6
    with client.stream(job, last_event_id="5") as events:
        assert [event.sequence for event in events] == list(range(6, total + 1))


POSITIONS = ["999999", "-1", "abc", "", "9" * 10_000, "5.5", "0x5", "٣", "01a2291d-0000-7000-8000-000000000000:3"]


@pytest.mark.parametrize("position", POSITIONS, ids=lambda text: text[:10])
@pytest.mark.parametrize("is_stream", [True, False], ids=["stream", "page"])
def test_a_position_that_is_none_is_refused(client: Client, position: str, is_stream: bool) -> None:
    """O38: a 400 that says which positions there are; no hang, no silent gap."""
    job = client.start("quick", {"number": 1})
    client.ended(job)
    headers = {"accept": "text/event-stream"} if is_stream else {}
    answers = [client.ask("GET", f"/v1/runs/{job}/events", headers=headers, params={"after": position})]
    if position.isascii():
        answers.append(client.ask("GET", f"/v1/runs/{job}/events", headers={**headers, "last-event-id": position}))
    for answer in answers:
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_cursor")


def test_a_position_of_another_job_is_refused(client: Client) -> None:
    """O38: event ids name their run."""
    one, other = (client.start("quick", {"number": number}) for number in range(2))
    for job in (one, other):
        client.ended(job)
    foreign = client.events(other)[1].body["eventId"]
    own = client.events(one)[1].body["eventId"]
    refused = client.ask("GET", f"/v1/runs/{one}/events", headers={"last-event-id": foreign})
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_cursor")
    with client.stream(one, last_event_id=own) as events:
        assert next(events).sequence == 3


def test_a_job_that_was_removed_is_no_job(fresh: Fresh) -> None:
    """O38 and O48: what retention has removed is as unknown as what never was, as a stream and as an upstream job."""
    here = fresh()
    server = here.start_server()
    here.start_worker()
    client = here.client()
    tool = here.command("true")
    job = client.start(tool)
    client.ended(job)
    server.end()
    _age_everything(here)
    here.start_server()
    until(lambda: client.ask("GET", f"/jobs/{job}").status_code == 404, "it is removed")
    never = "job_" + "0" * 26
    for name in (job, never):
        answer = client.ask("GET", f"/v1/runs/{name}/events", headers={"last-event-id": "2"})
        assert answer.status_code == 404
    refusals = [client.post(tool, depends_on=[name]) for name in (job, never)]
    assert [answer.status_code for answer in refusals] == [422, 422]
    assert refusals[0].json()["errors"] == refusals[1].json()["errors"]


def _age_everything(here: Installation) -> None:
    """Move the end of every run to long ago."""
    from ringback.store.connection import Connection

    ledger = Connection(Path(here.settings.places.database))
    ledger.run("UPDATE runs SET ended_at = 1, created_at = 0, started_at = 1 WHERE ended_at IS NOT NULL")
    ledger.close()


def test_a_filter_is_the_same_on_every_connection(installation: Installation, client: Client) -> None:
    """O39: cut and taken up at three points, the parts make the whole; ids are the same with and without a filter."""
    job = client.start(installation.command("for n in 1 2 3 4; do echo $n; sleep 0.25; done"))
    types = "output.chunk,run.status.changed"
    with client.stream(job, types=types) as events:
        whole = list(events)
    assert len([event for event in whole if event.type == "output.chunk"]) >= 3
    every = {event.sequence: event.body["eventId"] for event in client.events(job)}
    assert all(every[event.sequence] == event.body["eventId"] for event in whole)
    joined: list[Event] = []
    for count in (1, 2, 3, None):
        position = joined[-1].body["eventId"] if joined else None
        with client.stream(job, last_event_id=position, types=types) as events:
            joined += list(events) if count is None else [next(events) for _ in range(count)]
    assert joined == whole
    assert client.events(job, types=types) == whole


BROKEN: dict[str, tuple[str | list[str], dict[str, Any], str]] = {
    "no such program": (["no-such-program-here"], {}, "no-such-program-here"),
    "no such folder": ("true", {"cwd": "no/such/folder"}, "no/such/folder"),
    "no secret": ("true", {"secrets": ["RINGBACK_NO_SUCH_SECRET"]}, "RINGBACK_NO_SUCH_SECRET"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_never_began_ends_its_stream(installation: Installation, client: Client, name: str) -> None:
    """O40: a failed event with the reason, then the stream closes."""
    command, policy, word = BROKEN[name]
    job = client.start(installation.command(command, **policy))
    events, open_s = _read_to_the_end(client, job, 0)
    assert events[-1].body["status"] == "failed"
    assert word in events[-1].body["error"]
    assert open_s < CLOSES_WITHIN_S
    assert client.job(job)["error_kind"] == "tool_error"
