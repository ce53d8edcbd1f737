"""TAP from any producer, the closing counts of node's test runner and of tape, and `prove`'s report.

A closing report beats counting: node's `# pass 3` (or `ℹ pass 3`) knows nested tests, tape's `# pass  3` stands even
where the beginning of a long output was not kept, prove has seen every file.
Otherwise leaves are counted: a line whose subtests stand indented above it (TAP 14) or in braces below it (Vitest)
only repeats them. `not ok … # TODO` is no failure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ringback.summaries.formats import prove
from ringback.summaries.tally import Tally

_TEST: Final = re.compile(r"( *)(not )?ok\b(?: (\d{1,9}))?(?: -)? ?(.*)")
_DIRECTIVE: Final = re.compile(r"(?:^|\s)# ?(skip|todo)", re.IGNORECASE)
_PLAN: Final = re.compile(r"1\.\.(\d{1,9})(?:\s*# *(skip.*))?", re.IGNORECASE)
_TRAILER: Final = re.compile(r"[#ℹ] (tests|pass|fail|cancelled|skipped|todo) {1,2}(\d{1,9})")
_BAIL: Final = re.compile(r"Bail out!\s*(.*)")
_PLACE: Final = re.compile(
    r"""\s*(?:location|at): ['"]([^'"]+)['"]"""  # node, Vitest
    r"|#   at (\S+) line \d+\."  # Test::More
    r"|test at (\S+?):\d+:\d+"  # node's spec reporter
    r"|\s*at: (?:[^()]*\()?([^()]+?):\d+:\d+\)?$"  # tape
)
_NAMED_FILE: Final = re.compile(r"(\S+[\w/]\.[cm]?[jt]sx?)(?: > .*)?")
_WORDS: Final = {"pass": "passed", "fail": "failed", "cancelled": "errors", "skipped": "skipped", "todo": "todo"}
_LINE_MAX: Final = 1000


def parse(lines: Sequence[str]) -> Tally | None:
    if (report := prove.parse(lines)) is not None:
        return report
    reader = _Reader()
    for at, line in enumerate(lines):
        reader.read(at, line[:_LINE_MAX])
    return reader.tally()


class _Reader:
    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._trailer: dict[str, int] = {}
        self._failed: list[str] = []
        self._notes: list[str] = []
        self._planned: int | None = None
        self._seen = self._unseen = self._depth = 0
        self._is_tap = self._is_yaml = self._has_failed = False
        self._at = -1

    def tally(self) -> Tally | None:
        if not self._is_tap and (self._planned is None or not self._seen):
            return None  # a plan alone may be anybody's range
        counts = self._trailer or dict(self._counts)
        ran = self._seen + self._unseen
        if not self._trailer and self._planned is not None and self._planned > ran:
            self._notes.append(f"planned {self._planned}, ran {ran}")
            counts["errors"] = 1
        is_sum = not self._trailer
        return Tally(counts=counts, failed=self._failed, notes=self._notes, is_sum=is_sum, at=self._at)

    def read(self, at: int, line: str) -> None:
        text = line.strip()
        if self._has_failed and (place := _PLACE.match(line)):
            self._failed.append(next(filter(None, place.groups())).rstrip("0123456789:"))
            self._has_failed = False
        elif text in {"---", "..."}:
            self._is_yaml = text == "---"
        elif self._is_yaml:
            return
        elif text == "}":
            self._depth = 0
        elif text.startswith(("ok", "not ok")) and (test := _TEST.fullmatch(line)):
            self._test(at, test)
        else:
            self._read_frame(at, line)

    def _test(self, at: int, match: re.Match[str]) -> None:
        depth, name = len(match[1]), match[4].partition(" # ")[0].strip()
        found = _DIRECTIVE.search(match[4])
        directive = found[1].lower() if found else ""
        is_parent = self._depth > depth or match[0].endswith("{")
        self._at, self._depth = at, depth
        if depth == 0:
            if not self._seen and not self._is_tap and self._planned is None and match[3]:
                self._unseen = max(int(match[3]) - 1, 0)  # a head that was cut off had these
            self._seen += 1
        self._has_failed = match[2] is not None and directive != "todo" and not is_parent
        if is_parent:
            return
        word = {"skip": "skipped", "todo": "todo"}.get(directive, "failed" if self._has_failed else "passed")
        self._counts[word] = self._counts.get(word, 0) + 1
        if self._has_failed and (file := _NAMED_FILE.fullmatch(name)):
            self._failed.append(file[1])
            self._has_failed = False

    def _read_frame(self, at: int, line: str) -> None:
        if line.startswith("TAP version "):
            self._is_tap = True
        elif line.startswith("1..") and (plan := _PLAN.fullmatch(line)):
            self._at, self._planned = at, int(plan[1])
            if plan[2]:
                self._is_tap = True
                self._notes.append(plan[2].replace("SKIP", "skipped:", 1))
        elif bail := _BAIL.match(line):
            self._is_tap, self._at = True, at
            self._notes.append(f"bailed out: {bail[1]}".rstrip(": "))
        elif line.startswith(("# ", "ℹ ")) and (row := _TRAILER.fullmatch(line)):
            self._read_trailer(at, row[1], int(row[2]))
        elif line.startswith("✖ failing tests:"):
            self._failed = []
        elif line.startswith("test at ") and (place := _PLACE.match(line)):
            self._failed.append(place[3])

    def _read_trailer(self, at: int, word: str, amount: int) -> None:
        if word == "tests":
            self._is_tap, self._at, self._trailer = True, at, {}
        else:
            self._trailer[_WORDS[word]] = amount
