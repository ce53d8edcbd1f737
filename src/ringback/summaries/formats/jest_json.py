"""The report that `jest --json` and `vitest --reporter=json` print on one line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from ringback.summaries.tally import Tally

_NUMBERS: Final = {
    "numPassedTests": "passed",
    "numFailedTests": "failed",
    "numPendingTests": "skipped",
    "numTodoTests": "todo",
}
_CHARS_MAX: Final = 4 * 1024 * 1024


def parse_line(line: str, at: int) -> Tally | None:
    """The tally of a report on line number `at`; a suite without results could not be loaded: an error."""
    if not line.startswith('{"num') or len(line) > _CHARS_MAX:
        return None
    try:
        report = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(report.get("testResults"), list):
        return None
    counts = {ours: report[key] for key, ours in _NUMBERS.items() if type(report.get(key)) is int}
    results = [result for result in report["testResults"] if isinstance(result, Mapping)]
    failed = [result for result in results if result.get("status") == "failed"]
    counts["errors"] = sum(1 for result in failed if not result.get("assertionResults"))
    return Tally(counts=counts, failed=[str(result.get("name", "")) for result in failed], at=at)
