"""What a process of ours says with its exit code. Scripts rely on these numbers; they never change."""

from enum import IntEnum

from ringback.client.errors import (
    ForbiddenError,
    InvalidInputError,
    JobCancelledError,
    NotFoundError,
    ProtocolError,
    RingbackError,
    StillRunningError,
    UnauthorizedError,
    UnavailableError,
    UnreachableError,
)
from ringback.client.records import JobSnapshot


class Exit(IntEnum):
    """The exit codes of every command; `run` and `wait` use the first three for how the job ended."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    CANCELLED = 3
    TIMED_OUT = 4
    UNREACHABLE = 5
    NOT_ALLOWED = 6
    DETACHED = 130  # Ctrl-C while following: the job goes on


_BY_ERROR: tuple[tuple[tuple[type[RingbackError], ...], Exit], ...] = (
    ((JobCancelledError,), Exit.CANCELLED),
    ((StillRunningError,), Exit.TIMED_OUT),
    ((UnreachableError, ProtocolError, UnavailableError), Exit.UNREACHABLE),
    ((NotFoundError, ForbiddenError, UnauthorizedError), Exit.NOT_ALLOWED),
    ((InvalidInputError,), Exit.USAGE),
)


def exit_for(error: RingbackError) -> Exit:
    """The code that an error ends a command with."""
    return next((code for kinds, code in _BY_ERROR if isinstance(error, kinds)), Exit.FAILED)


def exit_of(job: JobSnapshot) -> Exit:
    """The code that tells how a job ended. A job that is not over counts as timed out: only a bounded wait sees one."""
    if job.status == "done":
        return Exit.DONE
    if job.status == "cancelled":
        return Exit.CANCELLED
    if job.status == "failed" and not job.is_timed_out:
        return Exit.FAILED
    return Exit.TIMED_OUT
