"""Processes of the product that tests start, stop, suspend and kill, always by their own pid; and what is left of them."""

import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

GONE_WITHIN_S = 30.0


class Process:
    """One process that logs into a file. Whoever starts it ends it with `kill` or `end`."""

    def __init__(
        self, name: str, command: Sequence[str], *, log: Path, env: Mapping[str, str], cwd: Path, first: bytes = b""
    ) -> None:
        """Started at once; `first` is written to its stdin, which stays open for as long as we live."""
        self.name, self.log_path = name, log
        with log.open("ab") as sink:
            self._popen = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=sink, stderr=sink, env=env, cwd=cwd, start_new_session=True
            )
        if first:
            assert self._popen.stdin is not None
            self._popen.stdin.write(first)
            self._popen.stdin.flush()

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def code(self) -> int | None:
        """The exit code, None while it lives."""
        return self._popen.poll()

    @property
    def log(self) -> str:
        return self.log_path.read_text(encoding="utf-8", errors="replace")

    def signal(self, number: signal.Signals) -> None:
        if self.code is None:
            self._popen.send_signal(number)

    def suspend(self) -> None:
        self.signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.signal(signal.SIGCONT)

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        self.signal(signal.SIGKILL)
        self._popen.wait(GONE_WITHIN_S)
        self.close()

    def end(self, within_s: float = GONE_WITHIN_S) -> int:
        """SIGTERM, and its exit code."""
        self.signal(signal.SIGTERM)
        return self.ended(within_s)

    def ended(self, within_s: float = GONE_WITHIN_S) -> int:
        """Its exit code, once it has ended."""
        code = self._popen.wait(within_s)
        self.close()
        return code

    def close(self) -> None:
        """Close its stdin."""
        if self._popen.stdin is not None:
            with suppress(BrokenPipeError):
                self._popen.stdin.close()


def environment_of(pid: int) -> dict[bytes, bytes]:
    """The environment that a process was started with; empty when it is gone or a zombie."""
    try:
        raw = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return {}
    return dict(entry.split(b"=", 1) for entry in raw.split(b"\0") if b"=" in entry)


def pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def carrying(variable: str, prefix: str) -> list[int]:
    """The processes whose environment has this variable with a value that begins so."""
    key, value = variable.encode(), prefix.encode()
    return [pid for pid in pids() if environment_of(pid).get(key, b"").startswith(value) and not is_zombie(pid)]


def running(text: str) -> list[int]:
    """The processes whose command line holds `text`."""
    return [pid for pid in pids() if text.encode() in _command_line(pid) and not is_zombie(pid)]


def children_of(parent: int) -> list[int]:
    return [pid for pid in pids() if _stat(pid)[1:2] == [str(parent)]]


def descendants_of(parent: int) -> list[int]:
    """Its children, their children and so on."""
    found = children_of(parent)
    for pid in found:
        found.extend(children_of(pid))
    return found


def is_zombie(pid: int) -> bool:
    return _stat(pid)[:1] == ["Z"]


def descriptor_count(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def thread_count(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
    except OSError:
        return b""


def _stat(pid: int) -> list[str]:
    """State, parent and so on; empty when it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()
