"""JSON: odd characters and large numbers, from the border to the ledger and back."""

from typing import Any

import pytest

from tests.reliability.client import Client
from tests.reliability.installation import Installation
from tests.reliability.waiting import until


def test_a_nul_in_output_and_result_is_kept(installation: Installation, client: Client) -> None:
    """O33 on SQLite: what the work says comes back equal, and the state is final."""
    printed = client.start(installation.command(["printf", "a\\0b"]))
    assert client.ended(printed)["status"] == "done"
    assert client.output(printed) == b"a\0b"
    returned = client.start("odd", {"kind": "nul"})
    assert client.ended(returned)["status"] == "done"
    assert client.result(returned)["result"] == {"x": "a\0b"}
    assert client.replay(printed)
    assert client.replay(returned)


ODD_INPUTS: list[dict[str, Any]] = [
    {"arguments": {"value": "a\0b"}},
    {"arguments": {"value": {"a\0b": 1}}},
    {"arguments": {"value": 1}, "tags": ["a\0b"]},
    {"arguments": {"value": 1}, "thread_id": "a\0b"},
    {"tool": "ec\0ho"},
]


@pytest.mark.parametrize("body", ODD_INPUTS, ids=str)
def test_a_nul_in_the_input_is_refused(client: Client, body: dict[str, Any]) -> None:
    """O33: with a 4xx that says where."""
    answer = client.ask("POST", "/jobs", json={"tool": "echo", **body})
    assert 400 <= answer.status_code < 500
    assert answer.headers["content-type"] == "application/problem+json"


SURROGATES = [
    rb'{"tool":"echo","arguments":{"value":{"\ud800":1}}}',
    rb'{"tool":"echo","arguments":{"value":"x\ud83d"}}',
    rb'{"tool":"echo\ud83d","arguments":{}}',
    rb'{"tool":"echo","arguments":{"value":1},"idempotency_key":"k\udfff"}',
    b'{"tool":"echo","arguments":{"value":"\xed\xa0\x80"}}',
]


@pytest.mark.parametrize("body", SURROGATES)
def test_half_a_character_is_refused_and_the_connection_lives(client: Client, body: bytes) -> None:
    """O34 over HTTP."""
    answer = client.ask("POST", "/jobs", content=body, headers={"content-type": "application/json"})
    assert 400 <= answer.status_code < 500, answer.text
    assert client.ask("GET", "/v1/tools").status_code == 200
    job = client.start("odd", {"kind": "surrogate"})
    until(lambda: client.job(job)["status"] in ("done", "failed"), "it ends")
    client.ask("GET", f"/jobs/{job}/result").content.decode("utf-8")


LARGE = 2512292042121000001


def test_numbers_keep_their_digits_and_ids_are_text(client: Client) -> None:
    """O35"""
    for number in (LARGE, LARGE**3, -LARGE):
        job = client.start("echo", {"value": number})
        client.ended(job)
        assert client.result(job)["result"] == number
        assert client.run(job)["input"]["arguments"] == {"value": number}
    documents = [client.job(job), client.run(job), client.result(job), *client.attempts(job)]
    documents += [client.read("GET", "/jobs", params={"limit": 1}), client.read("GET", f"/v1/runs/{job}/events")]
    found = [(name, value) for document in documents for name, value in _members(document)]
    ids = [(name, value) for name, value in found if name.lower().endswith(("id", "cursor", "after"))]
    assert len(ids) > 10
    assert [(name, value) for name, value in ids if not isinstance(value, str)] == []


def _members(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [pair for name, item in value.items() for pair in ((name, item), *_members(item))]
    return [pair for item in value for pair in _members(item)] if isinstance(value, list) else []
