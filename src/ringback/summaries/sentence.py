"""Puts a tally and the exit code into one honest line of at most 500 characters.

Counts come first, then the files that failed, then what else must be known. The exit code is named whenever
it disagrees with the counts: a runner may count no failure and still exit with 3, or the other way round.
Text of the work is never trusted: one line, no controls, and nothing in it can pass for an event's own `[event]`.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ringback.summaries.tally import NOT_RUN, WORDS, Tally
from ringback.summaries.text import clean_text

TEXT_MAX: Final = 500
FAILED_MAX: Final = 200
COUNTS_MAX: Final = 32

_PATH_MAX: Final = 200
_NOTES_MAX: Final = 200
_HEAD_MAX: Final = 200
_LAST_LINES: Final = 3
_SINGULAR: Final = {"errors": "error", "warnings": "warning", "tests collected": "test collected"}
_PACKAGES: Final = re.compile(r"packages (\w+)")
_EVENT: Final = re.compile(r"\[(\s*+event\s*+)\]", re.IGNORECASE)
# Directional overrides and invisible marks: harmless in a log, misleading in the one line a reader trusts.
_INVISIBLE: Final = re.compile("[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The one line of a completion event, and the facts behind it.

    Attributes:
        text: one line, at most `TEXT_MAX` characters, never empty.
        counts: numbers by word ("passed", "failed", "errors", "skipped", …); zeros are left out.
        failed: the files that failed, without repetition, in the order of appearance, at most `FAILED_MAX`.
    """

    text: str
    counts: dict[str, int]
    failed: tuple[str, ...] = ()


def told(tally: Tally, *, exit_code: int | None, cwd: str = "", lead: str = "") -> Summary:
    """The summary of a tally.

    Args:
        exit_code: None if unknown, negative for a signal.
        cwd: folder that absolute paths are told relative to.
        lead: words that stand in place of the counts.
    """
    counts = {one_line(word): amount for word, amount in list(tally.counts.items())[:COUNTS_MAX] if amount > 0}
    every = _files(tally.failed, cwd)
    head = clipped(one_line(lead) or _counts_phrase(counts), _HEAD_MAX)
    verdict = _verdict(exit_code, has_failures=tally.has_failures)
    notes = clipped(", ".join(filter(None, map(one_line, tally.notes))), _NOTES_MAX)
    tail = "".join(f", {part}" for part in (notes, verdict) if part)
    listed = _parenthesis(every, TEXT_MAX - len(head) - len(tail)) if every else ""
    return Summary(text=head + listed + tail, counts=counts, failed=every[:FAILED_MAX])


def told_without_counts(lines: Sequence[str], *, exit_code: int | None, notes: Sequence[str] = ()) -> Summary:
    """The exit code and the last lines that are not empty, when nothing could be counted."""
    verdict = "" if exit_code is None else exit_phrase(exit_code)
    head = ", ".join([*filter(None, [verdict]), *(clipped(one_line(note), _NOTES_MAX) for note in notes)])
    room = TEXT_MAX - len(head) - 2
    kept: list[str] = []
    for line in _last_lines(lines):
        if kept and len(line) + 3 > room:
            break
        kept.insert(0, clipped(line, room))
        room -= len(kept[0]) + 3
    parts = [part for part in (head, " / ".join(kept)) if part]
    return Summary(text=": ".join(parts) or "no output", counts={})


def exit_phrase(exit_code: int) -> str:
    """`exit code 3`, `killed by SIGKILL`, or `exit code 137 (SIGKILL)` as a shell reports it."""
    if exit_code < 0:
        return f"killed by {_signal_name(-exit_code) or f'signal {-exit_code}'}"
    name = _signal_name(exit_code - 128)
    return f"exit code {exit_code} ({name})" if name else f"exit code {exit_code}"


def one_line(text: str) -> str:
    """`text` on one line without controls, runs of white space made one, `[event]` made `(event)`."""
    flat = " ".join(_INVISIBLE.sub("", clean_text(text)).split())
    return _EVENT.sub(r"(\1)", flat)


def clipped(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _verdict(exit_code: int | None, *, has_failures: bool) -> str:
    """The exit code, if the counts alone would mislead."""
    if exit_code is None or (exit_code > 0 and has_failures and not _signal_name(exit_code - 128)):
        return ""
    return exit_phrase(exit_code) if exit_code != 0 or has_failures else ""


def _signal_name(value: int) -> str:
    try:
        return signal.Signals(value).name
    except ValueError:
        return ""


def _counts_phrase(counts: Mapping[str, int]) -> str:
    order = [word for word in WORDS if word in counts] + [word for word in counts if word not in WORDS]
    phrase = ", ".join(_count(word, counts[word]) for word in order)
    if all(word in NOT_RUN for word in counts):
        return f"no tests ran, {phrase}" if phrase else "no tests ran"
    return phrase


def _count(word: str, amount: int) -> str:
    if package := _PACKAGES.fullmatch(word):
        return f"{amount} package{'s' if amount != 1 else ''} {package[1]}"
    return f"{amount} {_SINGULAR.get(word, word) if amount == 1 else word}"


def _files(paths: Iterable[str], cwd: str) -> tuple[str, ...]:
    root = cwd.rstrip("/") + "/"
    seen: dict[str, None] = {}
    for path in paths:
        local = path.removeprefix("file://")
        local = local.removeprefix(root) if len(root) > 1 else local
        if name := clipped(one_line(local.removeprefix("./")), _PATH_MAX):
            seen[name] = None
    return tuple(seen)


def _parenthesis(files: Sequence[str], room: int) -> str:
    """` (a, b, +3 more)` in at most `room` characters; the first file is clipped rather than left out."""
    more = len(f", +{len(files)} more")
    inside = clipped(files[0], room - 3 - more)
    for shown, name in enumerate(files[1:], start=1):
        if len(inside) + 2 + len(name) + 3 + more > room:
            return f" ({inside}, +{len(files) - shown} more)"
        inside += f", {name}"
    return f" ({inside})"


def _last_lines(lines: Sequence[str]) -> list[str]:
    """The last lines that are not empty, the last one first."""
    found: list[str] = []
    for line in reversed(lines):
        # Anything beyond the cut could not be shown anyway; a megabyte on one line is not worth cleaning.
        if text := one_line(line[: TEXT_MAX * 4]):
            found.append(text)
        if len(found) == _LAST_LINES:
            break
    return found
