"""What a run wrote, as pages of a result, as bytes and as text: O31, O32, O74."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.door import Door, chunk_event

LINES = b"".join(b"%d\n" % n for n in range(1, 40_001)) + b"FAIL\n"
CHUNKS = [LINES[at : at + 60_000] for at in range(0, len(LINES), 60_000)]


async def written(door: Door, *chunks: bytes, **ending: Any) -> str:
    run_id = await door.start()
    await (await door.worker()).finish(*chunks, **({"exitCode": 0} | ending))
    return run_id


async def test_a_long_result_shows_its_end_and_how_to_get_the_rest(door: Door) -> None:
    """O31: a bounded answer with the last lines, the exit code, how much there is, and a cursor that gets every line."""
    run_id = await written(door, *CHUNKS, outcome="failed", exitCode=2)
    page = await door.get(f"/jobs/{run_id}/result")
    assert len(page["output"]) <= 65_536
    assert page["complete"] is False
    assert page["ending"]["exit_code"] == 2
    assert page["ending"]["bytes"] == len(LINES)
    assert page["ending"]["tail"].endswith("39999\n40000\nFAIL\n")
    assert len(page["ending"]["tail"]) <= 2_048
    text = page["output"]
    while "next_cursor" in page:
        page = await door.get(f"/jobs/{run_id}/result?cursor={page['next_cursor']}")
        assert page["output"].startswith(str(text.count("\n") + 1)), "a page begins with a whole line"
        assert "ending" not in page
        text += page["output"]
    assert text.encode() == LINES
    assert (page["complete"], page["exit_code"]) == (True, 2)
    run = await door.get(f"/v1/runs/{run_id}/result?maxBytes=100")
    assert (len(run["output"]) <= 100, run["ending"]["exitCode"]) == (True, 2)


async def test_pages_of_any_size_give_back_every_character(door: Door) -> None:
    """O31: no page cuts a character or loses a byte, wherever the chunks were cut."""
    text = "aé\n€𝄞 grün\n\n" * 3 + "kein Ende €"
    raw = text.encode()
    run_id = await written(door, *(raw[at : at + 4] for at in range(0, len(raw), 4)))
    for size in (1, 2, 3, 4, 5, 8, 13, 1000):
        page = await door.get(f"/v1/runs/{run_id}/result?maxBytes={size}")
        found = page["output"]
        while "nextCursor" in page:
            page = await door.get(f"/v1/runs/{run_id}/result?maxBytes={size}&cursor={page['nextCursor']}")
            found += page["output"]
        assert found == text, size


async def test_a_result_in_progress_can_be_read(door: Door) -> None:
    run_id, worker = await door.start(), await door.worker()
    claim = await worker.begin()
    await worker.write(claim, b"one\n")
    refused = await door.client.get(f"/jobs/{run_id}/result")
    assert (refused.status_code, refused.json()["code"]) == (409, "not_finished")
    page = await door.get(f"/jobs/{run_id}/result?partial=true")
    assert (page["status"], page["output"], page["complete"]) == ("running", "one\n", False)
    await worker.write(claim, b"two\n")
    page = await door.get(f"/jobs/{run_id}/result?partial=true&cursor={page['next_cursor']}")
    assert page["output"] == "two\n"
    await door.client.delete(f"/jobs/{run_id}")
    await worker.settle(claim, "stopped")
    refused = await door.client.get(f"/jobs/{run_id}/result")
    assert (refused.status_code, refused.json()["code"]) == (409, "job_cancelled")
    page = await door.get(f"/jobs/{run_id}/result?partial=1")
    assert (page["status"], page["output"]) == ("cancelled", "one\ntwo\n")


async def test_the_readable_view_shows_the_last_state_of_each_line(door: Door) -> None:
    """O32: ten thousand updates are a few bytes of text; the raw bytes are all there."""
    updates = b"".join(b"\r\x1b[32m %d%%|###" % (n // 100) for n in range(10_000))
    raw = updates + b"\r\x1b[0mall\n" + b"done\n"
    run_id = await written(door, *(raw[at : at + 60_000] for at in range(0, len(raw), 60_000)))
    text = await door.client.get(f"/v1/runs/{run_id}/output?text=1")
    assert text.headers["content-type"] == "text/plain; charset=utf-8"
    assert text.text == "all\ndone\n"
    assert (await door.client.get(f"/v1/runs/{run_id}/output")).content == raw


async def test_the_readable_view_keeps_streams_apart_and_marks_what_was_dropped(door: Door) -> None:
    run_id, worker = await door.start(), await door.worker()
    claim = await worker.begin()
    dropped = {"type": "output.dropped", "stream": "stdout", "offset": 5, "bytes": 99}
    events = [chunk_event(b"a-"), chunk_event(b"err\n", "stderr"), chunk_event(b"b\xff\ntail"), dropped]
    await worker.report(claim, {"kind": "events", "events": events})
    await worker.settle(claim)
    path = f"/v1/runs/{run_id}/output"
    text = (await door.client.get(f"{path}?text=1")).text
    assert text == "err\na-b\ufffd\ntail\n[99 bytes of stdout were not kept]\n"
    assert (await door.client.get(f"{path}?stream=stderr")).content == b"err\n"
    raw = await door.client.get(f"{path}?stream=stdout")
    assert (raw.content, raw.headers["ringback-dropped-bytes"]) == (b"a-b\xff\ntail", "99")
    assert (await door.get(f"/jobs/{run_id}/result"))["output_dropped_bytes"] == 99
    assert (await door.client.get(f"{path}?stream=stdin")).status_code == 422


RANGES = [
    ("bytes=0-4", 206, slice(0, 5)),
    ("bytes=70000-70009", 206, slice(70_000, 70_010)),
    ("bytes=59990-60010", 206, slice(59_990, 60_011)),
    ("bytes=-6", 206, slice(-6, None)),
    ("bytes=100-", 206, slice(100, None)),
    ("bytes=0-99999999", 206, slice(0, None)),
    ("bytes=5-4", 200, slice(0, None)),
    ("bytes=0-1,5-6", 200, slice(0, None)),
    ("lines=0-4", 200, slice(0, None)),
    ("nonsense", 200, slice(0, None)),
]


async def test_ranges(door: Door) -> None:
    run_id = await written(door, *CHUNKS)
    path = f"/v1/runs/{run_id}/output"
    for header, status, part in RANGES:
        answer = await door.client.get(path, headers={"range": header})
        assert (answer.status_code, answer.content) == (status, LINES[part]), header
        assert answer.headers["content-length"] == str(len(answer.content))
        if status == 206:
            first = part.indices(len(LINES))[0]
            last = first + len(answer.content) - 1
            assert answer.headers["content-range"] == f"bytes {first}-{last}/{len(LINES)}"
    for header in (f"bytes={len(LINES)}-", "bytes=-0"):
        answer = await door.client.get(path, headers={"range": header})
        assert (answer.status_code, answer.headers["content-range"]) == (416, f"bytes */{len(LINES)}")
    etag = (await door.client.get(path)).headers["etag"]
    for if_range, status in ((etag, 206), ('"other"', 200)):
        answer = await door.client.get(path, headers={"range": "bytes=0-0", "if-range": if_range})
        assert answer.status_code == status


async def test_offsets_and_last_lines(door: Door) -> None:
    run_id = await written(door, *CHUNKS)
    path = f"/v1/runs/{run_id}/output"
    assert (await door.client.get(f"{path}?offset=100")).content == LINES[100:]
    assert (await door.client.get(f"{path}?offset={len(LINES)}")).content == b""
    assert (await door.client.get(f"{path}?offset={len(LINES) + 1}")).status_code == 416
    assert (await door.client.get(f"{path}?tail=1")).content == b"FAIL\n"
    assert (await door.client.get(f"{path}?tail=3&text=1")).text == "39999\n40000\nFAIL\n"
    assert (await door.client.get(f"{path}?tail=15000")).content.splitlines() == LINES.splitlines()[-15_000:]
    assert (await door.client.get(f"{path}?tail=100000")).content == LINES
    assert (await door.client.get(f"{path}?tail=0")).status_code == 422


async def test_output_without_line_ends_and_without_anything(door: Door) -> None:
    path = f"/v1/runs/{await written(door, b'no end')}/output"
    assert (await door.client.get(f"{path}?tail=1")).content == b"no end"
    nothing = f"/v1/runs/{await written(door)}/output"
    for query in ("", "?text=1", "?tail=5"):
        answer = await door.client.get(nothing + query)
        assert (answer.status_code, answer.content) == (200, b"")


async def test_names_and_keys_of_callers_make_no_header_and_no_log_line(
    door: Door, caplog: pytest.LogCaptureFixture
) -> None:
    """O74: a thread, tag, reason or key with line breaks; the download's name is made of tool and id alone."""
    evil = "ok\r\nX-Evil: 1\n2026-01-01 ERROR root login"
    caplog.set_level("DEBUG")
    body = {"tool": "echo", "thread_id": evil, "tags": [evil, "größe"], "arguments": {"name": evil}}
    started = await door.client.post("/jobs", json=body)
    run_id = started.json()["job_id"]
    refused = await door.client.post("/jobs", json={"tool": "echo", "idempotency_key": evil})
    assert refused.status_code == 400
    await (await door.worker()).finish(b"x")
    download = await door.client.get(f"/v1/runs/{run_id}/output")
    missing = await door.client.get(f"/jobs/{'x%0d%0aX-Evil: 1'}")
    shown = await door.client.get(f"/jobs/{run_id}")
    for answer in (started, refused, download, missing, shown):
        assert "x-evil" not in answer.headers
        assert answer.status_code < 500
    name = (await door.run(run_id))["runId"]
    assert download.headers["content-disposition"] == f'attachment; filename="echo-{name}.both.log"'
    assert shown.json()["tags"] == [evil, "größe"]
    access = [record for record in caplog.records if record.name == "ringback.access"]
    assert access
    assert [record for record in access if not str(vars(record)).isprintable()] == []
