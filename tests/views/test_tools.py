"""Resources, changes of tools, workers, queues."""

from __future__ import annotations

from typing import Any

import pytest

from ringback.services.resources import ResourceChange
from ringback.views.tools import change, queue, worker
from tests.builders import NOON, session


def changed(before: dict[str, Any] | None, after: dict[str, Any], word: str = "changed") -> dict[str, Any]:
    previous = None if before is None else "r1"
    return change(
        ResourceChange(
            type="tool",
            name="t",
            change=word,
            revision_id="r2",
            previous_revision_id=previous,
            previous=before,
            definition=after,
        )
    )


@pytest.mark.parametrize(
    ("before", "after", "diff"),
    [
        ({"a": 1}, {"a": 2}, {"/a": {"from": 1, "to": 2}}),
        ({"a": 1}, {"a": True}, {"/a": {"from": 1, "to": True}}),
        ({"a": 1}, {}, {"/a": {"from": 1}}),
        ({}, {"a": None}, {"/a": {"to": None}}),
        ({"a": {"b/c": [1], "same": 1}}, {"a": {"b/c": [2], "same": 1}}, {"/a/b~1c": {"from": [1], "to": [2]}}),
        ({"a": {"b": 1}}, {"a": [1]}, {"/a": {"from": {"b": 1}, "to": [1]}}),
    ],
)
def test_a_difference_names_each_place(before: dict[str, Any], after: dict[str, Any], diff: dict[str, Any]) -> None:
    body = changed(before, after)
    assert (body["diff"], body["previousRevisionId"]) == (diff, "r1")


def test_new_and_unchanged_tools_have_no_difference() -> None:
    assert changed(None, {"a": 1}, "added") == {
        "resourceType": "tool",
        "name": "t",
        "change": "added",
        "revisionId": "r2",
    }
    assert "diff" not in changed({"a": 1}, {"a": 1}, "unchanged")


def test_a_worker_that_left() -> None:
    assert worker(session(), (), 2)["status"] == "attached"
    assert worker(session(ended_at=NOON, end_reason="detached"), (), 0)["status"] == "detached"


def test_a_pause_says_since_when_and_by_whom() -> None:
    assert queue("p", None, 1, 2) == {"pool": "p", "paused": False, "waiting": 1, "held": 2}
    paused = queue("p", {"since": NOON, "paused_by": "me"}, 0, 0)
    assert (paused["pausedSince"], paused["pausedBy"]) == ("2026-01-01T12:00:00.000000Z", "me")
    assert "pausedBy" not in queue("p", {"since": NOON, "paused_by": None}, 0, 0)
