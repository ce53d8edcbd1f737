"""The completion event of a job as text, in the form that models read.

Text from the work appears in the summary only, on one line, and cannot pass for one of our lines.
"""

from __future__ import annotations

import re

SUMMARY_MAX = 500
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_FAKE = re.compile(r"^\s*\[\s*event", re.IGNORECASE)
_TAG = re.compile(r"<(?=[a-zA-Z/!?])")


def plain(text: object) -> str:
    """Foreign text on one line: control characters become visible escapes."""
    return _CONTROL.sub(lambda found: repr(found.group())[1:-1], str(text))


def neutral(text: str) -> str:
    """Foreign text that stays on its line and in its role: it begins no event, and opens or closes no block of its reader."""
    line = plain(" ".join(text.split()))[:SUMMARY_MAX]
    line = _TAG.sub("‹", line)
    return f"\\{line}" if _FAKE.match(line) else line


def event_text(
    kind: str,
    *,
    job_id: str,
    tool: str,
    status: str,
    event_id: str | None = None,
    sequence: int | None = None,
    said: str | None = None,
) -> str:
    """The lines of a completion event.

    Args:
        said: text from the work, or about it.
    """
    words = [f"[event] {kind}", f"job_id={job_id}", f"tool={plain(tool)}", f"status={status}"]
    if event_id is not None:
        words += [f"event_id={event_id}", f"seq={sequence}"]
    lines = [" ".join(words)]
    if said:
        lines.append(f"summary: {neutral(said)}")
    where = "get_job_status" if kind == "job_input_required" else "get_job_result"
    lines.append(f"details: {where}({job_id})")
    return "\n".join(lines)
