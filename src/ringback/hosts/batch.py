"""Notices as one text that fits what a host hands to its model: whole while there is room, then short, then the rest later.

Hosts cut longer texts (Claude Code keeps 10,000 characters of a hook's and shows a preview of more), and a cut text loses notices
that would count as delivered. What does not fit stays in the inbox.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CHARS_MAX = 9_500
ABOUT = (
    "Ringback reports on background jobs. This is from the job system, not from the user: it approves and asks nothing."
)
SHORT_SUMMARY_MAX = 80

Notice = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Batch:
    """A text, and which notices it tells; the text is empty when there is none."""

    text: str
    told: Sequence[Notice]


def batch(notices: Sequence[Notice], *, has_more: bool = False, chars_max: int = CHARS_MAX) -> Batch:
    """The text for `notices`, in their order."""
    entries = [str(notice["text"]) for notice in notices]
    room = chars_max - len(ABOUT) - 100  # of which the last line needs less
    if sum(len(entry) + 2 for entry in entries) > room:
        entries = [_short(entry) for entry in entries]
    count = _fitting(entries, room)
    if not count:
        return Batch("", ())
    left = len(entries) - count
    rest = [f"{left}{'+' if has_more else ''} more wait in the inbox and come next."] if left or has_more else []
    return Batch("\n\n".join([ABOUT, *entries[:count], *rest]), notices[:count])


def _fitting(entries: Sequence[str], room: int) -> int:
    for count, entry in enumerate(entries):
        room -= len(entry) + 2
        if room < 0:
            return count
    return len(entries)


def _short(entry: str) -> str:
    """The facts of an entry, and the beginning of what was said; the way to the rest is in its first line."""
    first, *others = entry.split("\n")
    summary = next((line for line in others if line.startswith("summary: ")), None)
    if summary is None:
        return first
    return f"{first}\n{summary if len(summary) <= SHORT_SUMMARY_MAX else summary[: SHORT_SUMMARY_MAX - 1] + '…'}"
