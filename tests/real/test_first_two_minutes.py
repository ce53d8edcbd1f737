"""`docs/first-two-minutes.md`, typed as it stands: its outputs are what the page shows, and they keep what its sentences say."""

import os
import re
import shutil
import socket
import sys
from pathlib import Path

import pytest

from tests.cli.command import ringback
from tests.real.cache import ROOT
from tests.real.typed import Block, blocks_of, documents, shape, typed

PAGE = ROOT / "docs" / "first-two-minutes.md"
SHOWN_AT = "/home/user/ringback"
PORT = "7878"
AT_ONCE_S = 1.0
BLOCKS = blocks_of(PAGE.read_text(encoding="utf-8"))
# The one output that the page does not show, because it has two right answers.
ASKED_AGAIN = 8


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The outputs of all blocks, typed in a checkout that holds the example alone, at a port that is free."""
    folder, port = tmp_path_factory.mktemp("checkout"), free_port()
    shutil.copytree(ROOT / "examples" / "quickstart", folder / "examples" / "quickstart")
    env = {name: value for name, value in os.environ.items() if not name.startswith("RINGBACK_")}
    env |= {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}", "RINGBACK_PORT": port}
    blocks = [Block(block.code.replace(f":{PORT}", f":{port}"), block.shown) for block in BLOCKS]
    try:
        return [text.replace(str(folder), SHOWN_AT) for text in typed(blocks, folder, env)]
    finally:  # where a block before the last one failed
        ringback(folder / ".ringback", "down", cwd=folder)


def test_the_outputs_are_those_that_the_page_shows(said: list[str]) -> None:
    shown = [(number, block.shown) for number, block in enumerate(BLOCKS) if block.shown is not None]
    assert [number for number in range(len(BLOCKS)) if number not in dict(shown)] == [ASKED_AGAIN]
    assert [(number, shape(said[number])) for number, _ in shown] == [(number, shape(text)) for number, text in shown]


def test_one_key_is_one_job(said: list[str]) -> None:
    first, again, other = (documents(text)[0] for text in said[1:4])
    assert first == again
    assert set(first) == {"job_id", "status"}
    assert "idempotency-replayed: true" in said[2]
    assert "idempotency-replayed" not in said[1]
    assert other["code"] == "idempotency_key_reused"
    assert documents(said[4])[0]["job_id"] == first["job_id"]


def test_a_question_is_answered_while_the_job_runs(said: list[str]) -> None:
    listed, check = documents(said[5])
    assert [(job["tool"], job["status"]) for job in listed["jobs"]] == [("countdown", "running")]
    answered = re.search(r"answered with 200 in ([\d.]+) s", said[5])
    assert answered is not None
    assert float(answered[1]) < AT_ONCE_S
    stopped = documents(said[7])[0]
    assert stopped["status"] == "running", "it ran all the time"
    assert check["finished_at"] < stopped["cancel_requested_at"]


def test_the_end_is_told_honestly(said: list[str]) -> None:
    (again,), (ended, no_result) = documents(said[ASKED_AGAIN]), documents(said[9])
    assert (again["status"], said[ASKED_AGAIN].split()[-1]) in {("running", "202"), ("cancelled", "200")}
    assert (ended["status"], ended["end_reason"]) == ("cancelled", "cancelled_cooperatively")
    assert no_result["code"] == "job_cancelled"
    assert documents(said[10])[0]["status"] == "done"


def test_the_pages_are_the_output(said: list[str]) -> None:
    first, last = (documents(text)[0] for text in said[11:13])
    assert (first["complete"], last["complete"]) == (False, True)
    assert first["output"] + last["output"] == first["ending"]["tail"] == "3\n2\n1\nlift-off\n"
    assert len(first["output"]) <= 5
