"""Replay: what users see, rebuilt from events and input, is byte for byte what the rows say."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from ringback.domain.decide import create, decide
from ringback.domain.events import EVENT_TYPES, StoredEvent, event_id_of
from ringback.domain.ids import RunId
from ringback.domain.moments import MINUTE
from ringback.domain.replay import StreamDigest, canonical, digest_of, project, projection_of
from ringback.domain.runs import (
    Append,
    AttemptOutcome,
    Cancel,
    Command,
    Decision,
    EndedAttempt,
    NewEvent,
    NoteChild,
    Run,
    Start,
    Tick,
)
from tests.builders import NOON, claim, lose, policy, queued, run_id, settle, stored

INPUT = {"mode": "tool", "arguments": {"target": "auth", "größe": 2512292042121000001}}
FAILED, STOPPED = AttemptOutcome.FAILED, AttemptOutcome.STOPPED


def out(stream: str, data: bytes, offset: int = 0) -> NewEvent:
    return NewEvent("output.chunk", {"stream": stream, "offset": offset}, data)


def dropped(stream: str, count: int) -> NewEvent:
    return NewEvent("output.dropped", {"stream": stream, "offset": 0, "bytes": count})


@dataclass
class Story:
    """A run, its rows and its events, as a store would keep them."""

    run: Run
    events: list[StoredEvent] = field(default_factory=list)
    attempts: list[EndedAttempt] = field(default_factory=list)

    def keep(self, decision: Decision) -> None:
        self.events += stored(decision.events, after=len(self.events))
        self.run = replace(decision.run, event_sequence=len(self.events))
        if decision.ended is not None:
            self.attempts.append(decision.ended)


def told(*commands: Command, now: int = NOON, **changes: Any) -> Story:
    """What is kept of a new run after `commands`."""
    born = queued(event_sequence=0, ready_at=None, **changes)
    story = Story(born)
    story.keep(create(born, {}, now=NOON))
    for command in commands:
        story.keep(decide(story.run, command, now=now))
    return story


def from_rows(story: Story, chunks: Sequence[NewEvent] = (), links: Sequence[tuple[str, RunId]] = ()) -> dict[str, Any]:
    output = {}
    for stream in ("stdout", "stderr"):
        mine = [chunk for chunk in chunks if chunk.body["stream"] == stream]
        lost = sum(chunk.body.get("bytes", 0) for chunk in mine)
        output[stream] = digest_of([chunk.data for chunk in mine if chunk.data is not None], dropped_bytes=lost)
    at = story.run.result_sequence
    return projection_of(
        story.run,
        INPUT,
        story.attempts,
        result=None if at is None else story.events[at - 1].body,
        output=output,
        links=links,
    )


def rebuilt(story: Story) -> dict[str, Any]:
    return project(INPUT, story.events)


STORIES = {
    "queued": told(),
    "claimed": told(claim()),
    "running": told(claim(), Start(1), Append(1, (), {"done": 1, "total": 3, "message": "é"})),
    "succeeded": told(claim(), Start(1), settle(result={"exitCode": 0, "result": None}, summary="3 passed")),
    "failed": told(claim(), Start(1), settle(FAILED, result={"exitCode": 2}, error="exit 2", summary="1 failed")),
    "failed before it started": told(claim(), settle(FAILED, error="no such program")),
    "retrying": told(claim(), Start(1), settle(FAILED, error="exit 1"), policy=policy(attempts=2)),
    "lost before it started": told(claim(), lose()),
    "lost": told(claim(), Start(1), lose()),
    "lost, and tried again": told(
        *(claim(1), Start(1), lose(1), claim(2), Start(2), settle(fence=2, result={"exitCode": 0})),
        policy=policy(is_idempotent=True, delay=0),
    ),
    "failed, then lost for good": told(
        *(claim(1), Start(1), settle(FAILED, result={"exitCode": 1}), claim(2), Start(2), lose(2)),
        policy=policy(attempts=2, delay=0),
    ),
    "failed, then stopped between attempts": told(
        *(claim(1), Start(1), settle(FAILED, result={"exitCode": 1}), Cancel("u1", "enough")),
        policy=policy(attempts=2),
    ),
    "stopped before it started": told(claim(), Cancel(by="u1")),
    "being stopped": told(claim(), Start(1), Cancel(), Append(1, (), cancel_delivered=True)),
    "stopped": told(
        *(claim(), Start(1), Cancel(reason="enough"), Append(1, (), cancel_acknowledged=True)),
        settle(STOPPED, result={"signal": 15}),
    ),
    "given up": told(claim(), Start(1), Tick(), now=NOON + MINUTE * 9, deadline_at=NOON),
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES.keys())
def test_events_and_rows_tell_the_same(story: Story) -> None:
    assert canonical(rebuilt(story)) == canonical(from_rows(story))
    assert {event.type for event in story.events} <= EVENT_TYPES


def test_the_result_is_that_of_the_end_alone() -> None:
    assert rebuilt(STORIES["succeeded"])["result"] == {"exitCode": 0, "result": None}
    assert rebuilt(STORIES["lost, and tried again"])["result"] == {"exitCode": 0}
    for name in ("retrying", "failed, then lost for good", "failed, then stopped between attempts"):
        assert "result" not in rebuilt(STORIES[name])


def test_what_a_finished_run_shows() -> None:
    chunks = [out("stdout", b"col"), out("stderr", b"\xff\0"), out("stdout", b"lected\n", 3), dropped("stdout", 70)]
    children = [NoteChild(1, run_id(9), "tool_subrun"), NoteChild(1, run_id(9), "delegation")]
    story = told(
        claim(),
        Start(1),
        Append(1, (chunks[0], chunks[1])),
        *children,
        Append(1, tuple(chunks[2:]), {"done": 3}),
        settle(FAILED, result={"exitCode": 2}, error="exit 2", summary="1 failed"),
    )
    shown = rebuilt(story)
    assert shown == {
        "input": INPUT,
        "status": "failed",
        "failureKind": "tool_error",
        "error": "exit 2",
        "summary": "1 failed",
        "progress": {"done": 3},
        "result": {"exitCode": 2},
        "attempts": [{"attemptId": "a1", "attemptNo": 1, "reason": "first", "outcome": "failed", "error": "exit 2"}],
        "output": {
            "stdout": {"bytes": 10, "sha256": hashlib.sha256(b"collected\n").hexdigest(), "dropped": 70},
            "stderr": {"bytes": 2, "sha256": hashlib.sha256(b"\xff\0").hexdigest()},
        },
        "links": [
            {"relationType": "delegation", "toRunId": run_id(9)},
            {"relationType": "tool_subrun", "toRunId": run_id(9)},
        ],
    }
    links = [("tool_subrun", run_id(9)), ("delegation", run_id(9))]
    assert canonical(shown) == canonical(from_rows(story, chunks, links))


def test_evidence_of_a_stop_is_shown() -> None:
    assert rebuilt(STORIES["stopped"])["cancellation"] == {"reason": "enough", "delivered": True, "acknowledged": True}
    assert rebuilt(STORIES["being stopped"])["cancellation"] == {"delivered": True, "acknowledged": False}
    before = rebuilt(STORIES["stopped before it started"])
    assert before["cancellation"] == {"by": "u1", "delivered": False, "acknowledged": False}
    assert before["endReason"] == "cancelled_before_start"


def test_the_limit_of_time_is_shown() -> None:
    assert rebuilt(STORIES["given up"])["timeLimit"] == "deadline"


def test_an_event_that_comes_twice_counts_once() -> None:
    story = told(claim(), Start(1), Append(1, (out("stdout", b"x"), dropped("stdout", 1))), settle())
    twice = [*story.events[:4], *story.events[1:], *story.events[-2:]]
    assert project(INPUT, twice) == rebuilt(story)


def test_a_missing_event_is_noticed() -> None:
    events = STORIES["succeeded"].events
    with pytest.raises(ValueError, match="event 2 is missing before 3"):
        project(INPUT, [events[0], *events[2:]])
    with pytest.raises(ValueError, match="event 1 is missing before 2"):
        project(INPUT, events[1:])


def test_events_of_other_kinds_show_nothing_here() -> None:
    story = told(claim(), Start(1), Append(1, (NewEvent("artifact.updated", {"items": [1]}),)))
    assert rebuilt(story) == rebuilt(told(claim(), Start(1)))


def test_a_chunk_without_bytes_and_stray_evidence_are_nothing() -> None:
    strays = (NewEvent("output.chunk", {"stream": "stdout", "offset": 0}), NewEvent("cancel.delivered", {}))
    assert rebuilt(told(claim(), Start(1), Append(1, strays))) == rebuilt(told(claim(), Start(1)))


def test_where_output_was_cut_makes_no_difference() -> None:
    whole = digest_of([b"abcdef"])
    assert whole == digest_of([b"abc", b"", b"def"])
    assert whole == StreamDigest(byte_count=6, sha256=hashlib.sha256(b"abcdef").hexdigest())


def test_there_is_one_text_of_a_projection() -> None:
    assert canonical({"b": [1, "é"], "a": {"y": None, "x": 0.5}}) == '{"a":{"x":0.5,"y":null},"b":[1,"é"]}'.encode()
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical({"a": float("nan")})


def test_an_event_id_names_run_and_sequence() -> None:
    (event,) = stored([NewEvent("tool_result", {})], after=6)
    assert event.event_id == event_id_of(run_id(), 7) == f"{run_id()}:7"
