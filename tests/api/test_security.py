"""What callers write stays text, tokens stay secret, and strangers are answered with the same work: O68, O70, O71."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from ringback.ports.store import Row
from ringback.store.reads import SqlReads
from tests.api.callers import user
from tests.api.door import Door

PATHS = ["../../x", "..%2f..%2fetc%2fpasswd", "/etc/passwd", "a\\..\\b", "x\0.log", "n" * 300, "CON"]


async def test_no_text_of_a_caller_becomes_a_path(door: Door) -> None:
    """O71: names, keys, labels and ids that look like paths are refused or kept as text; the data folder holds the same files."""
    await door.start()
    before = {each.name for each in door.path.parent.iterdir()}
    statuses = []
    for text in PATHS:
        bodies: list[dict[str, Any]] = [
            {"tool": "echo", "thread_id": text, "tags": [text], "arguments": {"cwd": text, "artifact": text}},
            {"tool": "echo", "idempotency_key": text},
            {"tool": text},
        ]
        statuses += [(await door.client.post("/jobs", json=body)).status_code for body in bodies]
        for name, path in (("slug", "/v1/projects"), ("orgId", "/v1/orgs")):
            statuses.append((await door.client.post(path, json={name: text})).status_code)
    for text in ("../../x", "%2e%2e%2fx", "%2Fetc%2Fpasswd", "a%5C..%5Cb", "x%00.log", "n" * 300):
        for path in ("/jobs", "/v1/runs", "/v1/tools", "/v1/projects", "/v1/members"):
            statuses.append((await door.client.get(f"{path}/{text}")).status_code)
        statuses.append((await door.client.put(f"/v1/members/{text}", json={"role": "viewer"})).status_code)
    assert {status for status in statuses if status >= 500} == set()
    assert {each.name for each in door.path.parent.iterdir()} == before


async def test_a_token_stands_in_no_log_and_in_no_error(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    """O70: neither of a good token nor of a wrong one, whatever is asked with it."""
    caplog.set_level("DEBUG")
    made = (await door.client.post("/v1/tokens", json={"name": "t", "scopes": ["runs:read"]})).json()["token"]
    wrong = "rbp_" + "w" * 43
    texts = []
    for token in (made, wrong):
        headers = {"authorization": f"Bearer {token}"}
        for method, path in (
            ("GET", "/jobs"),
            ("POST", "/jobs"),
            ("GET", "/v1/runs/nix"),
            ("GET", f"/jobs?token={token}"),
        ):
            texts.append((await door.client.request(method, path, headers=headers, json={})).text)
    texts += [str(vars(record)) for record in caplog.records if record.name.startswith("ringback")]
    assert [text for text in texts if made in text or wrong in text] == []
    (ledger, *_) = [each.read_bytes() for each in door.path.parent.glob("ringback.db*")]
    assert made.encode() not in ledger


async def test_a_foreign_project_costs_no_more_work_than_none(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    """O68: both are decided from the same lookups in memory; the store is not asked."""
    headers = await user(door, "someone", {"default": "owner"})
    await door.client.get("/jobs", headers=headers)
    asked: list[str] = []
    fetch = SqlReads._fetch

    def counted(self: SqlReads, statement: str, values: Mapping[str, Any] | None = None) -> Sequence[Row]:
        asked.append(statement)
        return fetch(self, statement, values)

    monkeypatch.setattr(SqlReads, "_fetch", counted)
    for slug in ("other", "none"):
        answer = await door.client.get("/jobs/nix", headers={**headers, "ringback-project": slug})
        assert answer.status_code == 404
    assert asked == []
