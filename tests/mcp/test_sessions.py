"""Sessions of the older era over HTTP: one that the server does not know is not found, and no job depends on one."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.door import Door
from tests.mcp.lines import CLIENT
from tests.mcp.serving import serving

ACCEPT = {"accept": "application/json, text/event-stream"}


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with serving(tmp_path) as one:
        yield one


async def _session(door: Door) -> dict[str, str]:
    """A new session; the headers of its requests."""
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": CLIENT}
    answer = await door.client.post("/mcp", json=hello, headers=ACCEPT)
    assert answer.status_code == 200
    return {**ACCEPT, "mcp-session-id": answer.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}


async def _call(door: Door, session: dict[str, str], tool: str, **arguments: Any) -> Any:
    """The structure in the answer to a call."""
    body = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    answer = await door.client.post("/mcp", json=body, headers=session)
    (data,) = [line[6:] for line in answer.text.splitlines() if line.startswith("data: {")]
    return json.loads(data)["result"]["structuredContent"]


async def test_a_stale_session_is_not_found_and_the_job_is(door: Door) -> None:
    look: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    stale = {**ACCEPT, "mcp-session-id": "0" * 32, "mcp-protocol-version": "2025-11-25"}
    assert (await door.client.post("/mcp", json=look, headers=stale)).status_code == 404
    first, second = await _session(door), await _session(door)
    assert first["mcp-session-id"] != second["mcp-session-id"]
    job = await door.client.post("/jobs", json={"tool": "greet", "name": "Ann"})
    assert job.status_code == 202, job.text
    job_id = job.json()["job_id"]
    seen = [await _call(door, session, "get_job_status", job_id=job_id) for session in (first, second)]
    assert [each["job_id"] for each in seen] == [job_id, job_id]
    assert (await door.client.delete("/mcp", headers=first)).status_code == 200
    assert (await door.client.post("/mcp", json=look, headers=first)).status_code == 404
    assert (await _call(door, second, "get_job_status", job_id=job_id))["job_id"] == job_id


@pytest.mark.parametrize("given", ["", "Bearer", "Basic eDp5", "Bearer rbp_unknown"])
async def test_a_credential_that_is_none_is_refused(door: Door, given: str) -> None:
    headers = {**ACCEPT, "authorization": given}
    answer = await door.client.post("/mcp?token=rbp_" + "o" * 43, json={}, headers=headers)
    assert answer.status_code == 401


@pytest.mark.parametrize("odd", [{"host": "evil.example"}, {"origin": "https://evil.example"}])
async def test_another_sites_page_is_refused(door: Door, odd: dict[str, str]) -> None:
    answer = await door.client.post("/mcp", json={}, headers={**ACCEPT, **odd})
    assert answer.status_code == 403
