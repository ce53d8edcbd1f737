"""IDEM: one key, one job."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.reliability.client import Client
from tests.reliability.conftest import Fresh
from tests.reliability.installation import Installation
from tests.reliability.waiting import until


def test_requests_that_race_with_one_key_make_one_job(installation: Installation, client: Client) -> None:
    """O23 on SQLite, where one process serves: fifty at once, one job, one execution, and no error."""
    tool = installation.command("echo x >> o23")
    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: client.post(tool, key="o23"), range(50)))
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.content for answer in answers}) == 1
    assert sum("idempotency-replayed" not in answer.headers for answer in answers) == 1
    assert client.ended(answers[0].json()["job_id"])["status"] == "done"
    assert installation.lines("o23") == ["x"]
    assert len(list(client.jobs(tool=tool))) == 1


@pytest.mark.parametrize("how", ["failed", "cancelled", "timeout"])
def test_a_key_stands_for_its_job_whatever_became_of_it(installation: Installation, client: Client, how: str) -> None:
    """O24: the first answer again, marked as a repetition; `rerun` is the way to a fresh run."""
    script = {"failed": "exit 3", "cancelled": "exec sleep 60", "timeout": "exec sleep 60"}[how]
    tool = installation.command(f"echo x >> o24-{how}; {script}")
    more: dict[str, Any] = {"timeout_seconds": 0.5} if how == "timeout" else {}
    first = client.post(tool, key=f"o24-{how}", **more)
    job = first.json()["job_id"]
    if how == "cancelled":
        client.running(job)
        client.stop(job)
    ended = client.ended(job)
    assert ended["status"] == ("cancelled" if how == "cancelled" else "failed")
    again = client.post(tool, key=f"o24-{how}", **more)
    assert (again.status_code, again.content) == (202, first.content)
    assert again.headers["idempotency-replayed"] == "true"
    assert again.headers["location"] == first.headers["location"]
    assert "idempotency-replayed" not in first.headers
    assert client.job(job) == ended
    anew = client.read("POST", f"/v1/runs/{job}/rerun", json={})
    assert anew["runId"] != client.run(job)["runId"]
    client.stop(anew["runId"])
    assert client.ended(anew["runId"])["status"] in ("cancelled", "failed")


def test_a_refused_duplicate_alters_nothing(fresh: Fresh) -> None:
    """O25: another payload is refused, and after a crash the first job goes on with its own arguments."""
    here = fresh()
    server, worker = here.start_server(), here.start_worker()
    client = here.client()
    first = here.command(
        ["sh", "-c", 'echo "$0" >> o25; exec sleep 1', "{text}"], inputs={"text": {}}, retryOnLost=True
    )
    other = here.command("echo other >> o25")
    job = client.start(first, {"text": "own"}, key="k")
    client.running(job)
    before = client.run(job)
    for tool, arguments in ((other, {}), (first, {"text": "foreign"})):
        refused = client.post(tool, arguments, key="k")
        assert (refused.status_code, refused.json()["code"]) == (422, "idempotency_key_reused")
    after = client.run(job)
    assert {name: after[name] for name in ("input", "resourceId", "executionProfileSnapshot")} == {
        name: before[name] for name in ("input", "resourceId", "executionProfileSnapshot")
    }
    server.kill()
    worker.kill()
    here.start_server()
    here.start_worker()
    assert client.ended(job)["status"] == "done"
    assert set(here.lines("o25")) == {"own"}
    assert len(list(client.jobs())) == 1


def _raw(client: Client, text: str, key: str) -> Any:
    headers = {"content-type": "application/json", "idempotency-key": key}
    return client.ask("POST", "/jobs", content=text.encode(), headers=headers)


def test_payloads_are_compared_as_values(client: Client) -> None:
    """O26: member order, whitespace and escapes do not matter; a default that is spelled out does, on every door."""
    one = _raw(client, r'{"tool":"echo","arguments":{"value":{"a":1,"b":"\u00e9"}}}', "o26")
    two = _raw(client, '{ "arguments": {"value": {"b": "é",\n "a": 1.0}}, "tool": "echo" }', "o26")
    assert (two.status_code, two.content) == (202, one.content)
    flat = _raw(client, '{"tool":"echo","value":{"a":1,"b":"é"}}', "o26")
    assert flat.content == one.content
    body = {"tool": "echo", "input": {"mode": "tool", "arguments": {"value": {"b": "é", "a": 1}}}}
    run = client.ask("POST", "/v1/runs", json=body, headers={"idempotency-key": "o26"})
    assert run.json()["jobId"] == one.json()["job_id"]
    spelled = {**json.loads('{"tool":"echo","arguments":{"value":{"a":1,"b":"é"}}}'), "priority": 0}
    refused = client.ask("POST", "/jobs", json=spelled, headers={"idempotency-key": "o26"})
    assert (refused.status_code, refused.json()["code"]) == (422, "idempotency_key_reused")


@pytest.mark.parametrize("key", ["", "k" * 256, "k" * 100_000, "\N{ROCKET}", "k\n", " k", "k k", "\x00"])
def test_a_key_that_is_none_is_refused(client: Client, key: str) -> None:
    """O27: nothing is trimmed and nothing is cut."""
    answer = client.post("quick", {"number": 1}, idempotency_key=key)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_idempotency_key")


def test_keys_are_compared_exactly(client: Client) -> None:
    """O27: keys that differ in case only, or in the last of 255 characters, are two keys."""
    keys = ["o", "O", "k" * 254 + "a", "k" * 254 + "b", "k" * 254]
    jobs = [client.start("quick", {"number": 1}, key=key) for key in keys]
    assert len(set(jobs)) == len(keys)
    assert [client.start("quick", {"number": 1}, idempotency_key=key) for key in keys] == jobs
    until(lambda: all(client.job(job)["status"] == "done" for job in jobs), "all are done")
