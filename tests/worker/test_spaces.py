"""Spaces of single attempts, with real worktrees, and containers of an engine that records what it is told."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ringback.worker.assignment import Assignment, Outcome, Stop
from ringback.worker.batching import Outbox
from ringback.worker.runtimes.command import CommandRuntime
from ringback.worker.spaces.container import engine_of
from ringback.worker.spaces.programs import ProgramError
from ringback.worker.spaces.records import Record, Records
from ringback.worker.spaces.runtime import SpacedRuntime, take_down_abandoned
from ringback.worker.spaces.telling import Telling
from tests.worker.attempts import Recorder, assignment, guarded

WHOLE = ["provisioning", "ready", "occupied", "reclaiming", "terminated"]
pytestmark = pytest.mark.timeout(120)


class Heard(Telling):
    """Keeps the steps instead of sending them."""

    def __init__(self, *, is_refusing: bool = False) -> None:
        super().__init__(Outbox())
        self.steps: list[Mapping[str, Any]] = []
        self._is_refusing = is_refusing

    async def put_down(self, record: Record, step: Mapping[str, Any]) -> bool:
        self.steps.append(step)
        return not self._is_refusing

    def goes_on(self, record: Record, step: Mapping[str, Any]) -> None:
        self.steps.append(step)

    def ends(self, record: Record, step: Mapping[str, Any], *, is_found: bool = False) -> None:
        self.steps.append(step)

    def statuses(self) -> list[str]:
        return [str(step["status"]) for step in self.steps]


@dataclass
class Place:
    """A repository, and a runtime with a data folder."""

    runtime: SpacedRuntime
    heard: Heard
    data: Path
    repository: Path
    recorder: Recorder = field(default_factory=Recorder)

    async def run(self, *command: str, space: Any = "worktree", stop: Stop | None = None, **profile: Any) -> Outcome:
        asked = self.asked(*command, space=space, **profile)
        return await self.runtime.run(asked, self.recorder, stop or Stop())

    def asked(self, *command: str, space: Any, **profile: Any) -> Assignment:
        return assignment(*command, profile={"cwd": str(self.repository), "space": space, **profile})

    def leftovers(self) -> list[str]:
        """Every file below the data folder, and every worktree that the repository knows beside its own."""
        files = [str(path) for path in self.data.rglob("*") if path.is_file() and path.name != "lock"]
        return files + git(self.repository, "worktree", "list", "--porcelain").split("\n\n")[1:]


@asynccontextmanager
async def place(folder: Path, *, is_refusing: bool = False) -> AsyncIterator[Place]:
    repository = folder / "repository"
    repository.mkdir()
    git(repository, "init", "-q", "-b", "main")
    (repository / "tracked").write_text("one\n")
    (repository / ".gitignore").write_text("ignored\n")
    (repository / "inner").mkdir()
    (repository / "inner" / "file").write_text("inner\n")
    commit(repository, "first")
    records, heard = Records(folder / "data"), Heard(is_refusing=is_refusing)
    async with guarded() as guardian:
        inner = CommandRuntime(guardian)
        yield Place(SpacedRuntime(inner, records, heard), heard, folder / "data", repository)
    records.close()


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def is_there(path: str) -> bool:
    return Path(path).exists()


def commit(repository: Path, message: str) -> None:
    git(repository, "add", "--all")
    git(repository, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m", message)


async def test_a_worktree_holds_the_commit_and_is_gone_afterwards(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        (here.repository / "tracked").write_text("changed\n")
        (here.repository / "new").write_text("new\n")
        outcome = await here.run("sh", "-c", "pwd; cat tracked; ls; git status --short; echo $RINGBACK_RUN_SPACE")
        lines = here.recorder.stdout.decode().splitlines()
        assert (outcome.kind, outcome.exit_code) == ("succeeded", 0)
        assert lines[1:] == ["one", "inner", "tracked", here.heard.steps[0]["runSpaceId"]]
        assert lines[0] == here.heard.steps[0]["locator"]
        assert here.heard.statuses() == WHOLE
        assert (here.heard.steps[0]["providerType"], here.heard.steps[0]["kind"]) == ("git_worktree", "workspace")
        assert not is_there(lines[0])
        assert here.leftovers() == []
        assert (here.repository / "tracked").read_text() == "changed\n"


async def test_the_attempt_runs_in_the_same_folder_of_the_worktree(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        await here.run("cat", "file", cwd=str(here.repository / "inner"))
        assert here.recorder.stdout == b"inner\n"


async def test_what_is_not_committed_may_come_along(tmp_path: Path) -> None:
    """Changed, new, staged and removed files; ignored ones don't, and the repository's own index stays as it was."""
    async with place(tmp_path) as here:
        (here.repository / "tracked").write_text("changed\n")
        (here.repository / "new").write_text("new\n")
        (here.repository / "ignored").write_text("ignored\n")
        (here.repository / "staged").write_text("staged\n")
        (here.repository / "inner" / "file").unlink()
        git(here.repository, "add", "staged")
        before = git(here.repository, "status", "--porcelain")
        await here.run(
            "sh",
            "-c",
            "cat tracked new staged; ls; git log -1 --format=%s",
            space={"type": "worktree", "uncommitted": True},
        )
        assert here.recorder.stdout.decode().split() == [
            "changed",
            "new",
            "staged",
            "new",
            "staged",
            "tracked",
            "first",
        ]
        assert git(here.repository, "status", "--porcelain") == before
        assert here.leftovers() == []


async def test_another_ref(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        git(here.repository, "tag", "v1")
        (here.repository / "tracked").write_text("two\n")
        commit(here.repository, "second")
        await here.run("cat", "tracked", space={"type": "worktree", "ref": "v1"})
        assert here.recorder.stdout == b"one\n"
        outcome = await here.run("cat", "tracked", space={"type": "worktree", "ref": "v2"})
        assert (outcome.kind, outcome.retryable) == ("failed", False)
        assert "there is no 'v2' in" in str(outcome.error_message)
        assert here.heard.statuses()[-2:] == ["reclaiming", "terminated"]
        assert here.leftovers() == []


async def test_parallel_runs_do_not_disturb_each_other(tmp_path: Path) -> None:
    """Each appends to the same file and sees its own line alone."""
    async with place(tmp_path) as here:
        recorders = [Recorder() for _ in range(6)]
        script = "echo $0 >> tracked; sleep 0.2; cat tracked"
        asked = [here.asked("sh", "-c", script, str(number), space="worktree") for number in range(6)]
        runs = [here.runtime.run(each, recorder, Stop()) for each, recorder in zip(asked, recorders, strict=True)]
        assert {outcome.kind for outcome in await asyncio.gather(*runs)} == {"succeeded"}
        assert [recorder.stdout for recorder in recorders] == [b"one\n%d\n" % number for number in range(6)]
        assert here.leftovers() == []


async def test_what_a_commit_never_holds_can_be_linked_and_survives(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        (here.repository / "ignored").mkdir()
        (here.repository / "ignored" / "package").write_text("installed\n")
        await here.run("cat", "ignored/package", space={"type": "worktree", "link": ["ignored", "absent"]})
        assert here.recorder.stdout == b"installed\n"
        assert (here.repository / "ignored" / "package").read_text() == "installed\n"


@pytest.mark.parametrize(("script", "is_kept"), [("exit 3", True), ("exit 0", False)])
async def test_a_failed_one_may_be_kept(tmp_path: Path, script: str, is_kept: bool) -> None:
    async with place(tmp_path) as here:
        space = {"type": "worktree", "keepOnFailure": True}
        outcome = await here.run("sh", "-c", f"echo found > evidence; {script}", space=space)
        tree = str(here.heard.steps[0]["locator"])
        assert is_there(f"{tree}/evidence") == is_kept
        assert here.heard.statuses() == (["provisioning", "ready", "occupied", "ready"] if is_kept else WHOLE)
        if is_kept:
            assert outcome.error_detail["keptSpace"] == tree
            assert here.heard.steps[-1]["kept"]
            assert not list(here.data.rglob("*.json")), "nobody takes it for a leftover"


async def test_no_hook_of_the_repository_runs(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        hook = here.repository / ".git" / "hooks" / "post-checkout"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hooked\n")
        hook.chmod(0o755)
        await here.run("true")
        assert not is_there(f"{tmp_path}/hooked")


async def test_a_folder_that_is_in_no_repository_is_refused(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        outcome = await here.run("true", cwd="/")
        assert (outcome.kind, outcome.error_kind) == ("failed", "tool_error")
        assert "no folder of a git repository" in str(outcome.error_message)
        assert here.heard.steps == []


async def test_a_stop_takes_the_space_down_as_well(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        stop = Stop()
        running = asyncio.create_task(here.run("sh", "-c", "echo here; exec sleep 60", stop=stop))
        await here.recorder.until(b"here")
        stop.request("cancel")
        assert (await running).kind == "stopped"
        assert here.heard.statuses() == WHOLE
        assert here.leftovers() == []


async def test_an_attempt_that_is_not_ours_any_more_gets_none(tmp_path: Path) -> None:
    async with place(tmp_path, is_refusing=True) as here:
        assert (await here.run("true")).kind == "released"
        assert here.recorder.calls == []
        assert here.leftovers() == []


async def test_an_attempt_without_a_space_goes_through(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        for space in ("directory", {"type": "directory"}):
            assert (await here.run("true", space=space)).kind == "succeeded"
        assert here.heard.steps == []
        assert not is_there(str(here.data))


async def test_what_a_dead_worker_left_is_taken_down_by_the_next(tmp_path: Path) -> None:
    """A living one's spaces are left alone."""
    async with place(tmp_path) as here:
        stop = Stop()
        running = asyncio.create_task(here.run("sh", "-c", "echo here; exec sleep 60", stop=stop))
        await here.recorder.until(b"here")
        tree = str(here.heard.steps[0]["locator"])
        next_one, heard = Records(here.data), Heard()
        assert await take_down_abandoned(next_one, heard) == 0
        assert is_there(tree)
        here.runtime._records.close()  # as the kernel does for a killed process
        assert await take_down_abandoned(next_one, heard) == 1
        assert not is_there(tree)
        assert heard.statuses() == ["terminated"]
        stop.request("lost")
        await running
        assert here.leftovers() == []


# --- containers

FAKE = """#!{python}
import json, os, subprocess, sys
words = sys.argv[1:]
with open({log!r}, "a") as log:
    log.write(json.dumps([words, sorted(os.environ)]) + "\\n")
if words[0] == "version":
    print({version!r}) if {version!r} else sys.exit("Cannot connect to the daemon")
elif words[0] == "run":
    at = words.index("the/image:1")
    source = next(word for word in words if word.startswith("type=bind")).split("source=")[1].split(",")[0]
    env = {{name: os.environ[name] for name, word in zip(words[1:], words) if word == "--env" and name in os.environ}}
    sys.exit(subprocess.run(words[at + 1:], cwd=source, env={{"PATH": "/usr/bin:/bin", **env}}).returncode)
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a `docker` that carries out its commands here; it comes first on the PATH."""
    return install(tmp_path, monkeypatch, version="28.0")


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, *, version: str) -> Path:
    home = folder / "engine"
    home.mkdir()
    program = home / "docker"
    program.write_text(FAKE.format(python=sys.executable, log=str(home / "log"), version=version))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join((str(home), "/usr/bin", "/bin")))
    return home


def calls(engine: Path) -> list[tuple[list[str], list[str]]]:
    return [tuple(json.loads(line)) for line in (engine / "log").read_text().splitlines()]


async def test_a_container_gets_the_folder_and_no_network(
    tmp_path: Path, engine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_MINE", "s3cret-value")
    async with place(tmp_path) as here:
        outcome = await here.run(
            "sh",
            "-c",
            "cat tracked; echo $MODE $SECRET_OF_MINE; exit 4",
            space={"type": "container", "image": "the/image:1"},
            env={"MODE": "ci"},
            secrets=["SECRET_OF_MINE"],
            envAllow=["PATH", "HOME"],
            limits={"memoryBytes": 1 << 30, "processes": 64, "openFiles": 128},
        )
        repository = here.repository
        assert (outcome.kind, outcome.exit_code) == ("failed", 4)
        assert here.recorder.stdout == b"one\nci ***\n"
        assert here.heard.statuses() == WHOLE
        assert (here.heard.steps[0]["providerType"], here.heard.steps[0]["kind"]) == ("docker", "instance")
        assert here.leftovers() == []
    name = here.heard.steps[0]["locator"]
    (_, run, removed) = [words for words, _ in calls(engine)]
    assert run[: run.index("the/image:1")] == [
        *("run", "--rm", "--init", "--name", name, "--label", "ringback.run=run-1", "--network", "none"),
        *("--mount", f"type=bind,source={repository},target=/workspace", "--workdir", "/workspace"),
        *("--user", f"{os.getuid()}:{os.getgid()}"),
        *("--memory", str(1 << 30), "--pids-limit", "64", "--ulimit", "nofile=128"),
        *("--env", "MODE", "--env", "RINGBACK_RUN_SPACE", "--env", "SECRET_OF_MINE"),
        *("--env", "RINGBACK_RUN_ID", "--env", "RINGBACK_JOB_ID"),
        *("--env", "RINGBACK_ATTEMPT_NO", "--env", "RINGBACK_IDEMPOTENCY_TOKEN"),
    ]
    assert removed == ["rm", "--force", name]
    assert "s3cret-value" not in (engine / "log").read_text()


async def test_a_container_may_have_a_network(tmp_path: Path, engine: Path) -> None:
    async with place(tmp_path) as here:
        await here.run("true", space={"type": "container", "image": "the/image:1", "network": True})
    assert "--network" not in calls(engine)[1][0]


async def test_a_stopped_container_is_removed(tmp_path: Path, engine: Path) -> None:
    async with place(tmp_path) as here:
        stop = Stop()
        space = {"type": "container", "image": "the/image:1"}
        running = asyncio.create_task(here.run("sh", "-c", "echo here; exec sleep 60", space=space, stop=stop))
        await here.recorder.until(b"here")
        stop.request("cancel", grace_ms=0)
        assert (await running).kind == "stopped"
    assert calls(engine)[-1][0][:2] == ["rm", "--force"]


async def test_without_an_engine_a_container_is_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = {"type": "container", "image": "the/image:1"}
    async with place(tmp_path) as here:
        outcome = await here.run("true", space={**space, "engine": "podman"})
        if outcome.kind != "succeeded":  # whatever this machine has
            assert "this worker can make no container" in str(outcome.error_message)
        install(tmp_path, monkeypatch, version="")
        outcome = await here.run("true", space={**space, "engine": "docker"})
        assert (outcome.kind, outcome.retryable) == ("failed", False)
        assert outcome.error_message == "this worker can make no container: docker: Cannot connect to the daemon"
        monkeypatch.setenv("PATH", str(tmp_path))
        outcome = await here.run("true", space=space)
        assert outcome.error_message == "this worker can make no container: docker and podman not found"
        assert here.heard.steps == []


async def test_a_real_container(tmp_path: Path) -> None:
    """Where there is an engine and the scale is full: an image has to be fetched."""
    space = {"type": "container", "image": "docker.io/library/busybox:stable", "network": False}
    if os.environ.get("RINGBACK_TEST_SCALE") != "full":
        pytest.skip("a real container needs an image from a registry: only at RINGBACK_TEST_SCALE=full")
    try:
        engine_of(space)
    except ProgramError as error:
        pytest.skip(str(error))
    async with place(tmp_path) as here:
        outcome = await here.run("sh", "-c", "cat tracked; ip addr | grep -c inet", space=space)
        assert (outcome.kind, here.recorder.stdout) == ("succeeded", b"one\n2\n")
        assert here.heard.statuses() == WHOLE
