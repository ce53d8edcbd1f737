"""What /proc says about processes: who is whose parent, since when, and which marks they carry.

Read by the guardian, so only the standard library's light modules. A pid alone names nobody: it may be given out again
at any time. A pid together with its start moment does, and every signal that is sent here goes through a pidfd that
was checked against the start moment first.
"""

import os
import signal
from collections.abc import Iterable, Mapping
from typing import NamedTuple


class Process(NamedTuple):
    """One line of /proc/PID/stat; `started` counts clock ticks since boot."""

    pid: int
    ppid: int
    session: int
    started: int
    state: str

    @property
    def is_dead(self) -> bool:
        """A zombie waits for its parent only; it runs no code and holds no descriptor."""
        return self.state in "ZX"


def read_bytes(path: str) -> bytes:
    """The whole file; empty when the process is gone or not ours to look at."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return b"".join(iter(lambda: os.read(descriptor, 65_536), b""))
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def process(pid: int) -> Process | None:
    """The process of this pid, or None when there is none."""
    line = read_bytes(f"/proc/{pid}/stat")
    if not line:
        return None
    fields = line[line.rindex(b")") + 2 :].split()
    return Process(pid, int(fields[1]), int(fields[3]), int(fields[19]), fields[0].decode())


def scan() -> dict[int, Process]:
    """Every process that can be seen, by pid."""
    found = (process(int(name)) for name in os.listdir("/proc") if name.isdigit())  # noqa: PTH208
    return {entry.pid: entry for entry in found if entry is not None}


def own_children() -> list[int]:
    """The pids of the calling process's children, zombies included.

    For a single-threaded caller the kernel's list is exact: entries leave it only when the caller itself reaps them.
    """
    try:
        with open("/proc/thread-self/children", "rb") as children:  # noqa: PTH123
            return [int(pid) for pid in children.read().split()]
    except FileNotFoundError:
        own = os.getpid()
        return [entry.pid for entry in scan().values() if entry.ppid == own]


def descendants(processes: Mapping[int, Process], roots: Iterable[int]) -> list[Process]:
    """The living processes at and below `roots`, parents before children."""
    below: dict[int, list[int]] = {}
    for entry in processes.values():
        below.setdefault(entry.ppid, []).append(entry.pid)
    found: list[Process] = []
    queue = list(dict.fromkeys(roots))
    for pid in queue:
        reached = processes.get(pid)
        if reached is not None and not reached.is_dead:
            found.append(reached)
        queue.extend(below.get(pid, ()))
    return found


def send_signal(target: Process, number: signal.Signals) -> bool:
    """Signal exactly this process, never a later owner of its pid; False when it may not be signalled."""
    try:
        descriptor = os.pidfd_open(target.pid)
    except ProcessLookupError:
        return True
    try:
        current = process(target.pid)
        if current is not None and current.started == target.started:
            signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    finally:
        os.close(descriptor)
    return True


def environment(pid: int) -> dict[bytes, bytes]:
    """The environment that the process was started with; empty when it is not ours to read."""
    entries = (entry.partition(b"=") for entry in read_bytes(f"/proc/{pid}/environ").split(b"\0"))
    return {name: value for name, separator, value in entries if separator}


def file_locks_limit(pid: int) -> int | None:
    """The soft RLIMIT_LOCKS of a process, which carries the guardian's tag (see `launch`)."""
    for line in read_bytes(f"/proc/{pid}/limits").splitlines():
        if line.startswith(b"Max file locks"):
            value = line.split()[3]
            return int(value) if value.isdigit() else None
    return None
