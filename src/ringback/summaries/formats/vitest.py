"""Vitest's closing block (`Test Files`, `Tests`, `Errors` for what no test caught), or its report on one line."""

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
    "expected fail": "xfailed",
    "error": "errors",
    "errors": "errors",
}
_ROW: Final = re.compile(r" {1,9}(Test Files|Tests|Errors)  (\S[^()]*+)(?:\(\d+\))?")
_FAIL: Final = re.compile(r" FAIL  (?:\|[^|]*\| )?(.+)")
_SUITES: Final = re.compile(r"⎯+ Failed Suites (\d{1,9}) ⎯+")
_ORIGIN: Final = re.compile(r'This error originated in "([^"]+)" test file\.')
_LINE_MAX: Final = 600
_BLOCK_LINES: Final = 6


def parse(lines: Sequence[str]) -> Tally | None:
    for at in range(len(lines) - 1, -1, -1):
        if lines[at].startswith("No test files found, exiting with code "):
            return Tally(counts={}, at=at)
        if (report := jest_json.parse_line(lines[at], at)) is not None:
            return report
        if (row := _row(lines[at])) and row[0] == "Test Files":
            return _tally(lines, at)
    return None


def _row(line: str) -> tuple[str, dict[str, int]] | None:
    match = _ROW.fullmatch(line.rstrip()[:_LINE_MAX])
    if match is None:
        return None
    words = match[2].strip()
    counts = {} if words in {"no tests", "no test files"} else counted(words.split("|"), _WORDS)
    return None if counts is None else (match[1], counts)


def _tally(lines: Sequence[str], at: int) -> Tally:
    counts: dict[str, int] = {}
    for line in lines[at + 1 : at + _BLOCK_LINES]:
        if row := _row(line):
            counts.update(row[1])
    suites = [match[1] for line in lines[:at] if (match := _SUITES.fullmatch(line[:_LINE_MAX]))]
    counts["errors"] = counts.get("errors", 0) + (int(suites[-1]) if suites else 0)
    failed = [_file(match[1]) for line in lines[:at] if (match := _FAIL.match(line[:_LINE_MAX]))]
    failed += [match[1] for line in lines[:at] if (match := _ORIGIN.match(line[:_LINE_MAX]))]
    return Tally(counts=counts, failed=failed, at=at)


def _file(target: str) -> str:
    """The file of `src/a.test.ts > suite > test` or of `src/a.test.ts [ src/a.test.ts ]`."""
    return target.partition(" > ")[0].partition(" [ ")[0].strip()
