"""`ringback inbox` against a real server: told once, to whom it belongs, and never in a hook's way."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ringback.client import Ringback
from tests.cli.command import Ran, environment, ringback
from tests.cli.living import Living


@pytest.fixture(autouse=True)
def _empty(rb: Living) -> None:
    assert rb("inbox", "--drain").code == 0


def hook(data: Path, told: object, form: str = "claude-code-hook", **variables: str) -> Ran:
    done = subprocess.run(
        [sys.executable, "-m", "ringback", "inbox", "--drain", "--format", form],
        env=environment(data, **variables),
        input=json.dumps(told),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def ended(rb: Living, *words: str) -> str:
    """A job of the command line that ended while nobody looked."""
    job_id = rb.start(*words)
    with Ringback(data=rb.data) as client:
        client.job(job_id).wait(60)
    return job_id


def test_a_notice_is_printed_and_taken_on_demand(rb: Living) -> None:
    job_id = ended(rb, "say", "text=hello")
    for words in (["inbox"], ["inbox", "--drain"]):
        done = rb(*words)
        first, summary, details = done.out.splitlines()
        assert (f"[event] job_completed job_id={job_id} tool=say status=done" in first, "hello" in summary) == (
            True,
            True,
        )
        assert details == f"details: get_job_result({job_id})"
    assert (rb("inbox").out, rb("inbox", "--json").json) == ("", {"items": []})


def test_json_for_programs(rb: Living) -> None:
    job_id = ended(rb, "say", "text=x", "code=3")
    for words in (["--json"], ["--format", "json"]):
        (found,) = rb("inbox", *words).json["items"]
        assert (found["jobId"], found["status"], found["type"]) == (job_id, "failed", "job_completed")


def test_who_followed_waited_or_read_is_not_told_again(rb: Living) -> None:
    assert rb("run", "say", "text=x").code == 0
    assert rb("wait", rb.start("say", "text=x")).code == 0
    assert rb("result", ended(rb, "say", "text=x")).code == 0
    assert rb("inbox", "--json").json == {"items": []}


def test_a_hook_adds_it_to_the_prompt_once(rb: Living) -> None:
    job_id = ended(rb, "say", "text=hello")
    told = hook(rb.data, {"hook_event_name": "UserPromptSubmit", "prompt": "and now?"}).json["hookSpecificOutput"]
    assert told["hookEventName"] == "UserPromptSubmit"
    assert f"[event] job_completed job_id={job_id}" in told["additionalContext"]
    again = hook(rb.data, {"hook_event_name": "UserPromptSubmit"})
    assert (again.code, again.out, again.err) == (0, "", "")


def test_the_end_of_a_turn_brings_it_but_no_cancelled_work(rb: Living) -> None:
    stopped, stop = rb.start("wait"), {"hook_event_name": "Stop"}
    assert rb("stop", stopped).code == 0
    with Ringback(data=rb.data) as client:
        client.job(stopped).wait(60)
    assert hook(rb.data, stop).out == ""
    job_id = ended(rb, "say", "text=hello")
    assert hook(rb.data, {**stop, "stop_hook_active": True}).out == ""
    answer = hook(rb.data, stop).json
    assert (answer["decision"], job_id in answer["reason"], stopped in answer["reason"]) == ("block", True, False)
    assert [found["jobId"] for found in rb("inbox", "--json").json["items"]] == [stopped]


def test_a_hook_is_silent_whatever_is_wrong(tmp_path: Path, rb: Living) -> None:
    ended(rb, "say", "text=hello")
    prompt = {"hook_event_name": "UserPromptSubmit"}
    for done in (
        hook(tmp_path, prompt),
        hook(tmp_path, prompt, RINGBACK_URL="nowhere"),
        hook(tmp_path, prompt, RINGBACK_URL=rb.url, RINGBACK_TOKEN="rbp_wrong"),
        hook(rb.data, {"hook_event_name": "Notification"}),
    ):
        assert (done.code, done.out, done.err) == (0, "", "")
    assert ringback(tmp_path, "inbox").code == 5
    assert hook(rb.data, ["no object"]).json["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
