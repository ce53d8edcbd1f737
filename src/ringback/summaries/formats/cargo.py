"""`cargo test`: one `test result:` per test binary, added up over a workspace and its doc tests.

What a failed test printed is shown between `---- name stdout ----` and the next `failures:`; a line there that
looks like a result is the test's own text. Files come from the places of the panics, which are relative to the
workspace, then from the `Running` line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ringback.summaries.tally import Tally, counted

_WORDS: Final = {
    "passed": "passed",
    "failed": "failed",
    "ignored": "skipped",
    "measured": "measured",
    "filtered out": "deselected",
}
_RESULT: Final = re.compile(r"test result: (?:ok|FAILED)\. ([\w ;]+?)(?:; finished in \d+\.\d+s)?")
_RUNNING: Final = re.compile(r" {3,9}(?:Running (?:unittests )?(\S+)(?: \(.*\))?|Doc-tests (\S+))")
_SHOWN: Final = re.compile(r"---- (.+) stdout ----")
_PANIC: Final = re.compile(r"thread '.*?' (?:\(\d+\) )?panicked at (?:'.*', )?([^\s:/'][^:']*):\d+:\d+:?")
_DOC_TEST: Final = re.compile(r"(\S+\.\w+) - .*\(line \d+\)")
_PLACE: Final = re.compile(r" {1,9}--> ([^:]+):\d+:\d+")
_ERROR: Final = re.compile(r"error(?:\[E\d+\])?: ")
_DIED: Final = re.compile(r" {2}process didn't exit successfully: .*\((signal: \d+[^():]*|exit status: \d+)[^()]*\)")
_LINE_MAX: Final = 1000


def parse(lines: Sequence[str]) -> Tally | None:
    reader = _Reader()
    for at, line in enumerate(lines):
        reader.read(at, line[:_LINE_MAX])
    return reader.tally()


class _Reader:
    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._failed: list[str] = []
        self._notes: list[str] = []
        self._at = -1
        self._running = ""
        self._shown: list[str] = []
        self._is_shown = self._is_error = False

    def tally(self) -> Tally | None:
        if self._at < 0:
            return None
        return Tally(counts=self._counts, failed=self._failed, notes=self._notes, is_sum=True, at=self._at)

    def read(self, at: int, line: str) -> None:
        if shown := _SHOWN.fullmatch(line):
            self._is_shown = True
            self._show(_DOC_TEST.fullmatch(shown[1]))
        elif self._is_shown:
            self._is_shown = line != "failures:"
            self._show(_PANIC.match(line))
        elif line.startswith("test result: "):
            self._result(at, line)
        elif line.startswith("   ") and (running := _RUNNING.fullmatch(line)):
            self._at, self._running = at, running[1] or ""
        elif line.startswith("  process didn't exit") and self._at >= 0 and (died := _DIED.match(line)):
            if not died[1].endswith(" 101"):  # 101 is a test binary's own word for failed tests
                self._died(died[1])
        else:
            self._build(at, line)

    def _show(self, match: re.Match[str] | None) -> None:
        """Keeps the first place of each failed test; the marker of a test without one changes nothing."""
        if match is not None and (match.re is _DOC_TEST or not match[1].startswith("rustc")):
            self._shown.append(match[1])

    def _result(self, at: int, line: str) -> None:
        match = _RESULT.fullmatch(line.rstrip())
        counts = counted(match[1].split(";"), _WORDS) if match else None
        if counts is None:
            return
        self._at = at
        for word, amount in counts.items():
            self._counts[word] = self._counts.get(word, 0) + amount
        if counts.get("failed"):
            self._failed += self._shown or filter(None, [self._running])
        self._shown = []

    def _died(self, how: str) -> None:
        self._counts["errors"] = self._counts.get("errors", 0) + 1
        self._failed += filter(None, [self._running])
        self._notes.append(f"test process died ({how})")

    def _build(self, at: int, line: str) -> None:
        if line.startswith("error: could not compile "):
            self._at = at
            if "build failed" not in self._notes:
                self._notes.append("build failed")
        elif _ERROR.match(line):
            self._is_error = True
        elif self._is_error and (place := _PLACE.match(line)):
            self._is_error = False
            self._counts["errors"] = self._counts.get("errors", 0) + 1
            self._failed.append(place[1])
