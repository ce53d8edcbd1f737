"""The protocol of the client: retries, waits, pages and streams, all without a socket."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from ringback.client import (
    AlreadyAnsweredError,
    InvalidInputError,
    NotFoundError,
    ProjectRequiredError,
    ProtocolError,
    RetryPolicy,
    Ringback,
    StillRunningError,
    UnavailableError,
    UnreachableError,
)
from ringback.client.exchange import Answer, Link
from ringback.client.operations import wait
from ringback.client.requests import Output
from ringback.client.streams import events, output
from ringback.client.sync import Driver
from tests.client.scripted import END, ScriptedWire, event, job, lost, ok, problem, sse, stream

DONE = ok(job("done", summary="4 passed"))
RUNNING = ok(job("running"))
CUT = event(3)


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    pauses: list[float] = []
    monkeypatch.setattr("ringback.client.blocking.Driver", lambda wire: Driver(wire, pauses.append))
    return pauses


def client(wire: ScriptedWire, **more: Any) -> Ringback:
    retry = RetryPolicy(chance=lambda: 0.5, **more)
    return Ringback("http://127.0.0.1:1", token="t", project="p", retry=retry, wire=wire)


def test_start_carries_identity_arguments_and_a_key_of_its_own(slept: list[float]) -> None:
    wire = ScriptedWire(
        ok({"job_id": "job_1", "status": "queued"}, 202), ok({"job_id": "job_2", "status": "queued"}, 202)
    )
    rb = client(wire)
    assert rb.start("test", {"suite": "é"}, priority=3, tags=["a"], depends_on=[rb.job("job_0")]).id == "job_1"
    rb.start("test")
    first, second = wire.asked
    assert (first.method, first.path) == ("POST", "/jobs")
    assert first.headers["Authorization"] == "Bearer t"
    assert first.headers["Ringback-Project"] == "p"
    assert first.headers["Idempotency-Key"] != second.headers["Idempotency-Key"]
    assert json.loads(first.body or b"") == {
        "tool": "test",
        "arguments": {"suite": "é"},
        "depends_on": ["job_0"],
        "priority": 3,
        "tags": ["a"],
    }


def test_a_start_whose_answer_was_lost_is_repeated_with_the_same_key(slept: list[float]) -> None:
    replayed = ok({"job_id": "job_1", "status": "queued"}, 202, idempotency_replayed="true")
    wire = ScriptedWire(lost(), problem(503, "store_unavailable", retryable=True), replayed)
    started = client(wire).start("test")
    assert started.is_replay
    assert len({request.headers["Idempotency-Key"] for request in wire.asked}) == 1
    assert slept == [0.2 + 0.1, 0.4 + 0.2]


def test_waits_never_fall_below_what_the_server_asked_for(slept: list[float]) -> None:
    wire = ScriptedWire(problem(503, "shutting_down", retryable=True, retry_after=7), RUNNING)
    client(wire).job("job_1").status()
    assert slept == [7.0 + 0.1]


def test_a_request_that_may_have_arrived_is_not_repeated_when_that_could_double_it(slept: list[float]) -> None:
    wire = ScriptedWire(lost())
    with pytest.raises(UnreachableError):
        client(wire).pause("default")
    wire = ScriptedWire(lost(was_sent=False), ok({"paused": True}))
    assert client(wire).pause("default") == {"paused": True}


def test_patience_ends(slept: list[float]) -> None:
    with pytest.raises(UnreachableError, match="cut"):
        client(ScriptedWire(lost(), lost(), lost()), tries_max=3).job("job_1").status()
    with pytest.raises(UnavailableError) as caught:
        client(ScriptedWire(*[problem(503, "store_unavailable")] * 2), tries_max=2).job("job_1").status()
    assert caught.value.code == "store_unavailable"
    assert len(slept) == 3


def test_refusals_keep_their_facts(slept: list[float]) -> None:
    flaw = {"pointer": "/arguments/suite", "detail": "is not one of unit, all"}
    wire = ScriptedWire(problem(422, "invalid_input", requestId="req_1", errors=[flaw]))
    with pytest.raises(InvalidInputError, match="is not one of") as caught:
        client(wire).start("test", {"suite": "x"})
    assert caught.value.request_id == "req_1"
    assert [(one.pointer, one.detail) for one in caught.value.errors] == [
        ("/arguments/suite", "is not one of unit, all")
    ]
    assert wire.is_exhausted


@pytest.mark.parametrize("body", [b"<html>", b"[1]", b'{"status":1}'])
def test_an_answer_of_something_else_is_said_to_be_one(body: bytes, slept: list[float]) -> None:
    with pytest.raises(ProtocolError):
        client(ScriptedWire(Answer(200, {}, body))).job("job_1").status()
    with pytest.raises(NotFoundError):
        client(ScriptedWire(Answer(404, {"content-type": "application/json"}, body))).job("job_1").status()


def test_ids_cannot_leave_their_place_in_the_path(slept: list[float]) -> None:
    wire = ScriptedWire(RUNNING, RUNNING)
    client(wire).job("../tools?x=1").status()
    client(wire).job("..").status()
    assert [request.path for request in wire.asked] == ["/jobs/..%2Ftools%3Fx%3D1", "/jobs/-"]


def test_waiting_asks_the_server_to_hold_the_answer_back(slept: list[float]) -> None:
    wire = ScriptedWire(RUNNING, DONE)
    assert client(wire).job("job_1").wait().summary == "4 passed"
    assert wire.asked[0].headers["Prefer"] == "wait=25"
    assert slept == [0.5], "a server that does not wait is not asked in a tight loop"


def test_a_wait_that_is_over_says_so_and_leaves_the_job_alone(slept: list[float]) -> None:
    ticks: Iterator[int] = iter(range(0, 1000, 4))
    link = Link("http://h", clock=lambda: float(next(ticks)))
    wire = ScriptedWire(RUNNING, RUNNING, RUNNING)
    with pytest.raises(StillRunningError) as caught:
        Driver(wire).run(wait(link, "job_1", 10.0))
    assert isinstance(caught.value, TimeoutError)
    assert caught.value.status == "running"


def test_results_are_put_together_from_their_pages(slept: list[float]) -> None:
    pages = [job("done", items=[1, 2], complete=False, next_cursor="c"), job("done", items=[3], complete=True)]
    whole = client(ScriptedWire(*map(ok, pages))).job("job_1").result()
    assert (whole.items, whole.is_complete) == ((1, 2, 3), True)
    texts = [job("done", output="ab", complete=False, next_cursor="c"), job("done", output="c", complete=True)]
    assert client(ScriptedWire(*map(ok, texts))).job("job_1").result().output == "abc"
    last = job("done", result={"a": 1}, exit_code=0, complete=True)
    found = client(ScriptedWire(ok(texts[0]), ok(last))).job("job_1").result()
    assert (found.value, found.output, found.raw["output"]) == ({"a": 1}, "ab", "ab")
    wire = ScriptedWire(*map(ok, pages))
    assert [page.items for page in client(wire).job("job_1").pages(max_bytes=9)] == [(1, 2), (3,)]
    assert wire.asked[1].query == {"cursor": "c", "max_bytes": "9"}


def test_listing_goes_on_to_the_last_page_and_no_further_than_asked(slept: list[float]) -> None:
    page = [job(job_id=f"job_{number}") for number in range(100)]
    wire = ScriptedWire(ok({"jobs": page, "next_cursor": "n"}), ok({"jobs": page[:20]}))
    assert len(list(client(wire).jobs(status="running"))) == 120
    wire = ScriptedWire(ok({"jobs": page, "next_cursor": "n"}), ok({"jobs": page[:20], "next_cursor": "m"}))
    assert len(list(client(wire).jobs(limit=105))) == 105
    assert wire.asked[1].query == {"limit": "5", "cursor": "n"}


def followed(*script: Any, after: int = 0, **more: Any) -> tuple[list[int], ScriptedWire]:
    wire = ScriptedWire(*script)
    link = Link("http://h", retry=RetryPolicy(**more))
    driver = Driver(wire, lambda seconds: None)
    return [one.sequence for one in driver.iterate(events(link, "r1", after=after))], wire


def test_a_stream_that_breaks_goes_on_where_it_broke() -> None:
    seen, wire = followed(
        stream(sse(event(1), event(2))[:-5], lost()),
        lost(),
        stream(sse(event(2), CUT), b": still here\n\n"),
        stream(sse(CUT, END), b"never read"),
    )
    assert seen == [1, 2, 3, 4]
    assert [request.headers.get("Last-Event-ID") for request in wire.asked] == [None, "1", "1", "3"]
    assert wire.bodies[-1].is_closed


def test_an_event_that_was_left_out_is_asked_for_again() -> None:
    seen, wire = followed(stream(sse(event(1), event(3))), stream(sse(event(2), event(3), END)))
    assert seen == [1, 2, 3, 4]
    assert wire.asked[1].headers["Last-Event-ID"] == "1"


def test_a_stream_may_arrive_in_any_pieces() -> None:
    whole = sse(event(1), event(2), CUT, END).replace(b"\n", b"\r\n")
    seen, _ = followed(stream(*[whole[at : at + 1] for at in range(len(whole))]))
    assert seen == [1, 2, 3, 4]


def test_nothing_new_on_a_finished_run_ends_the_stream() -> None:
    seen, wire = followed(stream(), ok({"status": "succeeded", "eventSequence": 4}), after=4)
    assert seen == []
    assert wire.is_exhausted


def test_a_stream_that_never_brings_anything_is_given_up() -> None:
    alive = ok({"status": "running", "eventSequence": 4})
    with pytest.raises(UnreachableError, match="ended before the run did"):
        followed(stream(), alive, stream(), alive, after=4, tries_max=2)


def test_leaving_a_stream_closes_it() -> None:
    wire = ScriptedWire(stream(sse(event(1), event(2))))
    steps = Driver(wire).iterate(events(Link("http://h"), "r1"))
    next(steps)
    steps.close()
    assert wire.bodies[0].is_closed


def test_output_goes_on_at_the_byte_where_it_broke() -> None:
    wire = ScriptedWire(stream(b"abc", lost()), stream(b"\xff", b"e"))
    link = Link("http://h")
    driver = Driver(wire, lambda seconds: None)
    assert b"".join(driver.iterate(output(link, "r1", Output("stdout")))) == b"abc\xffe"
    assert wire.asked[1].query == {"stream": "stdout", "offset": "3"}


def test_readable_output_that_breaks_is_not_begun_twice() -> None:
    driver = Driver(ScriptedWire(stream(lost()), stream(b"abc", lost())), lambda seconds: None)
    with pytest.raises(UnreachableError):
        list(driver.iterate(output(Link("http://h"), "r1", Output(is_text=True))))


ASKED = {
    "interactionId": "int_1",
    "jobId": "job_1",
    "kind": "input",
    "status": "open",
    "blocking": False,
    "prompt": {"title": "Which?"},
    "options": [{"id": "a"}],
    "expiresAt": "2027-01-01T00:00:00Z",
}


def test_questions_are_read_and_answered_with_what_was_given(slept: list[float]) -> None:
    wire = ScriptedWire(ok({"items": [ASKED]}), ok(ASKED), ok({**ASKED, "status": "answered"}), ok(ASKED), ok(ASKED))
    rb = client(wire)
    (asked,) = rb.job("job_1").interactions(status="open")
    assert (asked.title, asked.is_open, asked.is_blocking, asked.options) == ("Which?", True, False, ({"id": "a"},))
    assert asked.expires_at is not None
    assert rb.interaction("int_1") == asked
    assert not rb.answer("int_1", option="a").is_open
    rb.answer("int_1", "reject")
    rb.answer("int_1", payload=None)
    assert [request.path for request in wire.asked[:2]] == ["/v1/runs/job_1/interactions", "/v1/interactions/int_1"]
    assert {request.path for request in wire.asked[2:]} == {"/v1/interactions/int_1/respond"}
    bodies = [json.loads(request.body or b"") for request in wire.asked[2:]]
    assert bodies == [{"selectedOptionId": "a"}, {"decision": "reject"}, {"payload": None}]


def test_a_second_answer_is_told_of_the_first(slept: list[float]) -> None:
    first = {"decision": "approve", "submittedBy": "ann"}
    wire = ScriptedWire(problem(409, "already_answered", interactionStatus="answered", response=first))
    with pytest.raises(AlreadyAnsweredError) as caught:
        client(wire).answer("int_1", "reject")
    assert caught.value.problem["response"] == first


def test_a_test_of_a_script_outlasts_the_servers_patience_in_the_only_project(slept: list[float]) -> None:
    """202 is no end: the run is waited for and read, all in the project that was found."""
    there = ok({"items": [{"slug": "web"}]})
    going = ok({"run_id": "r1", "request_id": "q", "status": "queued"}, 202)
    ended = ok({"id": "r1", "status": "succeeded", "output": 1})
    wire = ScriptedWire(there, going, DONE, ended)
    assert Ringback("http://127.0.0.1:1", token="t", wire=wire).scripts.test("greet")["output"] == 1
    assert [request.path for request in wire.asked] == [
        "/v1/projects",
        "/api/projects/web/scripts/greet/test-run",
        "/jobs/r1",
        "/api/projects/web/async-runs/r1",
    ]
    assert wire.asked[2].headers["Ringback-Project"] == "web"


def test_scripts_of_one_project_among_several_need_its_name(slept: list[float]) -> None:
    wire = ScriptedWire(ok({"items": [{"slug": "a"}, {"slug": "b"}]}))
    with pytest.raises(ProjectRequiredError, match="--project"):
        Ringback("http://127.0.0.1:1", token="t", wire=wire).scripts.list()
