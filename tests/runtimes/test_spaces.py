"""Run spaces of real workers: worktrees that live and die with their runs, and what kill -9 leaves for the next worker."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.reliability.client import Client
from tests.reliability.installation import Installation
from tests.reliability.waiting import until

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Installation]:
    with Installation(tmp_path) as installation:
        git(installation.work, "init", "-q", "-b", "main")
        (installation.work / "numbers").write_text("0\n")
        git(installation.work, "add", "numbers")
        git(installation.work, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m", "first")
        installation.start_server()
        yield installation


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=True)
    return done.stdout


def space_of(client: Client, job_id: str) -> dict[str, Any]:
    """The space that a run has for itself, once there is one."""
    run_id = client.run(job_id)["runId"]
    path = f"/v1/run-spaces?runId={run_id}"
    (found,) = until(lambda: client.read("GET", path)["items"], "there is a space")
    whole: dict[str, Any] = client.read("GET", f"/v1/run-spaces/{found['runSpaceId']}")
    return whole


def occupied(client: Client, job_id: str) -> dict[str, Any]:
    """The space of a run, once the run is in it."""
    until(lambda: space_of(client, job_id)["status"] == "occupied", "it is in its space")
    return space_of(client, job_id)


def test_runs_side_by_side_each_in_a_tree_of_its_own(here: Installation) -> None:
    here.start_worker()
    client = here.client()
    script = 'echo $0 >> numbers; until [ -e "$1/go" ]; do sleep 0.05; done; cat numbers'
    tools = [
        here.command(["sh", "-c", script, str(n), str(here.folder)], space="worktree", idempotent=n == 2)
        for n in (1, 2)
    ]
    jobs = [client.start(tool) for tool in tools]
    spaces = [occupied(client, job) for job in jobs]
    assert len({each["locator"] for each in spaces}) == 2
    for job, space in zip(jobs, spaces, strict=True):
        (attempt,) = client.attempts(job)
        assert attempt["runSpaceId"] == space["runSpaceId"]
        assert (space["currentRunId"], space["kind"]) == (client.run(job)["runId"], "workspace")
    (here.folder / "go").touch()
    for number, job in enumerate(jobs, 1):
        assert client.ended(job)["status"] == "done"
        assert client.output(job) == b"0\n%d\n" % number
    until(lambda: {space_of(client, job)["status"] for job in jobs} == {"terminated"}, "their spaces are gone")
    assert (here.work / "numbers").read_text() == "0\n"
    assert git(here.work, "worktree", "list").count("\n") == 1


def test_what_a_killed_worker_leaves_the_next_one_takes_down(here: Installation) -> None:
    client = here.client()
    first = here.start_worker()
    job = client.start(here.command("exec sleep 600", space="worktree"))
    space = occupied(client, job)
    assert Path(space["locator"]).is_dir()
    first.kill()
    here.start_worker()
    until(lambda: not Path(space["locator"]).exists(), "the tree is gone")
    assert client.ended(job)["error_kind"] == "lost"
    until(lambda: space_of(client, job)["status"] == "terminated", "the ledger knows", within_s=60)
    steps = [each["status"] for each in space_of(client, job)["history"]]
    assert steps == ["provisioning", "ready", "occupied", "reclaiming", "terminated"]
    assert git(here.work, "worktree", "list").count("\n") == 1
