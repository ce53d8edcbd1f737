"""Servers and workers die at random; no acknowledged job is lost, none runs more often than its policy allows."""

import os
from pathlib import Path

import pytest

from tests.chaos.storm import storm
from tests.reliability.scale import times


@pytest.mark.timeout(3600)
def test_no_promise_is_broken_in_a_storm(tmp_path: Path) -> None:
    report = storm(tmp_path, seed=int(os.environ.get("RINGBACK_TEST_SEED", "1")), rounds=times(20, 200))
    print(report)
    assert report.flaws == []
    assert report.jobs >= report.rounds
