"""Corners that no fixture shows: cut output, decoys, mixed runners, malformed lines."""

from __future__ import annotations

import pytest

from ringback.summaries import OUTPUT_CHARS_MAX, summarize


def line(output: str, exit_code: int | None = 1, spec: object = "auto", *, is_complete: bool = True) -> str:
    return summarize(spec, output=output, exit_code=exit_code, files={}, is_complete=is_complete).text


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("2 failed, 1 passed in 63.10s (0:01:03)", "1 passed, 2 failed"),
        ("1 passed in 90000.00s (1 day, 1:00:00)", "1 passed, exit code 1"),
        ("1 passed, 3 subtests passed in 0.10s", "1 passed, 3 subtests passed, exit code 1"),
        ("1 test collected in 0.01s", "1 test collected, exit code 1"),
        ("5 apples in 0.10s", "exit code 1: 5 apples in 0.10s"),
        ("1 passed in 0.1 hours", "exit code 1: 1 passed in 0.1 hours"),
        ("1234567890123 passed in 0.10s", "exit code 1: 1234567890123 passed in 0.10s"),
        ("!!! Interrupted: by nobody !!!\n1 passed in 0.10s", "1 passed, by nobody, exit code 1"),
        ("!!! stopping after 2 failures !!!\n2 failed in 0.10s", "2 failed, stopped after 2 failures"),
        (
            "= short test summary info =\nERROR tests/a.py - E: a::b\nFAILED tests/b.py\n1 failed, 1 error in 0.10s",
            "1 failed, 1 error (tests/a.py, tests/b.py)",
        ),
        ("= short test summary info =\nFAILED a.py::x\nSUBFAILED[m] (i=1) b.py::y", "2 failed (a.py, b.py)"),
        ("1 passed in 0.10s\n= short test summary info =\nnothing", "1 passed, exit code 1"),
        ("venv/site-packages/x.py:3: Error\na/b.py:3: ValueError\n1 failed in 0.10s", "1 failed (a/b.py)"),
    ],
)
def test_pytest(output: str, text: str) -> None:
    assert line(output) == text


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("Ran 3 tests in 0.1s\n\nMaybe", "exit code 1: Ran 3 tests in 0.1s / Maybe"),
        ("Ran 3 tests in 0.1s", "exit code 1: Ran 3 tests in 0.1s"),
        ("Ran 3 tests in 0.1s\nOK (odd=1)", "exit code 1: Ran 3 tests in 0.1s / OK (odd=1)"),
        ("Ran 9999999999 tests in 0.1s\nOK", "exit code 1: Ran 9999999999 tests in 0.1s / OK"),
        ("Ran some tests", "exit code 1: Ran some tests"),
        ("FAIL: t (__main__.T)\nRan 1 test in 0.1s\nFAILED (failures=1)", "1 failed"),
        ("FAIL: t (a.Outer.Inner.t)\nRan 1 test in 0.1s\nFAILED (failures=1)", "1 failed (a.py)"),
        ("ERROR: setUpModule (pkg.test_a)\nRan 0 tests in 0.1s\nFAILED (errors=1)", "1 error (pkg/test_a.py)"),
        ("Ran 5 tests in 0.1s\nFAILED (failures=2)", "3 passed, 2 failed"),
        ("ERROR: a.b (unittest.loader._FailedTest)\nRan 1 test in 0.1s\nFAILED (errors=1)", "1 error (a/b.py)"),
    ],
)
def test_unittest(output: str, text: str) -> None:
    assert line(output) == text


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("Tests: 1 passed, 1 total", "exit code 1: Tests: 1 passed, 1 total"),
        ("Other\nTests: 1 passed, 1 total", "exit code 1: Other / Tests: 1 passed, 1 total"),
        ("FAIL unit a.js (5.2 s)\nTest Suites: 1 failed, 1 total\nTests: 0 total", "1 error (a.js)"),
        ("Other\nTests: 1 passed", "exit code 1: Other / Tests: 1 passed"),
        ('{"numTotalTests": 1}', 'exit code 1: {"numTotalTests": 1}'),
        ('{"numTotalTests": ', 'exit code 1: {"numTotalTests":'),
        ('{"numPassedTests": true, "testResults": [3]}', "no tests ran, exit code 1"),
        ('{"numPassedTests": 2, "testResults": []}', "2 passed, exit code 1"),
        ('{"num' + "[" * 100_000, "exit code 1: " + '{"num' + "[" * 481 + "…"),
    ],
)
def test_jest(output: str, text: str) -> None:
    assert line(output) == text


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (" Test Files  1 failed (1)\n      Tests  no tests", "no tests ran, exit code 1"),
        (" Test Files  odd (1)\n", "exit code 1: Test Files odd (1)"),
        (" FAIL  |unit| a.test.ts > x\n Test Files  1 failed (1)\n  Tests  1 failed (1)", "1 failed (a.test.ts)"),
    ],
)
def test_vitest(output: str, text: str) -> None:
    assert line(output, spec="vitest") == text


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("test result: odd", "exit code 1: test result: odd"),
        ("test result: ok. 1 passed; 2 odd", "exit code 1: test result: ok. 1 passed; 2 odd"),
        ("     Running tests/a.rs (x)\ntest result: FAILED. 0 passed; 1 failed", "1 failed (tests/a.rs)"),
        (
            "---- t stdout ----\nthread 't' panicked at 'no', src/a.rs:3:5\nfailures:\n"
            "---- u stdout ----\nthread 'u' panicked at rustc/x.rs:3:5:\nfailures:\n"
            "test result: FAILED. 0 passed; 2 failed; 1 measured",
            "2 failed, 1 measured (src/a.rs)",
        ),
        (
            "error: could not compile `a`\nerror: could not compile `a` (test)",
            "no tests ran, build failed, exit code 1",
        ),
        ("error: odd\n   --> a.rs:1:1\n   --> b.rs:1:1\nerror: could not compile `a`", "1 error (a.rs), build failed"),
        ("     Running tests/a.rs (x)\n  process didn't exit: odd", "no tests ran, exit code 1"),
        (
            "   Doc-tests a\n  process didn't exit successfully: `x` (exit status: 101)",
            "no tests ran, exit code 1",
        ),
        (
            "   Doc-tests a\n  process didn't exit successfully: `x` (exit status: 3)",
            "1 error, test process died (exit status: 3)",
        ),
    ],
)
def test_cargo(output: str, text: str) -> None:
    assert line(output, spec="cargo") == text


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ('{"Action":"fail"', 'exit code 1: {"Action":"fail"'),
        ('{"Action":"fail","Package":"a"}\n{"Action":"bench"}', "1 error (a)"),
        ('{"Action":"output","Package":"a"}', 'exit code 1: {"Action":"output","Package":"a"}'),
        ("FAIL\t./nope [setup failed]", "1 error, 1 package failed (nope), build failed"),
        ('{"Action":"' + '["' * 9, 'exit code 1: {"Action":"["["["["["["["["["'),
    ],
)
def test_go(output: str, text: str) -> None:
    assert line(output, spec="go") == text


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("1..10", "exit code 1: 1..10"),
        ("ok 1 - no plan", "exit code 1: ok 1 - no plan"),
        ("TAP version 14\nok 1 - issue #12 # SKIP\nok 2 - # todo\nok 3 - #1\n1..3", "1 passed, 1 skipped, 1 todo, exit code 1"),
        ("TAP version 14\nnot ok 1 - lib/a.ts > x\n1..1", "1 failed (lib/a.ts)"),
        ("TAP version 14\n    ok 1 - in\n    not ok 2 - in\nnot ok 1 - out\n1..1", "1 passed, 1 failed"),
        ("TAP version 14\nok 1\n  ---\n  not ok 2\n  ...\nokay then\n1..1", "1 passed, exit code 1"),
        ("Bail out!", "no tests ran, bailed out, exit code 1"),
        ("# tests 1\n# pass 1\n# odd 3\ntest at nowhere", "1 passed, exit code 1"),
    ],
)  # fmt: skip
def test_tap(output: str, text: str) -> None:
    assert line(output, spec="tap") == text


def test_the_last_runner_is_believed() -> None:
    vitest = " Test Files  1 passed (1)\n      Tests  7 passed (7)\n"
    assert line("2 passed in 0.10s\n" + vitest, 0) == "7 passed"
    assert line(vitest + "2 passed in 0.10s\n", 0) == "2 passed"


def test_unless_only_an_earlier_one_explains_the_exit_code() -> None:
    vitest = " Test Files  1 passed (1)\n      Tests  7 passed (7)\n"
    assert line("2 failed in 0.10s\n" + vitest, 1) == "2 failed"
    assert line("2 passed in 0.10s\n" + vitest, 1) == "7 passed, exit code 1"


def test_partial_sums_are_told() -> None:
    cargo = "test result: ok. 3 passed; 0 failed\n"
    partial = "3 passed, counted from the end of the output only"
    assert line(cargo, 0) == "3 passed"
    assert line(cargo, 0, is_complete=False) == partial
    assert line("x" * OUTPUT_CHARS_MAX + "\n" + cargo, 0) == partial
    assert line("x\n" * 200_001 + cargo, 0) == partial
    assert line("3 passed in 0.10s\n", 0, is_complete=False) == "3 passed"
