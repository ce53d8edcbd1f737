"""How a command ends decides how its attempt ends; and when the outcome is told, nothing of it lives any more."""

import asyncio
import os
import signal
import socket
from pathlib import Path

import pytest

from ringback.worker.assignment import Outcome, Stop, StopReason
from tests.worker.attempts import PYTHON, Recorder, assignment, commands, dead, is_alive, pids_in, python, shell

DETACHED = """
setsid sh -c "trap '' TERM; echo pid=\\$\\$; while :; do sleep 900; done" &
(sleep 901 & echo pid=$!)
sleep 900 & echo pid=$!
echo pid=$$
wait
"""


async def test_exit_zero_succeeds() -> None:
    async with commands() as runtime:
        recorder = Recorder()
        outcome = await runtime.run(shell("echo out; echo err >&2"), recorder, Stop())
    assert (outcome.kind, outcome.exit_code, outcome.result) == ("succeeded", 0, {"exitCode": 0})
    assert (recorder.stdout, recorder.stderr) == (b"out\n", b"err\n")


async def test_another_exit_code_fails() -> None:
    async with commands() as runtime:
        recorder = Recorder()
        outcome = await runtime.run(shell("seq 1 40000; echo FAIL >&2; exit 2"), recorder, Stop())
    assert (outcome.kind, outcome.exit_code, outcome.error_kind) == ("failed", 2, "tool_error")
    assert outcome.error_message == "exit code 2"
    assert outcome.summary
    assert recorder.stdout.splitlines() == [b"%d" % number for number in range(1, 40_001)]


async def test_a_signal_fails_by_its_name() -> None:
    async with commands() as runtime:
        outcome = await runtime.run(shell("kill -SEGV $$"), Recorder(), Stop())
        other = await runtime.run(shell("kill -40 $$"), Recorder(), Stop())
    assert (outcome.kind, outcome.exit_code, outcome.signal) == ("failed", None, "SIGSEGV")
    assert outcome.error_message == "killed by SIGSEGV"
    assert other.error_message == "killed by signal 40"


async def test_the_end_is_the_leaders_exit_and_leftovers_are_counted() -> None:
    async with commands(drain_s=0.05) as runtime:
        recorder = Recorder()
        outcome = await runtime.run(shell("sleep 600 & echo pid=$!; echo done"), recorder, Stop())
        assert not any(map(is_alive, pids_in(recorder.stdout)))
    assert outcome.kind == "succeeded"
    assert outcome.result == {"exitCode": 0, "leftoverProcesses": 1}
    assert recorder.stdout.endswith(b"done\n")


async def test_descendants_may_finish_their_output() -> None:
    async with commands(drain_s=5) as runtime:
        recorder = Recorder()
        outcome = await runtime.run(shell("(sleep 0.1; echo late) & echo early"), recorder, Stop())
    assert outcome.result == {"exitCode": 0}
    assert recorder.stdout == b"early\nlate\n"


async def test_a_leftover_that_floods_holds_nothing_up() -> None:
    async with commands(drain_s=0.05) as runtime:
        outcome = await runtime.run(shell("yes & exit 4"), Recorder(), Stop())
    assert outcome.exit_code == 4
    assert outcome.error_detail["leftoverProcesses"] == 1


async def test_a_cancel_ends_the_whole_tree_before_it_is_told() -> None:
    async with commands() as runtime:
        recorder, stop = Recorder(), Stop()
        running = asyncio.create_task(runtime.run(shell(DETACHED, grace_ms=100), recorder, stop))
        pids = await recorder.until_pids(4)
        stop.request("cancel")
        assert await running == Outcome(kind="stopped", forced=True)
        assert not any(map(is_alive, pids))
    assert "cancel_delivered" in recorder.names()
    assert "cancel_acknowledged" not in recorder.names()


async def test_a_port_is_free_after_a_cancel() -> None:
    server = (
        "import socket; server = socket.create_server(('127.0.0.1', 0));"
        "print('port', server.getsockname()[1], '.', flush=True); server.accept()"
    )
    async with commands() as runtime:
        recorder, stop = Recorder(), Stop()
        script = 'sleep 900 & "$0" -I -c "$1" & wait'
        running = asyncio.create_task(runtime.run(assignment("sh", "-c", script, PYTHON, server), recorder, stop))
        port = int((await recorder.until(b".")).split()[1])
        stop.request("cancel")
        assert (await running).kind == "stopped"
    with socket.create_server(("127.0.0.1", port)):
        pass


async def test_after_the_signal_the_exit_code_no_longer_counts() -> None:
    async with commands() as runtime:
        for code in (0, 7):
            recorder, stop = Recorder(), Stop()
            script = f"trap 'exit {code}' TERM; echo ready; while :; do sleep 0.01; done"
            running = asyncio.create_task(runtime.run(shell(script), recorder, stop))
            await recorder.until(b"ready")
            stop.request("cancel")
            assert await running == Outcome(kind="stopped", forced=False)
            told = [name for name in recorder.names() if name != "output"]
            assert told == ["cancel_delivered", "cancel_acknowledged"]


async def test_a_stop_beforehand_starts_nothing(tmp_path: Path) -> None:
    async with commands() as runtime:
        stop = Stop()
        stop.request("cancel")
        assert await runtime.run(shell(f"touch {tmp_path}/ran"), Recorder(), stop) == Outcome(
            kind="stopped", forced=False
        )
    assert not os.listdir(tmp_path)  # noqa: PTH208


@pytest.mark.parametrize("delay_steps", range(0, 60, 3))
async def test_a_cancel_that_races_with_the_start_wins_or_kills(delay_steps: int, tmp_path: Path) -> None:
    async with commands() as runtime:
        stop = Stop()
        running = asyncio.create_task(runtime.run(shell(f"sleep 1; touch {tmp_path}/ran"), Recorder(), stop))
        for _ in range(delay_steps):
            await asyncio.sleep(0)
        stop.request("cancel")
        outcome = await running
    assert outcome.kind == "stopped"
    assert not os.listdir(tmp_path)  # noqa: PTH208


FLOOD = "import signal; signal.signal(15, signal.SIG_IGN)\nwhile True: print('x' * 65536)"


async def test_the_attempts_limit_holds_for_a_flood_that_ignores_signals() -> None:
    async with commands() as runtime:
        flood = python(FLOOD, timeout_ms=200, grace_ms=100, profile={"limits": {"outputBytes": 1 << 20}})
        async with asyncio.timeout(15):
            outcome = await runtime.run(flood, Recorder(), Stop())
        assert outcome == Outcome(kind="timed_out", limit="attempt", forced=True)
        assert (await runtime.run(assignment("true"), Recorder(), Stop())).kind == "succeeded"


async def test_silence_is_limited_and_output_renews_it() -> None:
    async with commands() as runtime:
        recorder = Recorder()
        script = "for i in $(seq 12); do echo $i; sleep 0.1; done; exec sleep 900"
        outcome = await runtime.run(shell(script, idle_timeout_ms=900), recorder, Stop())
    assert outcome == Outcome(kind="timed_out", limit="idle", forced=False)
    assert recorder.stdout.split()[-1] == b"12"


async def test_output_that_waits_for_the_reporter_is_not_silence() -> None:
    async with commands() as runtime:
        recorder = Recorder()
        recorder.gate.clear()
        running = asyncio.create_task(
            runtime.run(shell("yes | head -c 4000000", idle_timeout_ms=100), recorder, Stop())
        )
        done, _ = await asyncio.wait({running}, timeout=0.3)
        assert not done
        recorder.gate.set()
        assert (await running).kind == "succeeded"
    assert len(recorder.stdout) == 4_000_000


async def test_a_reporter_that_waits_does_not_hold_up_the_killing() -> None:
    async with commands() as runtime:
        recorder, stop = Recorder(), Stop()
        running = asyncio.create_task(runtime.run(shell("echo pid=$$; exec yes", grace_ms=0), recorder, stop))
        (pid,) = pids_in(await recorder.until(b"pid="))[:1]
        recorder.gate.clear()
        stop.request("cancel")
        await dead(pid)
        recorder.gate.set()
        assert await running == Outcome(kind="stopped", forced=True)


@pytest.mark.parametrize(
    ("why", "expected"),
    [
        ("timeout:deadline", Outcome(kind="timed_out", limit="deadline", forced=False)),
        ("drain", Outcome(kind="released", forced=False)),
        ("lost", Outcome(kind="released", forced=True)),
    ],
)
async def test_the_reason_of_a_stop_decides_the_outcome(why: StopReason, expected: Outcome) -> None:
    async with commands() as runtime:
        recorder, stop = Recorder(), Stop()
        running = asyncio.create_task(runtime.run(shell("echo ready; exec sleep 900"), recorder, stop))
        await recorder.until(b"ready")
        stop.request(why)
        assert await running == expected
        assert not {"cancel_delivered", "cancel_acknowledged"} & set(recorder.names())


async def test_a_lost_lease_cuts_the_grace_short() -> None:
    async with commands() as runtime:
        recorder, stop = Recorder(), Stop()
        running = asyncio.create_task(runtime.run(shell(DETACHED, grace_ms=600_000), recorder, stop))
        pids = await recorder.until_pids(4)
        stop.request("cancel")
        await recorder.is_delivered.wait()
        stop.request("lost")
        async with asyncio.timeout(15):
            await running
        assert not any(map(is_alive, pids))


async def test_a_cancelled_runtime_leaves_nothing() -> None:
    async with commands() as runtime:
        recorder = Recorder()
        running = asyncio.create_task(runtime.run(shell(DETACHED), recorder, Stop()))
        pids = await recorder.until_pids(4)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert not any(map(is_alive, pids))


async def test_a_reporter_that_fails_ends_the_command() -> None:
    class Failing(Recorder):
        async def output(self, stream: object, data: bytes) -> None:
            raise ConnectionError("away")

    async with commands() as runtime:
        with pytest.raises(ConnectionError):
            await runtime.run(shell("echo; exec sleep 900"), Failing(), Stop())


async def test_a_cpu_limit_ends_the_command_by_its_signal() -> None:
    async with commands() as runtime:
        spin = python("while True: pass", profile={"limits": {"cpuSeconds": 1}})
        outcome = await runtime.run(spin, Recorder(), Stop())
    assert outcome.signal == signal.SIGXCPU.name


async def test_a_busy_command_does_not_hold_up_its_neighbours() -> None:
    async with commands() as runtime:
        stop = Stop()
        busy = asyncio.create_task(
            runtime.run(shell("exec yes", profile={"limits": {"outputBytes": 1 << 20}}), Recorder(), stop)
        )
        for _ in range(10):
            assert (await runtime.run(assignment("true"), Recorder(), Stop())).kind == "succeeded"
        assert not busy.done()
        stop.request("cancel")
        assert (await busy).kind == "stopped"
