"""The completion event of a job as text, in the form that models and people know from everywhere else.

Text from the work appears in the summary only, on one line, and cannot pass for one of our lines.
"""

import re

from ringback.cli.terminal import plain
from ringback.client.records import Event, JobSnapshot

SUMMARY_MAX = 500
_FAKE = re.compile(r"^\s*\[\s*event", re.IGNORECASE)


def completion(job: JobSnapshot, last: Event | None = None) -> str:
    """The lines of the event."""
    kind = "job_timed_out" if job.is_timed_out else "job_completed"
    words = [f"[event] {kind}", f"job_id={job.job_id}", f"tool={plain(job.tool or '')}", f"status={job.status}"]
    if last is not None:
        words += [f"event_id={last.event_id}", f"seq={last.sequence}"]
    lines = [" ".join(words)]
    said = job.summary or job.error_message
    if said:
        lines.append(f"summary: {neutral(said)}")
    lines.append(f"details: get_job_result({job.job_id})")
    return "\n".join(lines)


def neutral(text: str) -> str:
    """Foreign text that stays on its line and in its role."""
    line = plain(" ".join(text.split()))[:SUMMARY_MAX]
    return f"\\{line}" if _FAKE.match(line) else line
