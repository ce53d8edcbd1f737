"""Jest's closing block (`Test Suites:`, `Tests:`), or its report on one line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ringback.summaries.formats import jest_json
from ringback.summaries.tally import Tally, counted

_WORDS: Final = {
    "passed": "passed",
    "failed": "failed",
    "skipped": "skipped",
    "todo": "todo",
    "total": "",
}
_FAIL: Final = re.compile(r" ?FAIL  ?(?:\S+ )*?(\S+)(?: \(\d+(?:\.\d+)? m?s\))?")
_OF: Final = re.compile(r"\d+ of ")
_LINE_MAX: Final = 600


def parse(lines: Sequence[str]) -> Tally | None:
    for at in range(len(lines) - 1, -1, -1):
        line = lines[at]
        if line.startswith("Tests:") and at and (tests := _counts(line)) is not None:
            suites = _counts(lines[at - 1]) if lines[at - 1].startswith("Test Suites:") else None
            if suites is not None:
                return _tally(lines[:at], tests, suites.get("failed", 0))
        if (tally := jest_json.parse_line(line, at)) is not None:
            return tally
        if line.startswith("No tests found, exiting with code "):
            return Tally(counts={}, at=at)
    return None


def _counts(line: str) -> dict[str, int] | None:
    if len(line) > _LINE_MAX or not line.rstrip().endswith(" total"):
        return None
    return counted(_OF.sub("", line.partition(":")[2]).split(","), _WORDS)


def _tally(lines: Sequence[str], counts: dict[str, int], suites_failed: int) -> Tally:
    """A suite that could not even be loaded has no failed test; it is counted as an error."""
    broken = sum(1 for line in lines if line.rstrip() == "  ● Test suite failed to run")
    errors = min(broken, suites_failed) if counts.get("failed") else suites_failed
    files = [match[1] for line in lines if "FAIL " in line[:6] and (match := _FAIL.fullmatch(line[:_LINE_MAX]))]
    return Tally(counts={**counts, "errors": errors}, failed=files, at=len(lines))
