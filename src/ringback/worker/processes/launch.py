"""How the guardian starts a process: a session of its own, an empty stdin, no terminal, nothing inherited.

Two ways, chosen by what is asked for. Without resource limits the child is made by vfork (a tenth of a millisecond
here, and no copy of the guardian's memory). With limits the guardian forks, which is safe because it has one thread,
and the child sets its limits before the program begins.

The tag: the soft RLIMIT_LOCKS, which the kernel has ignored since 2.4, is inherited over fork, exec, setsid and an
emptied environment, and anybody may read it in /proc/PID/limits. Each start gets a value of its own, so that an orphan
can be traced back to its attempt whatever it did to hide.
"""

import os
import resource
import signal
import subprocess
from collections.abc import Mapping, Sequence
from ctypes import CDLL
from typing import Final

RLIMIT_LOCKS: Final = 10
TAG_SPAN: Final = 1 << 20
CONTROL_VARIABLE: Final = "RINGBACK_CONTROL_FD"
PR_SET_PDEATHSIG: Final = 1
PR_SET_CHILD_SUBREAPER: Final = 36
LIMITS: Final[Mapping[str, int]] = {
    "memoryBytes": resource.RLIMIT_AS,
    "cpuSeconds": resource.RLIMIT_CPU,
    "openFiles": resource.RLIMIT_NOFILE,
    "processes": resource.RLIMIT_NPROC,
    "fileBytes": resource.RLIMIT_FSIZE,
}
_LIBC: Final = CDLL(None)


def become_subreaper() -> None:
    """Make orphaned descendants of this process its own children."""
    if _LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError("this kernel has no child subreapers")


def set_tag(tag: int) -> None:
    """Let every process that is started from now on carry this tag."""
    resource.setrlimit(RLIMIT_LOCKS, (tag, resource.getrlimit(RLIMIT_LOCKS)[1]))


def launch(
    argv: Sequence[str],
    environment: Mapping[str, str],
    directory: str | None,
    limits: Mapping[str, int],
    streams: Mapping[str, int],
) -> subprocess.Popen[bytes]:
    """Start the program with the given descriptors; streams that are not named are /dev/null.

    Raises:
        OSError: it could not be started; `filename` is the program, or the directory when that was the obstacle.
        ValueError: an argument cannot be passed to a program (a NUL in it).
    """
    passed = [streams["control"]] if "control" in streams else []
    variables = {**environment, CONTROL_VARIABLE: str(passed[0])} if passed else environment
    return subprocess.Popen(
        list(argv),
        env=variables,
        cwd=directory,
        stdin=streams.get("stdin", subprocess.DEVNULL),
        stdout=streams.get("stdout", subprocess.DEVNULL),
        stderr=streams.get("stderr", subprocess.DEVNULL),
        pass_fds=passed,
        start_new_session=True,
        preexec_fn=_Restraint(limits) if LIMITS.keys() & limits.keys() else None,
    )


class _Restraint:
    """Runs in the forked child, between fork and exec."""

    def __init__(self, limits: Mapping[str, int]) -> None:
        self._limits = [(LIMITS[name], value) for name, value in limits.items() if name in LIMITS]

    def __call__(self) -> None:
        _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        for kind, value in self._limits:
            hard = resource.getrlimit(kind)[1]
            # One second of CPU time between the limit's own signal (SIGXCPU, which names the cause) and SIGKILL.
            most = value + 1 if kind == resource.RLIMIT_CPU else value
            ceiling = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (min(value, ceiling), ceiling))


def describe(error: Exception, argv: Sequence[str], directory: str | None) -> str:
    """One line that says what could not be started and why."""
    if isinstance(error, OSError) and error.errno is not None:
        subject = directory if directory is not None and error.filename == directory else argv[0]
        what = "working directory" if subject is directory else "program"
        return f"{what} {os.fsdecode(str(subject))!r}: {os.strerror(error.errno)}"
    return f"program {argv[0]!r}: {error}"
