"""pytest's last line, its short summary and its bangs.

The last line that reads `N passed in 0.1s` decides, unless a short summary follows it: with `-qq` pytest
prints no last line, and what looks like one was printed by a test. Counts are taken from the short summary then.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from ringback.summaries.tally import Tally, counted

_WORDS: Final = {
    "passed": "passed",
    "failed": "failed",
    "error": "errors",
    "errors": "errors",
    "skipped": "skipped",
    "xfailed": "xfailed",
    "xpassed": "xpassed",
    "deselected": "deselected",
    "warning": "warnings",
    "warnings": "warnings",
    "rerun": "rerun",
    "subtests passed": "subtests passed",
    "subtests failed": "failed",
    "test collected": "tests collected",
    "tests collected": "tests collected",
}
_LINE_MAX: Final = 400
_DURATION: Final = re.compile(r"\d+\.\d+s(?: \((?:\d+ days?, )?[\d:]+\))?")
_BANG: Final = re.compile(r"!{3,}+ (?:[\w.]+: )?([^!]+) !{3,}+")
_OUTCOME: Final = re.compile(r"(FAILED|ERROR|SUBFAIL(?:ED)?(?: ?(?:\([^)]*\)|\[[^\]]*\]))*+) (.+)")
_LOCATION: Final = re.compile(r"([^\s:/][^:]*\.py):\d+: \w*(?:Error|Exception|Failed|Exit)")
_SHORT_SUMMARY: Final = "= short test summary info ="
_STOPPED: Final = re.compile(r"stopping after (\d+) failures?")


def parse(lines: Sequence[str]) -> Tally | None:
    at, counts = _last_line(lines)
    header = _last_index(lines, _SHORT_SUMMARY)
    outcomes = _outcomes(lines[header + 1 :]) if header is not None else []
    if outcomes and header is not None and header > at:
        failed = sum(1 for word, _ in outcomes if word != "ERROR")
        at, counts = header, {"failed": failed, "errors": len(outcomes) - failed}
    if counts is None:
        return None
    files = [_file(target) for _, target in outcomes]
    if not files and (counts.get("failed") or counts.get("errors")):
        files = list(_locations(lines[:at]))
    return Tally(counts=counts, failed=files, notes=_notes(lines, at), at=at)


def _last_line(lines: Sequence[str]) -> tuple[int, dict[str, int] | None]:
    for at in range(len(lines) - 1, -1, -1):
        line = lines[at]
        if " in " in line and len(line) <= _LINE_MAX:
            words, _, duration = line.strip("= ").rpartition(" in ")
            if _DURATION.fullmatch(duration) and (counts := _counts(words)) is not None:
                return at, counts
    return -1, None


def _counts(words: str) -> dict[str, int] | None:
    return {} if words in {"no tests ran", "no tests collected"} else counted(words.split(","), _WORDS)


def _last_index(lines: Sequence[str], mark: str) -> int | None:
    return next((at for at in range(len(lines) - 1, -1, -1) if mark in lines[at][:_LINE_MAX]), None)


def _outcomes(lines: Iterable[str]) -> list[tuple[str, str]]:
    return [(match[1], match[2]) for line in lines if (match := _OUTCOME.match(line))]


def _file(target: str) -> str:
    """The file of `tests/test_a.py::test_b - message`; names and messages may hold the separators too."""
    before, _, _ = target.partition("::")
    path, dash, _ = before.partition(" - ")
    return path if dash and (path.endswith(".py") or "::" not in target) else before


def _locations(lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        if ".py:" in line[:_LINE_MAX] and (match := _LOCATION.match(line)) and "site-packages" not in match[1]:
            yield match[1]


def _notes(lines: Sequence[str], at: int) -> list[str]:
    notes = [_bang(match[1]) for line in lines[max(0, at - 5) : at] if (match := _BANG.fullmatch(line[:_LINE_MAX]))]
    # A usage error follows the last line: `no tests ran in 0.00s`, then `ERROR: file or directory not found: x`.
    notes += [line.removeprefix("ERROR: ") for line in lines[at + 1 : at + 3] if line.startswith("ERROR: ")]
    return notes


def _bang(text: str) -> str:
    if "KeyboardInterrupt" in text:
        return "interrupted"
    if "during collection" in text:
        return "collection failed"
    if stopped := _STOPPED.search(text):
        return f"stopped after {stopped[1]} failure{'' if stopped[1] == '1' else 's'}"
    return text
