"""JUnit XML: counted case by case, and refused when it is hostile."""

from __future__ import annotations

from pathlib import Path

import pytest

from ringback.summaries import FILE_BYTES_MAX, summarize

FIXTURES = Path(__file__).parent / "fixtures" / "junit"


def line(spec: object, *documents: bytes, output: str = "", exit_code: int | None = 1) -> str:
    files = {f"out/{index}.xml": document for index, document in enumerate(documents)}
    return summarize(spec, output=output, exit_code=exit_code, files=files, cwd="/home/user/project").text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest", "36 passed, 6 failed, 1 error, 2 skipped (tests/test_cart.py, tests/unit/test_auth.py)"),
        ("vitest", "7 passed, 3 failed, 3 skipped (src/auth/session.test.ts, src/cart/broken.test.ts)"),
        ("surefire", "2 passed, 1 failed, 1 error, 1 skipped, 1 rerun (com.example.CartTest)"),
    ],
)
def test_real_reports(name: str, text: str) -> None:
    assert line("junit:out/0.xml", (FIXTURES / f"{name}.xml").read_bytes()) == text


def test_reports_are_added_up_over_a_wildcard() -> None:
    report = (FIXTURES / "surefire.xml").read_bytes()
    assert line({"junit": "out/*.xml"}, report, report).startswith("4 passed, 2 failed, 2 errors")


@pytest.mark.parametrize(
    ("report", "text"),
    [
        (b"<testsuites/>", "no tests ran, exit code 1"),
        (b'<testsuite tests="3" failures="1" skipped="1"/>', "1 passed, 1 failed, 1 skipped"),
        (
            b'<testsuites><testsuite tests="3" errors="1"/><testsuite tests="9"/></testsuites>',
            "2 passed, 1 error",
        ),
        (b'<testsuite tests="x9"/>', "no tests ran, exit code 1"),
        (b'<testsuite file="a.rb"><testcase name="t"><failure/></testcase></testsuite>', "1 failed (a.rb)"),
        (b'<testsuite><testcase name="t" file="b.rb"><error/></testcase></testsuite>', "1 error (b.rb)"),
        (b'<testsuite name="s"><testcase name="t"><error/></testcase></testsuite>', "1 error (s)"),
        (b'<testsuite name="pytest"><testcase name="tests.x"><error/></testcase></testsuite>', "1 error (tests/x.py)"),
        (b'<testsuites><testcase name="t"><failure/></testcase></testsuites>', "1 failed"),
        (b'<testsuite><failure/><testcase name="t"><system-out/></testcase></testsuite>', "1 passed, exit code 1"),
        (b'<j:testsuite xmlns:j="u"><j:testcase name="t"/></j:testsuite>', "1 passed, exit code 1"),
    ],
)
def test_small_reports(report: bytes, text: str) -> None:
    assert line("junit:out/0.xml", report) == text


BOMB = b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><testsuite name="&b;"><testcase/></testsuite>'


@pytest.mark.parametrize(
    "report",
    [
        pytest.param(BOMB, id="entities"),
        pytest.param(BOMB.decode().encode("utf-16"), id="entities in another encoding"),
        pytest.param(b'<!DOCTYPE x SYSTEM "http://example.com/x.dtd"><testsuite/>', id="document type"),
        pytest.param(b"<testsuite><testcase>", id="cut off"),
        pytest.param(b"", id="empty"),
        pytest.param(b"<html/>", id="no report"),
        pytest.param(b'<?xml version="1.0" encoding="x-none"?><testsuite/>', id="unknown encoding"),
        pytest.param(b"<testsuite>" + b"<a>" * 100 + b"</a>" * 100 + b"</testsuite>", id="too deep"),
        pytest.param(b"<testsuite/>" + b" " * FILE_BYTES_MAX, id="too large"),
    ],
)
def test_what_is_no_report_falls_back(report: bytes) -> None:
    assert line("junit:out/0.xml", report, output="oh\n") == "exit code 1, JUnit report unreadable: oh"
    output = "= 3 passed in 0.10s ="
    assert line("junit:out/0.xml", report, output=output) == "3 passed, JUnit report unreadable, exit code 1"


def test_too_many_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringback.summaries.formats.junit._ELEMENTS_MAX", 3)
    assert "unreadable" in line("junit:out/0.xml", b"<testsuite><testcase/><testcase/><testcase/></testsuite>")


def test_a_missing_report_is_told() -> None:
    assert line("junit:elsewhere.xml", output="boom") == "exit code 1, no JUnit report: boom"


def test_auto_reads_a_usual_report_when_the_output_tells_nothing() -> None:
    report = {"junit.xml": b'<testsuite tests="2"/>', "report.xml": b"<testsuite/>"}
    assert summarize("auto", output="done", exit_code=0, files=report).text == "2 passed"
    assert summarize("auto", output="1 passed in 0.10s", exit_code=0, files=report).text == "1 passed"
    broken = {"junit.xml": b"<", "report.xml": b'<testsuite tests="4"/>'}
    assert summarize("auto", output="done", exit_code=0, files=broken).text == "4 passed"
    assert summarize("auto", output="done", exit_code=0, files={"junit.xml": b"<"}).text == "exit code 0: done"
