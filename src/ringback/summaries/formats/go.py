"""`go test`, plain, `-v` and `-json`, in any mixture.

Only top-level tests are counted, because without `-v` nothing tells how many subtests passed. Without `-v` not
even the passed tests are known; then packages are counted. Go names packages, not files, so packages are told.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

from ringback.summaries.tally import Tally

_PACKAGE: Final = re.compile(r"(ok  |FAIL)\t(\S+)(?:\t(.*)| (\[(?:build|setup) failed\]))?")
_NO_FILES: Final = re.compile(r"\?   \t\S+\t\[no test files\]")
_TEST: Final = re.compile(r"--- (PASS|FAIL|SKIP): ([^\s/]+) \(\d+\.\d+s\)")
_TIMEOUT: Final = re.compile(r"panic: (test timed out after \S+)")
_OUTCOMES: Final = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}
_LINE_MAX: Final = 2000


def parse(lines: Sequence[str]) -> Tally | None:
    reader = _Reader()
    for at, line in enumerate(lines):
        if line.startswith("{") and '"Action":"' in line[:300]:
            reader.read_event(at, line)
        else:
            reader.read(at, line[:_LINE_MAX])
    return reader.tally()


class _Reader:
    def __init__(self) -> None:
        self._counts = dict.fromkeys(_OUTCOMES.values(), 0)
        self._packages = {"packages passed": 0, "packages failed": 0}
        self._errors = 0
        self._failed: list[str] = []
        self._notes: dict[str, None] = {}
        self._failed_tests = 0
        self._is_verbose = False
        self._at = -1

    def tally(self) -> Tally | None:
        if self._at < 0:
            return None
        counts = {**self._counts, "errors": self._errors}
        if not self._is_verbose:  # passed and skipped tests are not told then: such a line is a test's own text
            counts = {"failed": counts["failed"], "errors": self._errors, **self._packages}
        return Tally(counts=counts, failed=self._failed, notes=list(self._notes), is_sum=True, at=self._at)

    def read(self, at: int, line: str) -> None:
        if line.startswith("--- ") and (test := _TEST.fullmatch(line.rstrip())):
            self._test(at, _OUTCOMES[test[1]])
        elif line.startswith("=== RUN   "):
            self._is_verbose = True
        elif package := _PACKAGE.fullmatch(line.rstrip()):
            self._package(at, package)
        elif _NO_FILES.match(line):
            self._at = at
        elif timeout := _TIMEOUT.match(line):
            self._notes[timeout[1]] = None

    def read_event(self, at: int, line: str) -> None:
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            return
        action, test, package = event.get("Action"), event.get("Test"), str(event.get("Package", ""))
        self._is_verbose = True
        if action == "output":
            if timeout := _TIMEOUT.match(str(event.get("Output", ""))):
                self._notes[timeout[1]] = None
        elif action in {"pass", "fail", "skip"}:
            if test is None:
                self._package_done(at, package, has_failed=action == "fail", is_build="FailedBuild" in event)
            elif "/" not in str(test):
                self._test(at, _OUTCOMES[action.upper()])

    def _test(self, at: int, word: str) -> None:
        self._at = at
        self._counts[word] += 1
        self._failed_tests += word == "failed"

    def _package(self, at: int, match: re.Match[str]) -> None:
        rest = match[3] or ""
        if match[1] == "FAIL":
            is_build = match[4] is not None or rest.endswith((" [build failed]", "[setup failed]"))
            self._package_done(at, match[2], has_failed=True, is_build=is_build)
        elif "[no tests to run]" in rest or "[no test files]" in rest:
            self._at = at
        else:
            self._package_done(at, match[2], has_failed=False, is_build=False)

    def _package_done(self, at: int, name: str, *, has_failed: bool, is_build: bool) -> None:
        """A package that failed without a failed test did not build, timed out or died: an error."""
        self._at = at
        self._packages["packages failed" if has_failed else "packages passed"] += 1
        if has_failed:
            self._failed.append(name)
            self._errors += self._failed_tests == 0
            if is_build:
                self._notes["build failed"] = None
        self._failed_tests = 0
