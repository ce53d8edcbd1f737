"""What a caller is told about a run without having asked: when it ended, and when it waits for somebody.

A notice follows from how a run was and how it became, whatever command did it, so none can be forgotten on one of the many ways
to an end.
"""

from __future__ import annotations

from enum import StrEnum

from ringback.domain.runs import Run
from ringback.domain.states import FailureKind

_BY_TIME = (FailureKind.TIMEOUT, FailureKind.EXPIRED)


class NoticeKind(StrEnum):
    """The types of completion events."""

    COMPLETED = "job_completed"
    TIMED_OUT = "job_timed_out"
    INPUT_REQUIRED = "job_input_required"


def notice_of(before: Run | None, after: Run) -> NoticeKind | None:
    """What the change from `before` (None: it was just created) to `after` tells the caller that wants to hear of it."""
    if after.is_terminal:
        if before is not None and before.is_terminal:
            return None
        return NoticeKind.TIMED_OUT if after.failure_kind in _BY_TIME else NoticeKind.COMPLETED
    is_asked = after.blocking is not None and (before is None or before.blocking != after.blocking)
    return NoticeKind.INPUT_REQUIRED if is_asked else None


def is_answered(before: Run | None, after: Run) -> bool:
    """Whether what `before` waited for is settled, so that telling of it would mislead."""
    return before is not None and before.blocking is not None and before.blocking != after.blocking
