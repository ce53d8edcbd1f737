"""JUnit XML, read as a stream so that no document grows in memory, and with no door for entities.

The test cases themselves are counted; the totals in the attributes differ between producers and are used only
when a report has no cases. Any document type declaration is refused: JUnit needs none, entity bombs do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final
from xml.parsers import expat

from ringback.summaries.tally import Tally, number

_OUTCOMES: Final = {"failure": "failed", "error": "errors", "skipped": "skipped"}
_RERUNS: Final = frozenset({"flakyFailure", "flakyError", "rerunFailure", "rerunError"})
_TOTALS: Final = {"failures": "failed", "errors": "errors", "skipped": "skipped", "disabled": "skipped"}
_ELEMENTS_MAX: Final = 2_000_000
_DEPTH_MAX: Final = 64


class _RefusedError(Exception):
    """The document has something that no honest report has."""


def parse(documents: Iterable[bytes]) -> Tally | None:
    """The tally over all documents, or None if any is malformed, refused or no JUnit report."""
    reader = _Reader()
    try:
        for document in documents:
            reader.read(document)
    except (expat.ExpatError, _RefusedError, ValueError, LookupError):
        return None
    return reader.tally()


class _Reader:
    def __init__(self) -> None:
        self._cases: dict[str, int] = {}
        self._totals: dict[str, int] = {}
        self._failed: list[str] = []
        self._suites: list[Mapping[str, str]] = []
        self._case: Mapping[str, str] | None = None
        self._outcome = "passed"
        self._depth = self._elements = 0

    def read(self, document: bytes) -> None:
        self._depth = 0
        self._suites, self._case = [], None
        parser = expat.ParserCreate()
        parser.StartDoctypeDeclHandler = self._refuse
        parser.EntityDeclHandler = self._refuse
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.Parse(document, True)

    def tally(self) -> Tally:
        return Tally(counts=self._cases or self._totals, failed=self._failed)

    def _refuse(self, *_: object) -> None:
        raise _RefusedError

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._elements += 1
        self._depth += 1
        if self._elements > _ELEMENTS_MAX or self._depth > _DEPTH_MAX:
            raise _RefusedError
        name = name.rpartition(":")[2]
        if self._depth == 1:
            self._root(name, attributes)
        if name == "testsuite":
            if self._depth == 2 and not self._totals:
                self._add_totals(attributes)
            self._suites.append(attributes)
        elif name == "testcase":
            self._case, self._outcome = attributes, "passed"
        elif self._case is not None and name in _OUTCOMES:
            self._outcome = _OUTCOMES[name]
        elif self._case is not None and name in _RERUNS:
            self._cases["rerun"] = self._cases.get("rerun", 0) + 1

    def _end(self, name: str) -> None:
        self._depth -= 1
        name = name.rpartition(":")[2]
        if name == "testsuite":
            self._suites.pop()
        elif name == "testcase" and self._case is not None:
            self._cases[self._outcome] = self._cases.get(self._outcome, 0) + 1
            if self._outcome in {"failed", "errors"}:
                self._failed.append(_file(self._case, self._suites))
            self._case = None

    def _root(self, name: str, attributes: Mapping[str, str]) -> None:
        if name not in {"testsuites", "testsuite"}:
            raise _RefusedError
        if "tests" in attributes:
            self._add_totals(attributes)

    def _add_totals(self, attributes: Mapping[str, str]) -> None:
        wrong: dict[str, int] = {}
        for key, word in _TOTALS.items():
            wrong[word] = wrong.get(word, 0) + (number(attributes.get(key, "")) or 0)
        tests = number(attributes.get("tests", "")) or 0
        wrong["passed"] = max(0, tests - sum(wrong.values()))
        for word, amount in wrong.items():
            self._totals[word] = self._totals.get(word, 0) + amount


def _file(case: Mapping[str, str], suites: list[Mapping[str, str]]) -> str:
    """The file if anything names it, else the class; pytest's dotted class is turned back into its file."""
    for attributes in (case, *reversed(suites)):
        if file := attributes.get("file") or attributes.get("filepath"):
            return file
    owner = case.get("classname") or (case.get("name", "") if suites and suites[-1].get("name") == "pytest" else "")
    if "/" in owner or not suites or suites[-1].get("name") != "pytest":
        return owner or (suites[-1].get("name", "") if suites else "")
    parts = owner.split(".")
    while len(parts) > 1 and parts[-1][:1].isupper():
        parts.pop()
    return "/".join(parts) + ".py"
