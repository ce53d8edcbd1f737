"""`up`: start-up failures in one line, the order of ending, and crashes of each of its processes."""

import os
import pty
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ringback.client import Ringback
from ringback.client.probe import probe
from tests.cli.command import environment, ringback
from tests.cli.living import TOOLS, Living, living

GONE_WITHIN_S = 20.0


def pids_of(text: str) -> list[int]:
    """Processes whose command line holds `text`."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and text.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def worker_of(rb: Living) -> int:
    (pid,) = [pid for pid in pids_of(str(rb.data)) if b"attached" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    return pid


@contextmanager
def watching(*pids: int) -> Iterator[None]:
    """All of these processes are gone at the end of the block, soon."""
    fds = [os.pidfd_open(pid) for pid in pids]
    try:
        yield
        for fd in fds:
            assert select.select([fd], [], [], GONE_WITHIN_S)[0], "a process is still there"
    finally:
        for fd in fds:
            os.close(fd)


def eventually(check: object, within_s: float = GONE_WITHIN_S) -> None:
    """Look until it is so."""
    assert callable(check)
    until = time.monotonic() + within_s
    while not check():
        assert time.monotonic() < until
        time.sleep(0.05)


def failed(folder: Path, *options: str, **variables: str) -> str:
    """The one line that a start which fails leaves."""
    done = ringback(folder / "data", "up", "--port", "0", *options, cwd=folder, env=variables)
    assert done.code in {1, 2}
    assert done.out == ""
    (line,) = done.err.splitlines()
    return line


def test_a_taken_port(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert f"port {port} of 127.0.0.1 is taken" in failed(tmp_path, "--port", port)


def test_a_data_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "cannot be written: Not a directory" in failed(tmp_path, "--data", str(tmp_path / "file" / "x"))


def test_a_wrong_store(tmp_path: Path) -> None:
    assert "must start with sqlite://" in failed(tmp_path, "--store", "mysql://x")
    assert "the server cannot run" in failed(tmp_path, "--store", "sqlite:////proc/nothing/x.db")


def test_an_unknown_key(tmp_path: Path) -> None:
    assert "`RINGBACK_PORT`" in failed(tmp_path, RINGBACK_PROT="1")
    (tmp_path / "ringback.toml").write_text("[server]\nprot = 1\n")
    assert "`port`" in failed(tmp_path)


def test_a_file_of_tools_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "ringback.toml").write_text("[tools.x]\ncomand = 1\n")
    assert "ringback.toml:1: [tools.x]: needs a `command`" in failed(tmp_path)
    assert "cannot be read" in failed(tmp_path, "--file", "nothing.toml")


def test_errors_of_a_start_are_json_when_asked_for(tmp_path: Path) -> None:
    done = ringback(tmp_path, "up", "--json", "--store", "x")
    assert (done.code, done.json["error"]["code"]) == (2, "settings_invalid")
    done = ringback(tmp_path, "up", "--detach", "--json", "--store", "x")
    assert (done.code, "must start with sqlite" in done.json["error"]["message"]) == (1, True)


def test_one_up_a_data_folder(tmp_path: Path) -> None:
    with living(tmp_path / "a", "--no-worker") as rb:
        assert f"is already served at {rb.url} (pid {rb.said['pid']})" in failed(tmp_path, "--data", str(rb.data))


def test_what_lies_in_the_data_folder_is_its_owners_alone(tmp_path: Path) -> None:
    with living(tmp_path / "a", "--no-worker") as rb:
        rb.data.chmod(0o755)  # a folder that was there before may be open to others
        open_to_others = [file.name for file in rb.data.iterdir() if file.stat().st_mode & 0o077]

    assert open_to_others == []


def test_term_drains_the_worker_first_and_ends_everything(tmp_path: Path) -> None:
    with living(tmp_path / "a", "--drain", "5") as rb:
        job_id = rb.start("wait")
        eventually(lambda: rb("show", job_id, "--json").json["job"]["status"] == "running")
        with watching(rb.said["pid"], rb.said["server_pid"], worker_of(rb)):
            began = time.monotonic()
            rb.process.send_signal(signal.SIGTERM)
            assert rb.process.wait(15) == 0
            assert time.monotonic() - began < 7
    with living(tmp_path / "a", "--no-worker") as rb:
        job = rb("show", job_id, "--json").json
        assert job["attempts"][0]["outcome"] in {"released", "stopped", "lost"}, (
            "the worker told it before the server ended"
        )


def test_ctrl_c_twice_ends_at_once(tmp_path: Path) -> None:
    with living(tmp_path / "a", "--drain", "600") as rb:
        job_id = rb.start("wait")
        eventually(lambda: rb("show", job_id, "--json").json["job"]["status"] == "running")
        with watching(rb.said["server_pid"], worker_of(rb)):
            eventually(lambda: _interrupted(rb.process))
            assert rb.process.returncode == 0


def test_a_worker_that_dies_is_started_again(tmp_path: Path) -> None:
    with living(tmp_path / "a") as rb:
        first = worker_of(rb)
        with watching(first):
            os.kill(first, signal.SIGKILL)
        assert rb("run", "say", "text=hello").code == 0
        assert worker_of(rb) != first


def test_a_server_that_dies_ends_up(tmp_path: Path) -> None:
    with living(tmp_path / "a") as rb, watching(worker_of(rb)):
        os.kill(rb.said["server_pid"], signal.SIGKILL)
        assert rb.process.wait(GONE_WITHIN_S) == 1
    assert "the server ended by itself" in (tmp_path / "a" / "stderr").read_text()


def test_killing_up_frees_port_and_folder_at_once(tmp_path: Path) -> None:
    with living(tmp_path / "a") as rb, watching(rb.said["server_pid"], worker_of(rb)):
        port = rb.url.rpartition(":")[2]
        rb.process.kill()
        rb.process.wait(5)
        with watching(rb.said["server_pid"]):
            pass
        with living(tmp_path / "a", "--port", port) as again:
            assert again.url == rb.url
            assert again("run", "say", "text=hello").code == 0


def test_detach_and_down(tmp_path: Path) -> None:
    (tmp_path / "ringback.toml").write_text(TOOLS.replace("{python}", sys.executable))
    data = tmp_path / "data"
    started = ringback(data, "up", "--detach", "--port", "0", "--json", cwd=tmp_path)
    assert started.code == 0, started.err
    said = started.json
    assert probe(said["url"], "/readyz") == 200
    with watching(said["pid"], said["server_pid"]):
        assert ringback(data, "run", "say", "text=hello", cwd=tmp_path).code == 0
        assert Path(said["log_file"]).exists()
        again = ringback(data, "up", "--detach", "--port", "0", cwd=tmp_path)
        assert (again.code, "already served" in again.err) == (1, True)
        assert ringback(data, "down", cwd=tmp_path).out == f"stopped (pid {said['pid']})\n"
    assert ringback(data, "down", cwd=tmp_path).code == 5


@pytest.mark.parametrize(("word", "code"), [("n", 5), ("y", 0)])
def test_a_person_is_offered_a_server(tmp_path: Path, word: str, code: int) -> None:
    (tmp_path / "ringback.toml").write_text("[server]\nport = 0\n")
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "ringback", "list"]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment(tmp_path / "data"), stdin=follower, stdout=follower, stderr=follower
    )
    os.close(follower)
    try:
        seen = _read_until(leader, b"[Y/n]")
        os.write(leader, word.encode() + b"\n")
        seen += _read_until(leader, None)
    finally:
        os.close(leader)
        ringback(tmp_path / "data", "down", cwd=tmp_path)
    assert process.wait(5) == code
    assert (b"started: http://127.0.0.1:" in seen) is (code == 0)
    assert (b"No jobs." in seen) is (code == 0)


def _read_until(fd: int, mark: bytes | None) -> bytes:
    """What a terminal shows, up to the mark, or to its end."""
    seen = b""
    try:
        while mark is None or mark not in seen:
            piece = os.read(fd, 4096)
            if not piece:
                break
            seen += piece
    except OSError:
        pass  # Linux says so when the last writer of a terminal is gone
    return seen


def test_a_stale_pid_is_never_believed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as bystander:
        (tmp_path / "up.pid").write_text(str(bystander.pid))
        (tmp_path / "server.json").write_text(f'{{"url": "http://127.0.0.1:9", "pid": {bystander.pid}}}')
        assert ringback(tmp_path, "down").code == 5
        assert bystander.poll() is None
        bystander.kill()


def test_modules_of_the_working_folder_do_not_get_in_the_way(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    for name in ("queue", "uvicorn", "json"):
        (folder / f"{name}.py").write_text("raise RuntimeError('not this one')\n")
    (folder / "ringback.toml").write_text(TOOLS.replace("{python}", sys.executable))
    with Ringback.embedded(folder / "data", file=folder / "ringback.toml") as client:
        assert client.start("say", {"text": "hello"}).wait(30).status == "done"


@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_it_starts_ends_it(tmp_path: Path, signal_number: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "ringback", "up", "--port", "0"], cwd=tmp_path, env=environment(tmp_path / "data")
    )
    eventually(lambda: pids_of("--plan-fd") and process.pid in pids_of("--plan-fd"))
    eventually(lambda: any(process.pid == _parent_of(pid) for pid in pids_of("ringback.cli.serving")))
    process.send_signal(signal_number)
    assert process.wait(GONE_WITHIN_S) == 0


def _interrupted(process: subprocess.Popen[str]) -> bool:
    """Press Ctrl-C, unless it has ended."""
    process.send_signal(signal.SIGINT)
    return process.poll() is not None


def _parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0
