"""What real test runners printed, and the line that is made of it.

`fixtures/FORMAT/CASE.txt` was printed by the runner itself (pytest 6, 7 and 9, unittest of Python 3.8, 3.11 and 3.13,
Jest 30, Vitest 4, cargo 1.95, go 1.19, node 20, Test::More, prove and tape 5); the file names ending in a version are
written after the runner's documentation, and tap/cut is the end of a longer output. Many of the tests print lines that
look like results, on purpose.
`expected.tsv` holds case, exit code and line.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ringback.summaries import summarize

FIXTURES = Path(__file__).parent / "fixtures"
CASES = [line.split("\t") for line in (FIXTURES / "expected.tsv").read_text("utf-8").splitlines()]


@pytest.mark.parametrize(("case", "exit_code", "line"), CASES, ids=[case[0] for case in CASES])
@pytest.mark.parametrize("spec", ["named", "auto"])
def test_line(case: str, exit_code: str, line: str, spec: str) -> None:
    """The format is recognised as well as it is known, and one line says what happened."""
    summary = summarize(
        case.partition("/")[0] if spec == "named" else "auto",
        output=(FIXTURES / f"{case}.txt").read_bytes(),
        exit_code=int(exit_code),
        files={},
        cwd="/home/user/project",
    )
    assert summary.text == line


def test_every_fixture_is_expected() -> None:
    assert {case[0] for case in CASES} == {
        path.relative_to(FIXTURES).with_suffix("").as_posix() for path in FIXTURES.glob("*/*.txt")
    }


def test_counts_and_files_are_facts_too() -> None:
    output = (FIXTURES / "pytest/default.txt").read_bytes()
    summary = summarize("pytest", output=output, exit_code=1, files={})
    assert summary.counts == {
        "failed": 6, "passed": 35, "skipped": 1, "xfailed": 1, "xpassed": 1, "warnings": 1, "errors": 1,
    }  # fmt: skip
    assert summary.failed == ("tests/test_cart.py", "tests/unit/test_auth.py")
