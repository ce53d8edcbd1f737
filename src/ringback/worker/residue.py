"""What an attempt leaves behind in a warm interpreter, found cheaply after each one.

Processes: the kernel knows whether there is a child now, and its accounting of waited-for children changes whenever
one was reaped; together that tells whether any process was started, by whatever code, for two system calls. The worker
then has the survivors killed. Threads: the ones started by user code that would keep an interpreter alive and don't
end at once cost the interpreter. Descriptors 1 and 2: an interpreter without them is mute, so it is replaced, and so is
one whose memory grew.
"""

import gc
import os
import resource
import threading
import time
from typing import Final

_THREADS_END_WITHIN_S: Final = 0.25
_MEMORY_EVERY: Final = 64
_WAITABLE: Final = os.WEXITED | os.WNOHANG | os.WNOWAIT
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


class Residue:
    """Compares the interpreter after an attempt with the one before."""

    def __init__(self, *, attempts_max: int, growth_max_bytes: int) -> None:
        """Take what the application holds after loading as its own."""
        self._attempts_max = attempts_max
        self._growth_max_bytes = growth_max_bytes
        self._attempts = 0
        self._threads = set(threading.enumerate())
        self._thread_count = len(self._threads)
        self._reaped = resource.getrusage(resource.RUSAGE_CHILDREN)
        self._memory_bytes = 0
        self._output = _output_files()

    def begin(self) -> None:
        """Remember the state before an attempt."""
        if _has_children():
            _reap()
            self._reaped = resource.getrusage(resource.RUSAGE_CHILDREN)

    def has_forked(self) -> bool:
        """Whether the attempt started a process, reaped or not."""
        reaped = resource.getrusage(resource.RUSAGE_CHILDREN)
        has_forked = _has_children() or reaped != self._reaped
        self._reaped = reaped
        return has_forked

    def has_threads(self) -> bool:
        """Whether there are more threads than the application has of its own."""
        return threading.active_count() != self._thread_count

    def why_retire(self) -> str:
        """Why this interpreter should be replaced; empty when it can stay."""
        self._attempts += 1
        if self.has_threads() and (left := self._lasting_threads()):
            return f"threads were left running: {left}"
        if _output_files() != self._output:
            return "its standard output was closed or replaced"
        if self._attempts >= self._attempts_max:
            return f"it has carried out {self._attempts} attempts"
        if self._attempts % _MEMORY_EVERY == 0:
            return self._why_too_large()
        return ""

    def _lasting_threads(self) -> str:
        until = time.monotonic() + _THREADS_END_WITHIN_S
        started = [thread for thread in threading.enumerate() if thread not in self._threads and not thread.daemon]
        for thread in started:
            thread.join(max(0.0, until - time.monotonic()))
        return ", ".join(thread.name for thread in started if thread.is_alive())[:200]

    def _why_too_large(self) -> str:
        now = _resident_bytes()
        if not self._memory_bytes:
            self._memory_bytes = now
        if now - self._memory_bytes <= self._growth_max_bytes:
            return ""
        gc.collect()
        grown = _resident_bytes() - self._memory_bytes
        return f"its memory grew by {grown} bytes" if grown > self._growth_max_bytes else ""


def _output_files() -> tuple[tuple[int, int], ...]:
    """Which files descriptors 1 and 2 are; nothing when one is closed."""
    try:
        return tuple((status.st_dev, status.st_ino) for status in (os.fstat(1), os.fstat(2)))
    except OSError:
        return ()


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, _WAITABLE)
    except ChildProcessError:
        return False
    return True


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _resident_bytes() -> int:
    with open("/proc/self/statm", "rb") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * _PAGE
