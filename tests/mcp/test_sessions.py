"""Sessions of the older era over HTTP: one that the server does not know is not found, and no job depends on one."""

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


async def test_a_stale_session_is_not_found_and_the_job_is(door: Door) -> None:
    look: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    stale = {**ACCEPT, "mcp-session-id": "0" * 32, "mcp-protocol-version": "2025-11-25"}
    assert (await door.client.post("/mcp", json=look, headers=stale)).status_code == 404
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": CLIENT}
    first = await door.client.post("/mcp", json=hello, headers=ACCEPT)
    assert first.status_code == 200
    assert (await door.client.post("/mcp", json=look, headers=stale)).status_code == 404


@pytest.mark.parametrize("given", ["", "Bearer", "Basic eDp5", "Bearer rbp_unknown"])
async def test_a_credential_that_is_none_is_refused(door: Door, given: str) -> None:
    headers = {**ACCEPT, "authorization": given}
    answer = await door.client.post("/mcp?token=rbp_" + "o" * 43, json={}, headers=headers)
    assert answer.status_code == 401


@pytest.mark.parametrize("odd", [{"host": "evil.example"}, {"origin": "https://evil.example"}])
async def test_another_sites_page_is_refused(door: Door, odd: dict[str, str]) -> None:
    answer = await door.client.post("/mcp", json={}, headers={**ACCEPT, **odd})
    assert answer.status_code == 403
