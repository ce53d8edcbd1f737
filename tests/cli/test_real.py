"""The commands against a real server and worker: what they print, in which form, and how they exit."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import environment
from tests.cli.living import Living


def test_run_tells_the_end_in_the_events_form_and_exits_with_it(rb: Living) -> None:
    done = rb("run", "say", "text=hello")
    assert done.code == 0
    first, summary, details = done.out.splitlines()
    job_id = re.search(r"job_id=(\S+)", first)
    assert job_id is not None
    pattern = rf"\[event\] job_completed job_id={job_id[1]} tool=say status=done event_id=\S+ seq=\d+"
    assert re.fullmatch(pattern, first)
    assert "hello" in summary
    assert details == f"details: get_job_result({job_id[1]})"
    assert f"{job_id[1]} running" in done.err, "progress does not mix with what is piped on"


@pytest.mark.parametrize(
    ("words", "code", "word"),
    [
        (["say", "text=x", "code=3"], 1, "status=failed"),
        (["wait", "--timeout", "0.2s"], 4, "job_timed_out"),
        (["wait", "--total-timeout", "0.2s"], 4, "job_timed_out"),
    ],
)
def test_run_tells_failed_and_timed_out_apart(rb: Living, words: list[str], code: int, word: str) -> None:
    done = rb("run", *words)
    assert done.code == code, done.out + done.err
    assert word in done.out


def test_run_and_wait_tell_cancelled(rb: Living) -> None:
    follower = subprocess.Popen(
        [sys.executable, "-m", "ringback", "run", "wait", "--json"],
        env=environment(rb.data),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert follower.stdout is not None
    job_id = json.loads(follower.stdout.readline())["job_id"]
    stopped = rb("stop", job_id, "--wait", "--json", "--reason", "enough")
    assert stopped.json["status"] == "cancelled"
    lines = [json.loads(line) for line in follower.stdout]
    assert follower.wait(30) == 3
    follower.stdout.close()
    assert [line["sequence"] for line in lines[:-1]] == list(range(1, len(lines)))
    assert lines[-1]["status"] == "cancelled"
    assert rb("wait", job_id).code == 3
    assert rb("result", job_id).code == 3


def test_ctrl_c_ends_the_following_and_not_the_job(rb: Living) -> None:
    follower = subprocess.Popen(
        [sys.executable, "-m", "ringback", "run", "wait"], env=environment(rb.data), stderr=subprocess.PIPE, text=True
    )
    assert follower.stderr is not None
    job_id = follower.stderr.readline().split()[0]
    for line in follower.stderr:
        if "running" in line:
            break
    follower.send_signal(signal.SIGINT)
    rest = follower.stderr.read()
    assert follower.wait(30) == 130
    follower.stderr.close()
    assert f"ringback logs -f {job_id}" in rest
    assert f"ringback stop {job_id}" in rest
    assert rb("show", job_id, "--json").json["job"]["status"] == "running"
    assert rb("wait", job_id, "--timeout", "0.1").code == 4
    assert rb("stop", job_id, "--wait").code == 0


def test_start_prints_the_id_alone_and_a_key_gives_it_again(rb: Living) -> None:
    first = rb("start", "say", "text=x", "--key", "k-1", "--tag", "a", "--priority", "2")
    assert re.fullmatch(r"job_[0-9a-v]{26}\n", first.out)
    again = rb("start", "say", "text=x", "--key", "k-1", "--tag", "a", "--priority", "2")
    assert again.out == first.out
    assert "nothing new" in again.err
    other = rb("start", "say", "text=y", "--key", "k-1")
    assert (other.code, other.out) == (2, "")
    assert rb("start", "say", "text=x", "--json").json["tool"] == "say"


def test_wrong_arguments_are_named(rb: Living) -> None:
    done = rb("start", "say", "txt=x")
    assert done.code == 2
    assert "txt" in done.err
    done = rb("start", "say", "code=x", "--json")
    assert done.code == 2
    assert "integer" in done.json["error"]["message"]
    assert rb("start", "nothing").code == 6


def test_a_job_that_waits_says_why(rb: Living) -> None:
    blocker = rb.start("say", "text=x", "--not-before", "in 90m")
    waiting = rb.start("say", "text=x", "--depends-on", blocker)
    assert re.search(r"waiting for +its start time .*\(in 1 h\)", rb("show", blocker).out)
    shown = rb("show", waiting).out
    assert re.search(r"waiting for +jobs before it: ", shown)
    assert re.search(r"depends on +", shown)
    assert re.search(r'arguments +\{"text": "x"', shown)
    assert rb("stop", blocker, waiting).code == 0


def test_show_has_the_attempts(rb: Living) -> None:
    job_id = rb.start("say", "text=x", "code=3")
    assert rb("wait", job_id).code == 1
    shown = rb("show", job_id).out
    assert re.search(r"^ATTEMPT +OUTCOME", shown, re.MULTILINE)
    assert re.search(r"^1 +failed +first", shown, re.MULTILINE)
    assert re.search(r"failed because +tool_error", shown)


def test_list_is_newest_first_and_json_is_one_document(rb: Living) -> None:
    ids = [rb.start("say", f"text={n}") for n in range(3)]
    assert rb("wait", *ids).code == 0
    listed = rb("list", "--json", "-n", "3", "--tool", "say", "--status", "done").json["jobs"]
    assert [job["job_id"] for job in listed] == ids[::-1]
    table = rb("list", "-n", "3").out.splitlines()
    assert table[0].split() == ["JOB", "STATUS", "TOOL", "CREATED", "TOOK", "SUMMARY"]
    assert len(table) == 4
    assert "\x1b" not in "".join(table), "no colours in a pipe"
    assert rb("list", "--status", "nothing").code == 2


def test_logs_are_readable_or_raw(rb: Living) -> None:
    job_id = rb.start("flood")
    assert rb("wait", job_id).code == 0
    text = rb("logs", job_id).out
    assert text.startswith("green\n100%\n0\n1\n")
    assert text.endswith("1998\n1999\n")
    assert rb("logs", job_id, "--tail", "2").out == "1998\n1999\n"
    raw = rb("logs", job_id, "--raw").out
    assert "\x1b[32mgreen" in raw
    assert rb("logs", job_id, "-f").out == text
    assert rb("logs", job_id, "-f", "--tail", "2").out == "1998\n1999\n"
    assert rb("logs", job_id, "--tail", "0").out == rb("logs", job_id, "-f", "--tail", "0").out == ""
    assert rb("logs", job_id, "-f", "--raw", "--stream", "stdout").out == raw
    assert rb("logs", job_id, "--stream", "stderr").out == ""
    lines = rb("logs", job_id, "--json").lines
    assert {line["event"]["type"] for line in lines} == {"output.chunk"}


def test_logs_follow_a_running_job(rb: Living) -> None:
    job_id = rb.start("wait")
    follower = subprocess.Popen(
        [sys.executable, "-m", "ringback", "logs", "-f", job_id],
        env=environment(rb.data),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert follower.stdout is not None
    assert follower.stdout.readline() == "waiting\n"
    rb("stop", job_id)
    assert follower.stdout.read() == ""
    assert follower.wait(30) == 0
    follower.stdout.close()


def test_events_are_numbered_and_whole(rb: Living) -> None:
    job_id = rb.start("say", "text=x")
    followed = rb("events", "-f", job_id, "--json").lines
    assert [line["sequence"] for line in followed] == list(range(1, len(followed) + 1))
    assert followed[-1]["event"]["status"] == "succeeded"
    assert rb("events", job_id, "--json").lines == followed
    assert rb("events", job_id, "--json", "--after", "2").lines == followed[2:]
    assert re.search(r"^ +1  \d\d:\d\d:\d\d\.\d{3}  run\.status\.changed", rb("events", job_id).out)
    assert rb("events", job_id, "--after", "999").code == 2


def test_result_and_replay(rb: Living) -> None:
    job_id = rb.start("say", "text=hello")
    rb("wait", job_id)
    assert rb("result", job_id).out == "hello\n"
    assert rb("result", job_id, "--json").json["exit_code"] == 0
    done = rb("replay", job_id)
    assert (done.code, done.out.splitlines()[0]) == (0, "identical")
    assert rb("replay", job_id, "--json").json["identical"] is True
    waiting = rb.start("wait")
    assert rb("result", waiting).code == 1
    assert rb("result", waiting, "--partial", "--json").json["complete"] is False
    rb("stop", waiting)


@pytest.mark.parametrize("command", ["show", "logs", "events", "result", "stop", "wait", "replay"])
def test_what_does_not_exist_exits_6(rb: Living, command: str) -> None:
    for name in ("job_00000000000000000000000000", "../../x", "..", "nothing"):
        done = rb(command, name)
        assert (done.code, done.out) == (6, ""), name


def test_a_wrong_token_exits_6_and_another_address_gets_none(rb: Living) -> None:
    assert rb("list", RINGBACK_TOKEN="rbp_wrong", RINGBACK_URL=rb.url).code == 6
    other = rb("list", "--url", rb.url.replace("127.0.0.1", "localhost"))
    assert other.code == 6
    assert "RINGBACK_TOKEN" in other.err


def test_apply_says_what_changes(rb: Living, tmp_path: Path) -> None:
    file = tmp_path / "ringback.toml"
    file.write_text('[tools.extra]\ndescription = "one"\ncommand = ["true"]\n')
    assert rb("apply", str(file), "--dry-run").out.splitlines() == ["+ extra", "1 of 1 would change"]
    assert rb("apply", str(file)).out.splitlines() == ["+ extra", "1 of 1 changed"]
    file.write_text(file.read_text().replace("one", "two"))
    assert '    /description: "one" → "two"' in rb("apply", str(file)).out.splitlines()
    assert rb("apply", str(file), "--json").json["changes"][0]["change"] == "unchanged"
    assert "extra" in rb("tools").out


def test_pause_holds_a_pool_back(rb: Living) -> None:
    assert rb("pause", "default").out == "default paused\n"
    try:
        job_id = rb.start("say", "text=x")
        assert "which is paused" in rb("show", job_id).out
    finally:
        assert rb("resume", "default").code == 0
    assert rb("wait", job_id).code == 0


def test_doctor_finds_nothing_bad(rb: Living) -> None:
    done = rb("doctor", "--json")
    assert done.code == 0, done.out
    assert {finding["check"] for finding in done.json["findings"]} >= {"server", "worker", "ledger", "token"}
    os.chmod(rb.data / "owner.token", 0o644)  # noqa: PTH101 - the very thing that doctor looks for
    try:
        done = rb("doctor")
        assert done.code == 1
        assert f"chmod 600 {rb.data}/owner.token" in done.out
    finally:
        (rb.data / "owner.token").chmod(0o600)


def test_the_ledger_is_copied_and_checked_while_the_server_runs(rb: Living, tmp_path: Path) -> None:
    assert rb("db", "backup", str(tmp_path / "copy.db"), "--json").json["bytes"] > 0
    assert rb("db", "backup", str(tmp_path / "copy.db")).code == 1, "never over a file"
    assert rb("db", "check").out == "the ledger is sound\n"
    done = rb("db", "migrate")
    assert (done.code, "ringback down" in done.err) == (1, True)


def test_a_terminal_gets_colours_and_a_moving_line(rb: Living) -> None:
    leader, follower = pty.openpty()
    env = {name: value for name, value in environment(rb.data).items() if name != "NO_COLOR"} | {"TERM": "xterm"}
    command = [sys.executable, "-m", "ringback", "run", "say", "text=hello", "--output"]
    process = subprocess.Popen(command, env=env, stdin=follower, stdout=follower, stderr=follower)
    os.close(follower)
    seen = b""
    try:
        while piece := os.read(leader, 4096):
            seen += piece
    except OSError:
        pass  # Linux says so when the last writer of a terminal is gone
    os.close(leader)
    assert process.wait(30) == 0
    text = seen.decode()
    assert "\x1b[" in text
    assert "hello" in text
    assert "[event] job_completed" in text


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("ringback sh", "show"),
        ("ringback start ", "say"),
        ("ringback list --st", "--status"),
        ("ringback db ", "backup"),
    ],
)
def test_the_shell_is_told_what_may_follow(rb: Living, words: str, offered: str) -> None:
    at = len(words.split(" ")) - 1
    done = rb(_RINGBACK_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(at))
    assert offered in done.out.split()


def test_the_shell_is_told_the_ids_of_jobs(rb: Living) -> None:
    job_id = rb.start("say", "text=x")
    done = rb(_RINGBACK_COMPLETE="complete_bash", COMP_WORDS="ringback show job_", COMP_CWORD="2")
    assert job_id in done.out.split()
