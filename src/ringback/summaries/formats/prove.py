"""The report of Perl's `prove` over many TAP files: totals, and the files that did not do well."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ringback.summaries.tally import Tally

_TOTALS: Final = re.compile(r"Files=\d{1,9}, Tests=(\d{1,9}),.*")
_RESULT: Final = re.compile(r"Result: (PASS|FAIL|NOTESTS)")
_FILE: Final = re.compile(r"(\S[^(]*+)\(Wstat: (\d{1,9})(?: [^)]*\))? Tests: \d{1,9} Failed: (\d{1,9})\)")
_SKIPPED: Final = re.compile(r"\t\(less (\d{1,9}) skipped subtests?: .*")
_STOPPED: Final = "FAILED--Further testing stopped"
_SUMMARY: Final = "Test Summary Report"
_LINE_MAX: Final = 1000


def parse(lines: Sequence[str]) -> Tally | None:
    for at in range(len(lines) - 1, 0, -1):
        if _RESULT.fullmatch(lines[at]) and (totals := _TOTALS.fullmatch(lines[at - 1][:_LINE_MAX])):
            return _tally(lines, at, int(totals[1]))
    return None


def _tally(lines: Sequence[str], at: int, tests: int) -> Tally:
    """Files that failed without a failed test (died, bad plan) are errors."""
    start = next((i for i in range(at - 1, -1, -1) if lines[i] == _SUMMARY), at)
    rows = [match for line in lines[start:at] if (match := _FILE.fullmatch(line[:_LINE_MAX]))]
    bad = [row for row in rows if int(row[2]) or int(row[3])]
    failed = sum(int(row[3]) for row in bad)
    skipped = sum(int(match[1]) for line in lines[:start] if (match := _SKIPPED.fullmatch(line[:_LINE_MAX])))
    counts = {
        "passed": max(0, tests - failed - skipped),
        "failed": failed,
        "errors": sum(1 for row in bad if not int(row[3])),
        "skipped": skipped,
    }
    notes = [line.replace(_STOPPED, "bailed out", 1) for line in lines[at + 1 : at + 3] if line.startswith(_STOPPED)]
    return Tally(counts=counts, failed=[row[1].rstrip() for row in bad], notes=notes, at=at)
