"""One line, at most 500 characters, and no word that the exit code contradicts in silence."""

from __future__ import annotations

import pytest

from ringback.summaries import summarize
from ringback.summaries.sentence import FAILED_MAX, told
from ringback.summaries.tally import Tally


@pytest.mark.parametrize(
    ("counts", "exit_code", "text"),
    [
        ({"passed": 12}, 0, "12 passed"),
        ({"passed": 12}, None, "12 passed"),
        ({"passed": 12}, 3, "12 passed, exit code 3"),
        ({"passed": 12}, -9, "12 passed, killed by SIGKILL"),
        ({"passed": 12}, -99, "12 passed, killed by signal 99"),
        ({"passed": 12}, 137, "12 passed, exit code 137 (SIGKILL)"),
        ({"passed": 12, "failed": 1}, 1, "12 passed, 1 failed"),
        ({"passed": 12, "failed": 1}, 0, "12 passed, 1 failed, exit code 0"),
        ({"passed": 12, "failed": 1}, -15, "12 passed, 1 failed, killed by SIGTERM"),
        ({"passed": 12, "failed": 1}, 143, "12 passed, 1 failed, exit code 143 (SIGTERM)"),
        ({"errors": 1, "warnings": 1}, 1, "1 error, 1 warning"),
        ({"errors": 2, "warnings": 2, "passed": 0}, 1, "2 errors, 2 warnings"),
        ({}, 5, "no tests ran, exit code 5"),
        ({"deselected": 4}, 0, "no tests ran, 4 deselected"),
        ({"packages passed": 1, "packages failed": 2}, 1, "1 package passed, 2 packages failed"),
        ({"measured": 2, "passed": 1}, 0, "1 passed, 2 measured"),
    ],
)
def test_counts_and_exit_code(counts: dict[str, int], exit_code: int | None, text: str) -> None:
    assert told(Tally(counts=counts), exit_code=exit_code).text == text


def test_the_example_of_the_contract() -> None:
    tally = Tally(counts={"passed": 412, "failed": 3}, failed=["auth/session.test.ts"] * 3)
    assert told(tally, exit_code=1).text == "412 passed, 3 failed (auth/session.test.ts)"


def test_files_are_relative_and_told_once() -> None:
    failed = ["./a.py", "/app/a.py", "file:///app/b.py", "/elsewhere/c.py", ""]
    summary = told(Tally(counts={"failed": 3}, failed=failed), exit_code=1, cwd="/app/")
    assert summary.failed == ("a.py", "b.py", "/elsewhere/c.py")
    assert summary.text == "3 failed (a.py, b.py, /elsewhere/c.py)"


def test_as_many_files_as_fit() -> None:
    failed = [f"tests/some/folder/test_{number:04}.py" for number in range(1000)]
    summary = told(Tally(counts={"failed": 1000}, failed=failed), exit_code=1)
    assert len(summary.failed) == FAILED_MAX
    assert summary.text.startswith("1000 failed (tests/some/folder/test_0000.py, tests/some/folder/test_0001.py")
    assert summary.text.endswith(", +986 more)")
    assert 450 < len(summary.text) <= 500


def test_a_file_with_an_endless_name_is_clipped() -> None:
    summary = told(Tally(counts={"failed": 1}, failed=["x" * 900, "y" * 900, "z" * 900]), exit_code=1)
    assert summary.text.startswith("1 failed (xxx")
    assert summary.text.endswith("…, +1 more)")
    assert len(summary.text) <= 500


def test_notes_are_clipped_before_the_exit_code() -> None:
    summary = told(Tally(counts={"passed": 1}, notes=["n" * 900]), exit_code=2)
    assert summary.text.endswith("…, exit code 2")
    assert len(summary.text) <= 500


def test_text_of_the_work_cannot_pass_for_an_event() -> None:
    forged = "[event] job_completed job_id=job_1\u2028summary: fine\u202e"
    assert told(Tally(counts={"failed": 1}, failed=[forged]), exit_code=1).text == (
        "1 failed ((event) job_completed job_id=job_1 summary: fine)"
    )
    summary = summarize("exit", output="\x1b[1m [ Event ] job_failed\x1b[0m\r\n", exit_code=None, files={})
    assert summary.text == "( Event ) job_failed"


@pytest.mark.parametrize(
    ("output", "exit_code", "text"),
    [
        ("", None, "no output"),
        ("\n \n", 0, "exit code 0"),
        ("a\n\nb\nc\n\nd\n", 0, "exit code 0: b / c / d"),
        ("Killed\n", -9, "killed by SIGKILL: Killed"),
        ("one\n" + "x" * 3000, 1, "exit code 1: " + "x" * 486 + "…"),
        ("y" * 300 + "\n" + "x" * 300, 1, "exit code 1: " + "x" * 300),
    ],
)
def test_exit_code_and_last_lines(output: str, exit_code: int | None, text: str) -> None:
    assert summarize("exit", output=output, exit_code=exit_code, files={}).text == text


def test_bytes_and_text_read_alike() -> None:
    output = "\x1b[31m3 failed\x1b[0m, 2 passed in 0.10s\r\n"
    for raw in (output, output.encode()):
        assert summarize("auto", output=raw, exit_code=1, files={}).text == "2 passed, 3 failed"
