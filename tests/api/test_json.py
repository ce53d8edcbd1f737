"""JSON and text at the edge: O33 to O35."""

from __future__ import annotations

import json

from tests.api.door import Door

BIG = 2512292042121000001


async def test_nul_characters_come_back_in_output_and_result(door: Door) -> None:
    """O33: what the work brings is kept, and the run ends."""
    run_id = await door.start()
    await (await door.worker()).finish(b"a\0b", result={"x": "a\0b"}, summary="nul \0 here")
    shown = await door.run(run_id)
    assert (shown["status"], shown["summary"]) == ("succeeded", "nul \ufffd here")
    assert (await door.client.get(f"/v1/runs/{run_id}/output")).content == b"a\0b"
    page = await door.get(f"/jobs/{run_id}/result")
    assert (page["output"], page["result"]) == ("ab", {"x": "a\0b"})
    (chunk,) = await door.events(run_id, "?types=output.chunk")
    assert chunk.body["event"]["data"] == "a\0b"


NUL = [
    ("/jobs", '{"tool":"echo","arguments":{"a":"\\u0000"}}', "/arguments/a"),
    ("/jobs", '{"tool":"echo","x\\u0000":1}', ""),
    ("/jobs", '{"tool":"echo","tags":["\\u0000"]}', "/tags/0"),
    ("/jobs", '{"tool":"echo","thread_id":"\\u0000"}', "/thread_id"),
    ("/v1/runs", '{"tool":"echo","threadId":"\\u0000"}', "/threadId"),
    (
        "/v1/runs",
        '{"tool":"echo","input":{"mode":"tool","callerContext":{"a":["\\u0000"]}}}',
        "/input/callerContext/a/0",
    ),
]


async def test_nul_characters_of_callers_are_refused(door: Door) -> None:
    """O33: with the place where they stand."""
    for path, body, pointer in NUL:
        answer = await door.client.post(path, content=body)
        assert answer.status_code == 422, answer.text
        assert [flaw["pointer"] for flaw in answer.json()["errors"]] == [pointer]


async def test_nul_characters_elsewhere(door: Door) -> None:
    """O33: names, reasons and filters."""
    answer = await door.client.post("/jobs", content='{"tool":"a\\u0000"}')
    assert answer.status_code == 404
    run_id = await door.start()
    for request in (
        door.client.delete(f"/jobs/{run_id}?reason=%00"),
        door.client.post(f"/v1/runs/{run_id}/cancel", content='{"reason":"\\u0000"}'),
    ):
        refused = await request
        assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/reason")
    assert (await door.run(run_id))["status"] == "queued"
    for path in ("/jobs?tool=%00", "/v1/runs?tool=%00"):
        assert [] in (await door.get(path)).values()


SURROGATES = [
    b'{"tool":"echo","arguments":{"\\ud800":1}}',
    b'{"tool":"echo","arguments":{"a":"x\\ud83d"}}',
    b'{"tool":"x\\ud83d"}',
    b'{"tool":"echo","tags":["\\udc00"]}',
    b'{"tool":"echo","arguments":{"a":"\xed\xa0\x80"}}',
]


async def test_unpaired_surrogates_are_refused_and_the_connection_survives(door: Door) -> None:
    """O34: in names and values, escaped and raw."""
    for body in SURROGATES:
        for method, path in (("POST", "/jobs"), ("POST", "/v1/runs"), ("PUT", "/v1/tools")):
            answer = await door.client.request(method, path, content=body)
            assert answer.status_code in (400, 422), answer.text
    assert (await door.get("/jobs"))["jobs"] == []


async def test_paired_surrogates_are_text(door: Door) -> None:
    answer = await door.client.post("/jobs", content=b'{"tool":"echo","arguments":{"a":"\\ud83d\\ude00"}}')
    assert (await door.run(answer.json()["job_id"]))["input"]["arguments"] == {"a": "\N{GRINNING FACE}"}


async def test_big_integers_are_carried_unchanged(door: Door) -> None:
    """O35: through arguments, result, pages and events, beyond what a double or 64 bits hold."""
    numbers = {"id": BIG, "bigger": 10**40, "list": [-BIG, 2**63, 2**64]}
    answer = await door.client.post("/jobs", content=json.dumps({"tool": "echo", "arguments": numbers}))
    job_id = answer.json()["job_id"]
    worker = await door.worker()
    claim = await worker.begin()
    assert claim["arguments"] == numbers
    await worker.report(claim, {"kind": "events", "events": [{"type": "page", "items": [BIG]}]})
    await worker.settle(claim, result=numbers)
    page = await door.get(f"/jobs/{job_id}/result")
    assert (page["result"], page["items"]) == (numbers, [BIG])
    assert (await door.run(job_id))["input"]["arguments"] == numbers


async def test_ids_and_cursors_are_strings(door: Door) -> None:
    """O35: whatever ends in Id, _id or cursor, in every answer."""
    run_id = await door.start(threadId="th")
    await (await door.worker()).finish(b"x\n" * 50)
    await door.start()
    paths = ("", "/events?limit=1", "/attempts", "/links", "/tree", "/replay", "/result?maxBytes=9")
    answers = [await door.get(f"/v1/runs/{run_id}{path}") for path in paths]
    answers += [
        await door.get(path) for path in ("/v1/runs?limit=1", "/jobs?limit=1", f"/jobs/{run_id}", "/v1/workers")
    ]
    answers += [
        await door.get(path) for path in ("/v1/events?limit=1", f"/jobs/{run_id}/result?max_bytes=9", "/v1/tools")
    ]
    found = [pair for answer in answers for pair in _identifiers(answer)]
    assert len({name for name, _ in found}) > 12
    assert [(name, value) for name, value in found if not isinstance(value, str)] == []


def _identifiers(value: object) -> list[tuple[str, object]]:
    if isinstance(value, list):
        return [pair for item in value for pair in _identifiers(item)]
    if not isinstance(value, dict):
        return []
    own = [(n, v) for n, v in value.items() if n.lower().endswith(("id", "cursor", "after")) and n != "id"]
    return own + [pair for item in value.values() for pair in _identifiers(item)]
