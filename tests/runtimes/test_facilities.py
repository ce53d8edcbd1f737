"""A counter that many runs of a real worker share: none of them gets lost, whoever counts at the same time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reliability.installation import Installation

RUNS = 12


@pytest.mark.timeout(240)
def test_no_count_is_lost(tmp_path: Path) -> None:
    with Installation(tmp_path) as here:
        here.start_server()
        worker = here.start_worker(app="tests.worker.facility_tools:app", slots=4)
        client = here.client()
        jobs = [client.start("count") for _ in range(RUNS)]
        assert {client.ended(job)["status"] for job in jobs} == {"done"}
        assert sorted(client.result(job)["result"] for job in jobs) == list(range(1, RUNS + 1))
        refused = client.start("goes_on")
        assert client.ended(refused)["status"] == "done", "a child that can't be started costs its parent nothing"
        assert client.result(refused)["items"] == ["no such tool: 'nix' (not_found)"]
        worker.kill()
        here.start_worker(app="tests.worker.facility_tools:app")
        job = client.start("count")
        client.ended(job)
        assert client.result(job)["result"] == RUNS + 1
