"""What a command finds around it: its environment, no terminal, its folder; and what it may not leave behind."""

import asyncio
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from ringback.worker.assignment import Stop
from ringback.worker.processes import procfs
from ringback.worker.runtimes.command import CommandRuntime
from tests.worker.attempts import Recorder, assignment, commands, guarded, python, shell

ROOT = Path(__file__).parents[2]
WORKER_ENV = {
    "PATH": os.environ["PATH"],
    "HOME": "/home/someone",
    "LC_ALL": "C.UTF-8",
    "RINGBACK_TOKEN": "rbp_worker-token-1",
    "TOK": "S3cr3t-abc-123456",
    "KEY": "-- begin --\nMIIEvQIBADANBg\nkqhkiG9w0BAQEF\n-- end --",
    "UNRELATED": "1",
}


async def test_the_environment_is_an_allow_list() -> None:
    profile = {"env": {"MODE": "ci", "LANG": "C"}, "envAllow": ["KEY", "ABSENT"], "secrets": ["TOK"]}
    async with commands(WORKER_ENV) as runtime:
        recorder = Recorder()
        await runtime.run(assignment("env", "-0", profile=profile, attempt_no=2), recorder, Stop())
    found = dict(line.split("=", 1) for line in recorder.stdout.decode().split("\0") if line)
    assert found.pop("RINGBACK_WORKER").startswith("tests.")
    assert found == {
        "PATH": WORKER_ENV["PATH"],
        "HOME": "/home/someone",
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
        "MODE": "ci",
        "LANG": "C",
        "KEY": WORKER_ENV["KEY"],
        "TOK": "***",
        "RINGBACK_RUN_ID": "run-1",
        "RINGBACK_JOB_ID": "job_1",
        "RINGBACK_ATTEMPT": "att-1",
        "RINGBACK_ATTEMPT_NO": "2",
        "RINGBACK_IDEMPOTENCY_TOKEN": "run-1",
    }


async def test_secrets_are_masked_in_whole_in_parts_and_by_line() -> None:
    script = """
    echo "whole $TOK"
    printf 'parts S3cr3t-'; sleep 0.1; printf 'abc-123456\\n'
    printf '%s\\n' "$KEY" | while read line; do echo "line $line"; done
    echo "error $TOK" >&2
    echo "of the worker: rbp_worker-token-1"
    exit 1
    """
    async with commands(WORKER_ENV, secret_values=["rbp_worker-token-1"]) as runtime:
        recorder = Recorder()
        outcome = await runtime.run(shell(script, profile={"secrets": ["TOK", "KEY"]}), recorder, Stop())
    assert recorder.stdout == b"whole ***\nparts ***\n" + b"line ***\n" * 4 + b"of the worker: ***\n"
    assert recorder.stderr == b"error ***\n"
    told = str(outcome)
    assert not [word for word in ("S3cr3t", "123456", "MIIE", "rbp_") if word in told]


async def test_secrets_are_masked_in_what_never_started() -> None:
    profile = {"secrets": ["TOK"], "cwd": f"/no/{WORKER_ENV['TOK']}"}
    async with commands(WORKER_ENV) as runtime:
        outcome = await runtime.run(assignment("true", profile=profile), Recorder(), Stop())
    assert outcome.error_message == "working directory '/no/***': No such file or directory"


async def test_a_missing_secret_is_told_before_anything_starts(tmp_path: Path) -> None:
    async with commands(WORKER_ENV) as runtime:
        outcome = await runtime.run(shell(f"touch {tmp_path}/ran", profile={"secrets": ["NOPE"]}), Recorder(), Stop())
    assert (outcome.kind, outcome.error_kind) == ("failed", "tool_error")
    assert "NOPE" in (outcome.error_message or "")
    assert not os.listdir(tmp_path)  # noqa: PTH208


@pytest.mark.parametrize(
    ("command", "profile", "message"),
    [
        (["no-such-program"], {}, "program 'no-such-program': No such file or directory"),
        (["/etc/passwd"], {}, "program '/etc/passwd': Permission denied"),
        (["true"], {"cwd": "/no/such"}, "working directory '/no/such': No such file or directory"),
    ],
)
async def test_what_cannot_start_fails_at_once_by_name(
    command: list[str], profile: dict[str, str], message: str
) -> None:
    async with commands() as runtime:
        outcome = await runtime.run(assignment(*command, profile=profile), Recorder(), Stop())
    assert (outcome.kind, outcome.error_kind, outcome.error_message) == ("failed", "tool_error", message)


async def test_arguments_fill_the_command_and_never_become_options() -> None:
    async with commands() as runtime:
        recorder = Recorder()
        good = assignment("printf", "%s|", "{targets}", arguments={"targets": ["a b", "$HOME;x"]})
        assert (await runtime.run(good, recorder, Stop())).kind == "succeeded"
        assert recorder.stdout == b"a b|$HOME;x|"
        bad = await runtime.run(assignment("printf", "{target}", arguments={"target": "--version"}), Recorder(), Stop())
    assert (bad.kind, bad.error_kind, bad.retryable) == ("failed", "invalid_params", False)
    assert bad.error_detail == {"pointer": "/target"}


@pytest.mark.parametrize(
    "command",
    [
        [sys.executable, "-I", "-c", "input('pw:')"],
        ["sh", "-c", "read x </dev/tty"],
        ["sh", "-c", "read x || exit 9"],
        ["git", "commit", "--allow-empty"],
    ],
)
async def test_whoever_asks_gets_no_answer_and_fails(command: list[str], tmp_path: Path) -> None:
    await asyncio.to_thread(subprocess.run, ["git", "init", "-q", str(tmp_path)], check=True)
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    profile = {"cwd": str(tmp_path), "env": {**who, "EDITOR": "vi", "HOME": str(tmp_path)}}
    async with commands() as runtime, asyncio.timeout(15):
        outcome = await runtime.run(assignment(*command, profile=profile), Recorder(), Stop())
    assert outcome.kind == "failed"


IN_A_TERMINAL = """
import asyncio
from ringback.worker.runtimes.command import CommandRuntime
from tests.worker.attempts import Recorder, commands, shell
from ringback.worker.assignment import Stop

async def main():
    async with commands() as runtime:
        for script in ("read x </dev/tty", "echo prompt >/dev/tty", "tty && exit 0; tty <&1 && exit 0; exit 5"):
            outcome = await runtime.run(shell(script), Recorder(), Stop())
            assert outcome.kind == "failed", outcome

asyncio.run(main())
print("end")
"""


async def test_a_workers_terminal_is_out_of_reach() -> None:
    leader, follower = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "import os, sys; os.login_tty(0); exec(sys.argv[1])", IN_A_TERMINAL),
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT}/src:{ROOT}"},
        stdin=follower,
        start_new_session=False,
    )
    os.close(follower)
    async with asyncio.timeout(20):
        assert await process.wait() == 0
    assert os.read(leader, 4096) == b"end\r\n"
    os.close(leader)


async def test_thousands_of_commands_leave_nothing_behind() -> None:
    async with guarded() as guardian:
        runtime = CommandRuntime(guardian)
        assert guardian.pid is not None
        counts: list[tuple[int, int, int, int]] = []

        async def some() -> None:
            for _ in range(25):
                assert (await runtime.run(assignment("true"), Recorder(), Stop())).kind == "succeeded"

        for _ in range(20):
            await asyncio.gather(*(some() for _ in range(4)))
            counts.append(footprint(os.getpid(), guardian.pid))
    assert len(set(counts)) == 1, counts


def footprint(worker: int, guardian: int) -> tuple[int, int, int, int]:
    """Descriptors of worker and guardian, threads of the worker, and children of the guardian."""
    descriptors = [len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in (worker, guardian)]
    children = [entry for entry in procfs.scan().values() if entry.ppid == guardian]
    threads = len(list(Path(f"/proc/{worker}/task").iterdir()))
    return descriptors[0], descriptors[1], threads, len(children)


async def test_long_lines_and_odd_bytes_are_no_trouble() -> None:
    program = (
        "import sys; out = sys.stdout.buffer\n"
        "out.write(b'x' * 5_000_000 + b'\\n' + b'\\xff\\x97\\0\\n' + b'y' * 300_000 + b'\\nend\\n')"
    )
    async with commands() as runtime:
        recorder = Recorder()
        assert (await runtime.run(python(program), recorder, Stop())).kind == "succeeded"
    assert recorder.stdout == b"x" * 5_000_000 + b"\n\xff\x97\0\n" + b"y" * 300_000 + b"\nend\n"


async def test_a_flood_is_capped_and_the_gap_is_told() -> None:
    async with commands() as runtime:
        recorder = Recorder()
        flood = shell("exec yes", timeout_ms=500, profile={"limits": {"outputBytes": 1_000_000}})
        outcome = await runtime.run(flood, recorder, Stop())
    assert outcome.kind == "timed_out"
    assert len(recorder.stdout) <= 1_000_000
    assert recorder.dropped_bytes() > 0


async def test_many_updates_are_few_events() -> None:
    program = (
        "import sys, time\n"
        "for n in range(1000): sys.stdout.write('\\r\\x1b[32m %d|###' % n); sys.stdout.flush(); time.sleep(0.0005)\n"
        "print('done')"
    )
    async with commands() as runtime:
        recorder = Recorder()
        await runtime.run(python(program), recorder, Stop())
    assert recorder.stdout.count(b"\r") == 1000
    assert recorder.names().count("output") < 30


async def test_a_fresh_report_is_summed_up_and_a_stale_or_foreign_one_is_not(tmp_path: Path) -> None:
    cases = '<testcase name="a" file="x.py"><failure/></testcase><testcase name="b"/>'
    report = f'<testsuite tests="2" failures="1">{cases}</testsuite>'
    folder = tmp_path / "work"
    folder.mkdir()
    (tmp_path / "outside.xml").write_text(report)
    members = {"profile": {"cwd": str(folder), "env": {"REPORT": report}}, "summary": "junit:out.xml"}
    async with commands() as runtime:
        fresh = await runtime.run(shell('printf %s "$REPORT" > out.xml', **members), Recorder(), Stop())
        os.utime(folder / "out.xml", (1, 1))
        stale = await runtime.run(shell("true", **members), Recorder(), Stop())
        linked = await runtime.run(
            shell("rm out.xml; touch ../outside.xml; ln -s ../outside.xml out.xml", **members), Recorder(), Stop()
        )
    assert "1 failed" in (fresh.summary or "")
    assert "failed" not in (stale.summary or "")
    assert "failed" not in (linked.summary or "")


async def test_a_command_finds_the_server_and_a_token_of_its_own_that_nobody_reads() -> None:
    token = "rbr_run-1.1.abcdefghijklmnop"
    script = 'echo "$RINGBACK_URL $RINGBACK_RUN_TOKEN"; ps -eo args 2>/dev/null | grep -c "[r]br_" >&2; true'
    async with commands(WORKER_ENV, url="http://127.0.0.1:7878") as runtime:
        recorder = Recorder()
        await runtime.run(shell(script, run_token=token), recorder, Stop())
    assert recorder.stdout == b"http://127.0.0.1:7878 ***\n"
    assert recorder.stderr.strip() in (b"", b"0"), "no process title shows it"
    assert token not in repr(shell("true", run_token=token))


async def test_the_idle_limit_rests_while_people_are_asked_and_counts_anew_from_then() -> None:
    async with commands() as runtime:
        stop = Stop()
        stop.rest(True)
        running = asyncio.create_task(runtime.run(shell("sleep 60", idle_timeout_ms=100), Recorder(), stop))
        await asyncio.wait({running}, timeout=1)  # for much longer than the limit
        assert not stop.requested.is_set()
        stop.rest(False)
        outcome = await running
    assert (outcome.kind, outcome.limit) == ("timed_out", "idle")
