"""The completion event of a job that was followed, in the words that models and people know from everywhere else."""

from ringback.client.records import Event, JobSnapshot
from ringback.domain.notice_text import event_text


def completion(job: JobSnapshot, last: Event | None = None) -> str:
    """The lines of the event."""
    return event_text(
        "job_timed_out" if job.is_timed_out else "job_completed",
        job_id=job.job_id,
        tool=job.tool or "",
        status=job.status,
        event_id=None if last is None else last.event_id,
        sequence=None if last is None else last.sequence,
        said=job.summary or job.error_message,
    )
