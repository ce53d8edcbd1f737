"""What is left of guardians and workers that were killed, and how it is found again.

Two marks lead there. The tag (see `launch`) names the orphans of a guardian that died while its worker lives. The
environment variable RINGBACK_WORKER names the incarnation of a worker; when that worker is dead, whatever still
carries its mark is swept by the next incarnation. A living worker's processes are never touched: the mark holds the
pid and the start moment of its owner, and the pid namespace in which they mean something.
"""

import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from ringback.worker.processes import launch, procfs

WORKER_VARIABLE: Final = "RINGBACK_WORKER"
GIVE_UP_AFTER_S: Final = 30.0
PAUSE_S: Final = 0.005


def incarnation_mark(worker_mark: str) -> str:
    """The mark of this process's wards: whose they are, and which incarnation started them."""
    own = procfs.process(os.getpid())
    started = 0 if own is None else own.started
    return f"{worker_mark}.{_pid_namespace()}.{os.getpid()}.{started}"


def sweep(worker_mark: str) -> int:
    """Kill what dead incarnations of this worker left behind; returns how many processes that were."""
    killed: set[tuple[int, int]] = set()
    give_up_at = time.monotonic() + GIVE_UP_AFTER_S
    while time.monotonic() < give_up_at:
        processes = procfs.scan()
        roots = [pid for pid in processes if _is_abandoned(pid, worker_mark, processes)]
        found = procfs.descendants(processes, roots)
        killed.update((entry.pid, entry.started) for entry in found)
        if not _kill(found):
            break
        time.sleep(PAUSE_S)
    return len(killed)


def kill_orphans(tag_base: int) -> None:
    """Kill and reap what a dead guardian left to the calling process, its subreaper, until nothing is left."""
    tags = range(tag_base, tag_base + launch.TAG_SPAN)
    own = os.getpid()
    ours: set[int] = set()
    give_up_at = time.monotonic() + GIVE_UP_AFTER_S
    while time.monotonic() < give_up_at:
        processes = procfs.scan()
        children = [entry.pid for entry in processes.values() if entry.ppid == own]
        ours.update(pid for pid in children if procfs.file_locks_limit(pid) in tags)
        orphans = [pid for pid in children if pid in ours]
        if not orphans:
            return
        living = procfs.descendants(processes, orphans)
        if not _kill(living) and living:
            return
        ours.difference_update(pid for pid in orphans if os.waitpid(pid, os.WNOHANG)[0])
        time.sleep(PAUSE_S)


def _kill(found: Iterable[procfs.Process]) -> bool:
    """SIGKILL for each; whether there was any that may be killed at all."""
    allowed = [procfs.send_signal(entry, signal.SIGKILL) for entry in found]
    return any(allowed)


def _is_abandoned(pid: int, worker_mark: str, processes: dict[int, procfs.Process]) -> bool:
    value = procfs.environment(pid).get(WORKER_VARIABLE.encode(), b"").decode(errors="replace")
    mark, _, incarnation = value.partition(".")
    parts = incarnation.split(".")
    if mark != worker_mark or len(parts) != 3 or not all(part.isdigit() for part in parts):
        return False
    namespace, owner, started = map(int, parts)
    if namespace != _pid_namespace():
        return False
    living = processes.get(owner)
    return living is None or living.started != started


def _pid_namespace() -> int:
    return Path("/proc/self/ns/pid").stat().st_ino
