"""The Python client: typed, blocking or awaited, over HTTP; with a private server for scripts and tests.

    with Ringback() as client:
        job = client.start("test", {"suite": "unit"})
        print(job.wait().summary)

Nothing is imported before it is used: the command line starts with this package.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ringback.client.asynchronous import AsyncJob, AsyncRingback
    from ringback.client.blocking import Job, Ringback
    from ringback.client.errors import (
        AlreadyAnsweredError,
        ConflictError,
        Flaw,
        ForbiddenError,
        IdempotencyConflictError,
        IdempotencyKeyError,
        InvalidInputError,
        JobCancelledError,
        NotFinishedError,
        NotFoundError,
        ProjectRequiredError,
        ProtocolError,
        RefusedError,
        RingbackError,
        StillRunningError,
        UnauthorizedError,
        UnavailableError,
        UnreachableError,
    )
    from ringback.client.records import Change, Event, Interaction, JobResult, JobSnapshot, Progress, Replay, Tool
    from ringback.client.retry import RetryPolicy

__all__ = [
    "AlreadyAnsweredError",
    "AsyncJob",
    "AsyncRingback",
    "Change",
    "ConflictError",
    "Event",
    "Flaw",
    "ForbiddenError",
    "IdempotencyConflictError",
    "IdempotencyKeyError",
    "Interaction",
    "InvalidInputError",
    "Job",
    "JobCancelledError",
    "JobResult",
    "JobSnapshot",
    "NotFinishedError",
    "NotFoundError",
    "Progress",
    "ProjectRequiredError",
    "ProtocolError",
    "RefusedError",
    "Replay",
    "RetryPolicy",
    "Ringback",
    "RingbackError",
    "StillRunningError",
    "Tool",
    "UnauthorizedError",
    "UnavailableError",
    "UnreachableError",
]

_HOMES = {
    "AsyncJob": "asynchronous",
    "AsyncRingback": "asynchronous",
    "Job": "blocking",
    "Ringback": "blocking",
    "RetryPolicy": "retry",
} | dict.fromkeys(
    ("Change", "Event", "Interaction", "JobResult", "JobSnapshot", "Progress", "Replay", "Tool"), "records"
)


def __getattr__(name: str) -> Any:
    """Import the name's module on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'errors')}"), name)
