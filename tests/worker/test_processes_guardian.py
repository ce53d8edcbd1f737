"""The guardian starts processes as asked, tells how they end, and finds everything that descends from them."""

import asyncio
import os
import signal

import pytest

from ringback.worker.processes import procfs
from ringback.worker.processes.child import SpawnError
from tests.worker.attempts import PYTHON, dead, guarded, is_alive

ENV = {"PATH": os.environ["PATH"]}


async def all_of(descriptor: int) -> bytes:
    """Everything until the end of file."""
    os.set_blocking(descriptor, True)
    with os.fdopen(os.dup(descriptor), "rb") as file:
        return await asyncio.to_thread(file.read)


async def test_exit_statuses_come_through() -> None:
    async with guarded() as guardian:
        for script, expected in (("exit 0", 0), ("exit 41", 41), ("kill -SEGV $$", -signal.SIGSEGV)):
            child = await guardian.spawn(["sh", "-c", script], env=ENV)
            assert await child.wait() == child.returncode == expected
            await child.gone()
            assert child.left == child.immune == 0
            await child.aclose()


async def test_a_child_leads_a_session_and_inherits_nothing() -> None:
    report = (
        "import os;"
        "print(os.getpid() == os.getsid(0) == os.getpgid(0));"
        "print(sorted(int(fd) for fd in os.listdir('/proc/self/fd'))[:3]);"
        "print(len(os.listdir('/proc/self/fd')));"
        "print(os.readlink('/proc/self/fd/0'), os.getcwd())"
    )
    async with guarded() as guardian:
        child = await guardian.spawn([PYTHON, "-I", "-S", "-c", report], env=ENV, cwd="/usr")
        # The fourth descriptor is the listing itself.
        assert (await all_of(child.stdout)).splitlines() == [b"True", b"[0, 1, 2]", b"4", b"/dev/null /usr"]
        await child.aclose()


# Signals 32 and 33, which it lets no program change; whoever runs the tests may pass them on.
OF_THE_C_LIBRARY = 0b11 << 31


async def test_ignored_signals_are_not_inherited() -> None:
    async with guarded() as guardian:
        child = await guardian.spawn(["sh", "-c", "grep -E 'Sig(Ign|Blk)' /proc/self/status"], env=ENV)
        _, blocked, _, ignored = (await all_of(child.stdout)).split()
        assert (int(blocked, 16) & ~OF_THE_C_LIBRARY, int(ignored, 16) & ~OF_THE_C_LIBRARY) == (0, 0)
        await child.aclose()


async def test_input_and_a_control_socket_are_given_when_asked_for() -> None:
    program = (
        "import os, socket, sys;"
        "peer = socket.socket(fileno=int(os.environ['RINGBACK_CONTROL_FD']));"
        "peer.sendall(sys.stdin.buffer.read().upper())"
    )
    async with guarded() as guardian:
        data = b"some input " * 100_000
        child = await guardian.spawn(
            [PYTHON, "-I", "-S", "-c", program], env=ENV, stdin=data, control=True, capture=False
        )
        assert child.control is not None
        reader, writer = await asyncio.open_connection(sock=child.control)
        assert await reader.read() == data.upper()
        writer.close()
        assert await child.wait() == 0
        await child.aclose()


async def test_long_arguments_travel_too() -> None:
    async with guarded() as guardian:
        arguments = ["x" * 100_000, "\u00e9" * 20_000, "y" * 90_000]
        child = await guardian.spawn(["printf", "%s", *arguments], env=ENV)
        assert await all_of(child.stdout) == "".join(arguments).encode()
        await child.aclose()


@pytest.mark.parametrize(
    ("argv", "cwd", "reason"),
    [
        (["no-such-program"], "/", "program 'no-such-program': No such file or directory"),
        (["/etc/passwd"], "/", "program '/etc/passwd': Permission denied"),
        (["true"], "/no/such/folder", "working directory '/no/such/folder': No such file or directory"),
        (["true"], "/etc/passwd", "working directory '/etc/passwd': Not a directory"),
        (["true", "x" * 200_000], "/", "program 'true': Argument list too long"),
        (["true", "a\0b"], "/", "program 'true': embedded null byte"),
    ],
)
async def test_what_cannot_be_started_is_named(argv: list[str], cwd: str, reason: str) -> None:
    async with guarded() as guardian:
        with pytest.raises(SpawnError) as refused:
            await guardian.spawn(argv, env=ENV, cwd=cwd)
        assert str(refused.value) == reason
        child = await guardian.spawn(["true"], env=ENV)
        assert await child.wait() == 0
        await child.aclose()


async def test_limits_hold_from_the_first_instruction() -> None:
    limits = {"openFiles": 32, "fileBytes": 4096, "cpuSeconds": 7, "memoryBytes": 1 << 30, "outputBytes": 5}
    async with guarded() as guardian:
        child = await guardian.spawn(
            ["sh", "-c", "ulimit -n; ulimit -f; ulimit -t; ulimit -v; ulimit -c"], env=ENV, limits=limits
        )
        assert (await all_of(child.stdout)).split() == [b"32", b"8", b"7", b"1048576", b"0"]
        await child.aclose()
        child = await guardian.spawn(["sh", "-c", "ulimit -n"], env=ENV)
        assert int(await all_of(child.stdout)) > 32
        await child.aclose()


async def test_stopping_is_polite_first() -> None:
    async with guarded() as guardian:
        child = await guardian.spawn(["sh", "-c", "trap 'exit 7' TERM; echo; while :; do sleep 1; done"], env=ENV)
        await asyncio.to_thread(_wait_for_a_line, child.stdout)
        assert await child.stop(5) is False
        assert child.returncode == 7
        assert await child.stop(5) is False
        await child.aclose()


async def test_stopping_does_not_depend_on_consent() -> None:
    async with guarded() as guardian:
        child = await guardian.spawn(["sh", "-c", "trap '' TERM; echo; while :; do sleep 1; done"], env=ENV)
        await asyncio.to_thread(_wait_for_a_line, child.stdout)
        assert await child.stop(0.05) is True
        assert child.returncode == -signal.SIGKILL
        assert not is_alive(child.pid)
        await child.aclose()


async def test_a_suspended_process_hears_the_stop() -> None:
    async with guarded() as guardian:
        child = await guardian.spawn(["sh", "-c", "kill -STOP $$; exit 3"], env=ENV)
        assert await child.stop(5) is False
        await child.aclose()


async def test_pruning_spares_the_leader() -> None:
    async with guarded() as guardian:
        program = (
            "import subprocess, sys;"
            "kids = [subprocess.Popen(['sleep', '900'], start_new_session=s) for s in (True, False)];"
            "print(*[kid.pid for kid in kids], flush=True);"
            "sys.exit(sum(kid.wait() == -9 for kid in kids))"
        )
        child = await guardian.spawn([PYTHON, "-I", "-S", "-c", program], env=ENV)
        kids = [int(pid) for pid in (await asyncio.to_thread(_wait_for_a_line, child.stdout)).split()]
        assert await child.prune() == 2
        assert not any(map(is_alive, kids))
        assert await child.wait() == 2
        assert await child.prune() == 0
        await child.aclose()


async def test_an_orphan_that_hides_is_found_and_its_neighbour_left_alone() -> None:
    hiding = "env -i setsid sh -c 'echo $$; exec sleep 900' & "
    async with guarded() as guardian:
        first = await guardian.spawn(["sh", "-c", f"({hiding})"], env=ENV)
        second = await guardian.spawn(["sh", "-c", f"({hiding}) ; sleep 900"], env=ENV)
        orphans = [int(await asyncio.to_thread(_wait_for_a_line, child.stdout)) for child in (first, second)]
        await first.wait()
        await first.kill_tree()
        assert not is_alive(orphans[0])
        assert is_alive(orphans[1])
        assert is_alive(second.pid)
        await second.kill_tree()
        assert not is_alive(orphans[1])
        for child in (first, second):
            await child.aclose()


async def test_a_tree_that_breeds_is_killed_whole() -> None:
    script = "echo; breed() { sleep 0.01 & breed & wait; }; breed"
    async with guarded() as guardian:
        child = await guardian.spawn(["sh", "-c", script], env={**ENV, "RINGBACK_ATTEMPT": "breeding"})
        await asyncio.to_thread(_wait_for_a_line, child.stdout)
        await child.kill_tree()
        own = await asyncio.to_thread(_carrying, b"RINGBACK_ATTEMPT=breeding")
        assert own == []
        await child.aclose()


async def test_closing_ends_everything() -> None:
    async with guarded() as guardian:
        child = await guardian.spawn(["sh", "-c", "setsid sleep 900 & echo $!; trap '' TERM; sleep 900"], env=ENV)
        pids = [child.pid, int(await asyncio.to_thread(_wait_for_a_line, child.stdout))]
    await dead(*pids)
    child.close_pipes()


async def test_cancelling_a_start_leaves_nothing() -> None:
    async with guarded() as guardian:
        for _ in range(20):
            starting = asyncio.create_task(guardian.spawn(["sleep", "900"], env={**ENV, "RINGBACK_ATTEMPT": "early"}))
            await asyncio.sleep(0)
            starting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await starting
        assert await asyncio.to_thread(_carrying, b"RINGBACK_ATTEMPT=early") == []


def _wait_for_a_line(descriptor: int) -> bytes:
    os.set_blocking(descriptor, True)
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(descriptor, 1)
        assert piece, "the output ended"
        line += piece
    return line


def _carrying(mark: bytes) -> list[int]:
    """The processes with this variable in their environment."""
    name, _, value = mark.partition(b"=")
    return [pid for pid in procfs.scan() if procfs.environment(pid).get(name) == value]
