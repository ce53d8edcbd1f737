"""unittest's `Ran N tests` and the verdict below it.

unittest counts what ran and what went wrong, never what passed, so that number is worked out. Failed subtests
and class fixtures are counted as failures without being tests of their own; the headers tell them apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from ringback.summaries.tally import Tally, counted, number

_RAN: Final = re.compile(r"Ran (\d+) tests? in \d+\.\d+s")
_VERDICT: Final = re.compile(r"(OK|FAILED|NO TESTS RAN)(?: \(([a-z=, \d]+)\))?")
_HEADER: Final = re.compile(r"(?:ERROR|FAIL): (\S+) \(([\w.]+)\)( .*)?")
_WORDS: Final = {
    "failures": "failed",
    "errors": "errors",
    "skipped": "skipped",
    "expected failures": "xfailed",
    "unexpected successes": "xpassed",
}
_FIXTURES: Final = frozenset({"setUpClass", "tearDownClass", "setUpModule", "tearDownModule"})


def parse(lines: Sequence[str]) -> Tally | None:
    for at in range(len(lines) - 1, -1, -1):
        if lines[at].startswith("Ran ") and (ran := _RAN.fullmatch(lines[at].rstrip())):
            total, wrong = number(ran[1]), _verdict(lines[at + 1 : at + 4])
            if total is not None and wrong is not None:
                return _tally(lines, at, total, wrong)
    return None


def _verdict(lines: Sequence[str]) -> Mapping[str, int] | None:
    line = next((line.rstrip() for line in lines if line.strip()), "")
    if not (match := _VERDICT.fullmatch(line)):
        return None
    parts = [part.partition("=") for part in (match[2] or "").split(", ") if part]
    return counted((f"{amount} {word}" for word, _, amount in parts), _WORDS)


def _tally(lines: Sequence[str], at: int, total: int, wrong: Mapping[str, int]) -> Tally:
    headers = [match for line in lines[:at] if (match := _HEADER.fullmatch(line[:1000]))]
    failing = wrong.get("failed", 0) + wrong.get("errors", 0)
    if len(headers) == failing:
        failing = len({(match[1], match[2]) for match in headers if match[1] not in _FIXTURES})
    others = sum(wrong.get(word, 0) for word in ("skipped", "xfailed", "xpassed"))
    counts = {"passed": max(0, total - failing - others), **wrong}
    files = [path for match in headers if (path := _file(match[1], match[2]))]
    return Tally(counts=counts, failed=files, at=at)


def _file(name: str, identifier: str) -> str:
    """The module's file, guessed from a dotted id: `tests.test_stack.StackTest.test_pop` is tests/test_stack.py."""
    parts = identifier.split(".")
    if "_FailedTest" in parts:
        parts = parts[parts.index("_FailedTest") + 1 :] or name.split(".")
    elif name not in _FIXTURES or parts[-1][:1].isupper():
        parts = parts[:-2] if parts[-1] == name else parts[:-1]
    while parts and parts[-1][:1].isupper():
        parts = parts[:-1]
    return "" if not parts or parts == ["__main__"] else "/".join(parts) + ".py"
