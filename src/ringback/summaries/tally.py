"""What a parser found in a test runner's output, before it is put into words.

Every format counts in the same vocabulary, whatever its own words are, so that `counts` means the same for
pytest and for cargo. The order of `WORDS` is the order in which the sentence names them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

WORDS: Final = (
    "passed",
    "failed",
    "errors",
    "skipped",
    "todo",
    "xfailed",
    "xpassed",
    "deselected",
    "rerun",
    "warnings",
)
FAILURES: Final = frozenset({"failed", "errors", "packages failed"})
NOT_RUN: Final = frozenset({"deselected", "rerun", "warnings"})

_DIGITS_MAX: Final = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Counts, failed files and remarks of one test run.

    Attributes:
        counts: canonical word to number; zeros mean the same as absence.
        failed: files (or packages, where a runner names no files) that failed; may repeat.
        notes: short remarks that follow the counts, such as "interrupted".
        is_sum: the counts were added up over the whole output, so a missing beginning makes them too small.
        at: index of the line that decided; of several formats in one output the last one tells the end.
    """

    counts: Mapping[str, int]
    failed: Sequence[str] = ()
    notes: Sequence[str] = ()
    is_sum: bool = False
    at: int = field(default=0, compare=False)

    @property
    def has_failures(self) -> bool:
        return any(self.counts.get(word, 0) > 0 for word in FAILURES)


class Parser(Protocol):
    """Reads cleaned lines; None means: this is not my format."""

    def __call__(self, lines: Sequence[str]) -> Tally | None: ...


def number(digits: str) -> int | None:
    """The plain number that `digits` is, or None; absurdly long ones are none."""
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= _DIGITS_MAX else None


def counted(parts: Iterable[str], words: Mapping[str, str]) -> dict[str, int] | None:
    """Reads parts such as `3 failed`.

    Args:
        parts: one number and its word or words each.
        words: the runner's word to ours; an empty word of ours means that the number is not kept.

    Returns:
        Our words with their numbers, or None if any part reads otherwise.
    """
    counts: dict[str, int] = {}
    for part in parts:
        digits, _, word = part.strip().partition(" ")
        amount, ours = number(digits), words.get(word)
        if amount is None or ours is None:
            return None
        if ours:
            counts[ours] = counts.get(ours, 0) + amount
    return counts
