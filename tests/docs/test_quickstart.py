"""`make run`, without the part that makes the environment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

import pytest

from tests.architecture.checkout import ROOT

QUICKSTART = [sys.executable, str(ROOT / "scripts" / "quickstart.py")]
SUMMARY = "summary: 22 passed, 1 failed (tests/test_rates.py)"
ENDS_WITHIN_S = 60


@pytest.fixture
def surroundings(tmp_path: Path) -> Mapping[str, str]:
    return {**os.environ, "RINGBACK_DATA": str(tmp_path / "data")}


def _lines_until(output: IO[str], wanted: str) -> Iterator[str]:
    """The lines up to the one that holds `wanted`; the time limit of the test ends a wait for nothing."""
    for line in output:
        yield line
        if wanted in line:
            return
    pytest.fail(f"the output ended before {wanted!r}")


def _port_is_free(url: str) -> bool:
    probe = f"import socket; socket.create_connection(('127.0.0.1', {url.rpartition(':')[2]}), 5)"
    return subprocess.run([sys.executable, "-c", probe], capture_output=True, check=False).returncode != 0


def test_once_ends_with_zero_although_the_run_failed(surroundings: Mapping[str, str]) -> None:
    command = [*QUICKSTART, "--once"]
    ended = subprocess.run(
        command, env=surroundings, capture_output=True, text=True, timeout=ENDS_WITHIN_S, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "4 of 4 changed" in ended.stdout
    assert SUMMARY in ended.stdout
    assert "to paste" not in ended.stdout


def test_serves_until_ctrl_c_and_is_shared_by_a_second_one(surroundings: Mapping[str, str]) -> None:
    first = subprocess.Popen(QUICKSTART, env=surroundings, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert first.stdout is not None
    try:
        told = list(_lines_until(first.stdout, "ringback token"))
        assert any(SUMMARY in line for line in told)
        url = next(word.removesuffix("/jobs") for word in told[-1].split() if word.startswith("http"))

        second = subprocess.run(
            [*QUICKSTART, "--once"],
            env=surroundings,
            capture_output=True,
            text=True,
            timeout=ENDS_WITHIN_S,
            check=False,
        )
        assert second.returncode == 0, second.stdout + second.stderr
        assert f"using the server that runs here already: {url}" in second.stdout
        assert not _port_is_free(url)

        first.send_signal(signal.SIGINT)
        assert first.wait(ENDS_WITHIN_S) == 0
        assert _port_is_free(url)
    finally:
        first.terminate()
        first.wait(ENDS_WITHIN_S)
        first.stdout.close()


def test_a_server_that_cannot_start_is_told_in_its_own_words(surroundings: Mapping[str, str], tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "ringback.toml").write_text("[server]\nporrt = 1\n")
    ended = subprocess.run(
        QUICKSTART, env=surroundings, capture_output=True, text=True, timeout=ENDS_WITHIN_S, check=False
    )
    assert ended.returncode == 1
    assert "unknown key `porrt`" in ended.stderr
