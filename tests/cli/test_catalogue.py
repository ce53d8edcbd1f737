"""The catalogue from the command line and from both clients, against a real server and worker."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from ringback.client import AsyncRingback, ConflictError, InvalidInputError, NotFoundError, Ringback
from tests.cli.command import environment
from tests.cli.living import TOOLS, Living, living

HIDDEN = "only-the-operator-knows"


def definition(name: str, text: str = "one", **profile: Any) -> dict[str, Any]:
    command = {"command": [sys.executable, "-c", f"print({text!r})"], **profile}
    return {"name": name, "description": text, "runtime": "command", "profile": command}


def written(folder: Path, text: str, name: str = "shown") -> Path:
    file = folder / "ringback.toml"
    file.write_text(
        f'[tools.{name}]\ndescription = "{text}"\ncommand = ["true"]\nenv = {{ KEPT = "{HIDDEN}-{text}" }}\n'
    )
    return file


def test_apply_shows_the_difference_and_no_value_of_the_environment(rb: Living, tmp_path: Path) -> None:
    file = str(written(tmp_path, "one"))
    assert rb("apply", file).out.splitlines() == ["+ shown", "1 of 1 changed"]
    written(tmp_path, "two")
    for words in (["--dry-run"], ["--json", "--dry-run"], ["--yes"]):
        done = rb("apply", file, *words)
        assert "/profile/env/KEPT" in done.out, done.err
        assert HIDDEN not in done.out + done.err
    assert '    /description: "one" → "two"' in done.out.splitlines()
    assert rb("apply", file).out.splitlines() == ["= shown", "0 of 1 changed"]


class Screen:
    """A command at a terminal of its own."""

    def __init__(self, rb: Living, *words: str) -> None:
        self.controller, terminal = pty.openpty()
        self.said = b""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ringback", *words],
            env=environment(rb.data),
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
        )
        os.close(terminal)

    def until(self, text: str, within_s: float = 30.0) -> None:
        end = time.monotonic() + within_s
        while text.encode() not in self.said:
            assert select.select([self.controller], [], [], max(0.0, end - time.monotonic()))[0], self.said
            self.said += os.read(self.controller, 4096)

    def end(self, within_s: float = 30.0) -> int:
        try:
            while piece := os.read(self.controller, 4096):
                self.said += piece
        except OSError:
            pass  # the other side is closed
        finally:
            os.close(self.controller)
        return self.process.wait(within_s)


@pytest.mark.parametrize(("answer", "code", "change"), [("n", 3, "changed"), ("y", 0, "unchanged")])
def test_at_a_terminal_apply_asks_after_it_has_shown(
    rb: Living, tmp_path: Path, answer: str, code: int, change: str
) -> None:
    written(tmp_path, "before", "asked")
    rb("apply", str(tmp_path))
    written(tmp_path, f"after {answer}", "asked")
    screen = Screen(rb, "apply", str(tmp_path))
    screen.until("Release this change on stable? [y/N]")
    assert b"~ asked" in screen.said, "the difference comes before the question"
    os.write(screen.controller, f"{answer}\n".encode())
    assert screen.end() == code, screen.said
    assert rb("apply", str(tmp_path), "--dry-run", "--json").json["changes"][0]["change"] == change


@pytest.mark.parametrize("words", [["--yes"], ["--dry-run"], ["--json"]])
def test_it_does_not_ask_where_that_was_settled(rb: Living, tmp_path: Path, words: list[str]) -> None:
    written(tmp_path, "one", "settled")
    screen = Screen(rb, "apply", str(tmp_path), *words)
    assert screen.end() == 0
    assert b"[y/N]" not in screen.said


def test_nothing_to_change_asks_nothing(rb: Living, tmp_path: Path) -> None:
    written(tmp_path, "one", "same")
    rb("apply", str(tmp_path))
    screen = Screen(rb, "apply", str(tmp_path))
    assert screen.end() == 0
    assert b"0 of 1 changed" in screen.said


def test_a_canary_is_released_and_rolled_back(rb: Living, tmp_path: Path) -> None:
    """R2: a channel is switched by name, guarded, and taken back; every switch is on record."""
    written(tmp_path, "old", "canary")
    rb("apply", str(tmp_path))
    written(tmp_path, "new", "canary")
    assert rb("apply", str(tmp_path), "--channel", "canary").out.splitlines()[-1] == "1 of 1 changed"
    new, old = (row["revisionId"].partition("@")[2] for row in rb("revisions", "canary", "--json").json["revisions"])
    table = rb("revisions", "canary").out.splitlines()
    assert table[0].split() == ["REVISION", "CREATED", "CHANNELS"]
    assert (table[1].split()[0], table[1].split()[-1]) == (new[:12], "canary")
    assert f"canary {new[:12]}, stable {old[:12]}" in rb("resources").out

    moved = rb("release", "canary", new[:12], "--expect", new)
    assert (moved.code, "stable" in moved.err) == (1, True)
    assert rb("release", "canary", new[:8], "--expect", old).out == f"canary: stable {old[:12]} → {new[:12]}\n"
    assert rb("rollback", "canary").out == f"canary: stable {new[:12]} → {old[:12]}\n"
    assert rb("release", "canary", "nothing", "--channel", "canary").out.endswith("→ nothing\n")
    with Ringback(data=rb.data) as client:
        history = client.resources.switches("canary")
        assert [each["to"].partition("@")[2] for each in history] == [old, new, old]
    assert rb("release", "canary", "0").code == 2
    assert rb("release", "canary", new, "--type", "cron").code == 2
    assert rb("rollback", "unheard_of").code == 6


def test_an_alias_is_run_with_words(rb: Living) -> None:
    assert rb("alias", "put", "speak", "say").out == "speak stands for tool say\n"
    done = rb("run", "speak", "text=hello", "code=4")
    assert done.code == 1, "the words were read by the schema of what it stands for"
    assert "hello" in done.out
    assert re.search(r"^speak +tool +say", rb("alias", "list").out, re.MULTILINE)
    assert rb("alias", "remove", "speak").code == 0
    assert rb("start", "speak", "text=hello").code == 6
    assert rb("alias", "put", "speak", "unheard_of").code == 6


@pytest.fixture
def two_projects(tmp_path: Path) -> Iterator[Living]:
    """A server of its own: with a second project, commands that name none are refused."""
    with living(tmp_path / "two", tools=TOOLS) as running:
        yield running


def test_a_grant_is_given_used_and_revoked(two_projects: Living) -> None:
    """R2: a granted tool is called from another project; its runs belong to the provider."""
    rb = two_projects
    other = rb("project", "create", "grantee", "--json").json["projectId"]
    mine, theirs = ("--project", "default"), ("--project", "grantee")
    given = rb("grant", "give", "say", other, "--show", "output", "--expires", "2999-01-01T00:00:00Z", *mine)
    assert given.code == 0, given.err
    grant = given.out.strip()
    assert rb("grant", "list", "--json", *theirs).json["received"][0]["grantId"] == grant
    assert rb("alias", "put", "theirs", "--grant", grant, *theirs).code == 0
    job = rb("start", "theirs", "text=hello", *theirs)
    assert job.code == 0, job.err
    assert rb("wait", job.out.strip(), *theirs).code == 0
    assert rb("show", job.out.strip(), "--json", *mine).json["run"]["projectId"] == "default"
    assert rb("grant", "revoke", grant, *mine).out == f"{grant} revoked\n"
    assert rb("start", grant, "text=hello", *theirs).code == 6
    assert re.search(rf"^{grant} +to .* revoked", rb("grant", "list", *mine).out, re.MULTILINE)
    assert rb("grant", "give", "say", other, "--expires", "tomorrow", *mine).code == 2
    assert rb("grant", "give", "say", other, "--expires", "2999-01-01", *mine).code == 2


def test_a_family_is_drawn(rb: Living) -> None:
    with Ringback(data=rb.data) as client:
        first = client.start("say", {"text": "first"})
        after = client.start("say", {"text": "after"}, depends_on=[first])
        later = client.start_run("say", {"arguments": {"text": "later"}}, follow_up_of=first)
        for job in (after, later):
            job.wait(30)
        tree, graph = client.tree(first), client.graph(first)
    assert [child["run"]["jobId"] for child in tree["children"]] == [later.id]
    assert len(graph["edges"]) == 2
    drawn = rb("tree", first.id).out.splitlines()
    assert drawn[0].startswith(f"{first.id}  done  say")
    assert drawn[1].startswith(f"└─ follow_up {later.id}  done  say")
    drawn = rb("graph", first.id).out.splitlines()
    assert len(drawn) == 3
    assert {line.partition(" job_")[0].lstrip("├└─ ") for line in drawn[1:]} == {"← depends_on", "follow_up →"}
    assert rb("graph", first.id, "--json").json == graph
    assert rb("graph", "job_00000000000000000000000000").code == 6


def test_the_client_switches_channels_with_a_guard(rb: Living) -> None:
    with Ringback(data=rb.data) as client:
        (made,) = client.apply([definition("held")])
        (changed,) = client.resources.apply([definition("held", "two")], channel="canary")
        assert (made.kind, made.change, changed.change) == ("tool", "added", "added")
        with pytest.raises(ConflictError):
            client.resources.switch("held", changed.revision_id, expected=changed.revision_id)
        client.resources.switch("held", changed.revision_id, expected=made.revision_id)
        pinned = client.start_run(None, revision=made.revision_id)
        pinned.wait(30)
        assert pinned.result().output == "one\n"
        released = client.start_run("held", idempotency_key="released")
        released.wait(30)
        assert released.result().output == "two\n"
        assert client.start_run("held", idempotency_key="released").is_replay
        shown = client.resources.revision("held", str(made.revision_id))
        assert shown["definition"]["description"] == "one"
        assert {each["channel"] for each in client.resources.channels("held")} == {"canary", "stable"}
        assert "revisionId" not in client.resources.withdraw("held")
        with pytest.raises(NotFoundError):
            client.start_run("held")
        with pytest.raises(InvalidInputError):
            client.start_run("held", {"messages": []}, kind="tool")
        with pytest.raises(ValueError, match="offset"):
            client.grants.give("held", "other", expires_at=datetime(2999, 1, 1))  # noqa: DTZ001


async def test_the_async_client_does_the_same(rb: Living) -> None:
    async with AsyncRingback(data=rb.data) as client:
        (made,) = await client.apply([definition("awaited")])
        (again,) = await client.resources.apply([definition("awaited", "two")])
        assert (await client.resources.rollback("awaited"))["revisionId"] == made.revision_id
        assert [each["revisionId"] for each in await client.resources.revisions("awaited")] == [
            again.revision_id,
            made.revision_id,
        ]
        await client.resources.switch("awaited", again.revision_id, expected=made.revision_id)
        assert len(await client.resources.switches("awaited")) == 4
        assert (await client.resources.get("awaited"))["definition"]["description"] == "two"
        assert (await client.resources.revision("awaited", str(made.revision_id)))["revisionId"] == made.revision_id
        assert len(await client.resources.channels("awaited")) == 1
        assert "awaited" in {each["name"] for each in await client.resources.list("tool")}
        await client.aliases.put("waited_for", "awaited")
        job = await client.start_run("waited_for")
        await job.wait(30)
        assert (await client.tree(job))["children"] == []
        assert len((await client.graph(job.id))["nodes"]) == 1
        assert "waited_for" in {each["alias"] for each in await client.aliases.list()}
        await client.aliases.remove("waited_for")
        with pytest.raises(InvalidInputError):
            await client.grants.give("awaited", "unheard_of")
        with pytest.raises(NotFoundError):
            await client.grants.revoke("grant:0")
        assert set(await client.grants.list()) == {"given", "received"}
        await client.resources.withdraw("awaited")
