"""Events in their envelope and in frames."""

from __future__ import annotations

import json

from ringback.domain.runs import NewEvent
from ringback.views.events import envelope, frame, position_frame
from tests.builders import stored


def test_output_is_text_or_base64_and_loses_nothing() -> None:
    chunks = [b"plain\n", "grün\0".encode(), b"\xff\xfe"]
    events = stored([NewEvent("output.chunk", {"stream": "stdout"}, data) for data in chunks])
    inner = [envelope(event, None)["event"] for event in events]
    assert [(each["encoding"], each["data"]) for each in inner] == [
        ("utf-8", "plain\n"),
        ("utf-8", "grün\0"),
        ("base64", "//4="),
    ]


def test_a_change_of_status_names_the_status() -> None:
    (event,) = stored([NewEvent("run.status.changed", {"from": "queued", "to": "submitted"})])
    body = envelope(event, "th")
    assert (body["threadId"], body["sequence"], body["runId"]) == ("th", 1, event.run_id)
    inner = body["event"]
    assert (inner["status"], inner["from"], "to" in inner) == ("submitted", "queued", False)
    assert inner["eventId"] == f"{event.run_id}:1"


def test_a_frame_is_one_line_of_data_whatever_the_text_holds() -> None:
    (event,) = stored([NewEvent("output.chunk", {"stream": "stdout"}, "a\nb\r\n\u2028data: x\n\n".encode())])
    lines = frame(envelope(event, None), 1).decode().split("\n")
    assert (lines[0], lines[2:]) == ("id: 1", ["", ""])
    assert "\r" not in lines[1]
    assert json.loads(lines[1].removeprefix("data: "))["event"]["data"].endswith("data: x\n\n")
    assert position_frame("abc") == b"id: abc\n\n"
