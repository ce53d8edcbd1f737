"""A user's regular expression: what it tells, and that it cannot hang."""

from __future__ import annotations

import time

import pytest

from ringback.summaries import parse_spec, summarize
from ringback.summaries.patterns import TAIL_CHARS, LinePattern


def line(regex: str, output: str, *, exit_code: int | None = 0, template: str = "") -> str:
    spec = {"regex": regex} | ({"template": template} if template else {})
    return summarize(spec, output=output, exit_code=exit_code, files={}).text


def test_named_groups_become_counts() -> None:
    regex = r"(?P<passed>\d+) ok, (?P<failed>\d+) bad"
    assert line(regex, "1 ok, 9 bad\n5 ok, 2 bad\nbye", exit_code=1) == "5 passed, 2 failed"
    assert line(regex, "5 ok, 2 bad") == "5 passed, 2 failed, exit code 0"
    assert line(regex, "5 ok, 0 bad", exit_code=3) == "5 passed, exit code 3"


def test_alternatives_gather_from_several_lines() -> None:
    regex = r"^(?P<passed>\d+) passing|^(?P<failed>\d+) failing|^  in (?P<file>\S+)"
    output = "4 passing\n2 failing\n  in test/b.js\n  in test/a.js\n  in test/b.js\n"
    assert line(regex, output, exit_code=1) == "4 passed, 2 failed (test/b.js, test/a.js)"


def test_text_and_other_groups() -> None:
    assert line(r"Deployed (?P<text>.*)", "Deployed v3 to prod") == "v3 to prod"
    assert line(r"(?P<build_steps>\d+) steps: (?P<text>.*)", "7 steps: fine") == "7 build steps, fine"
    assert line(r"version \S+", "x version 1.2 y") == "version 1.2"
    assert line(r"(?P<n>\d+) and (?P<word>[a-z]+)?", "3 and ") == "3 n"


def test_template() -> None:
    regex = r"(?P<n>\d+) ok(?: in (?P<where>[a-z]+))?"
    assert line(regex, "3 ok in prod", template="{n} fine at {where} {{}}") == "3 fine at prod {}"
    assert line(regex, "3 ok", template="{n} fine at {where}", exit_code=2) == "3 fine at, exit code 2"


def test_no_match_falls_back() -> None:
    assert line("nothing", "a\nb", exit_code=4) == "exit code 4: a / b"


@pytest.mark.parametrize(
    ("regex", "rule"),
    [
        (r"(a+)+$", "must not repeat a group"),
        (r"(a|b)*c", "must not repeat a group"),
        (r"(?:\d+,?){2}", "must not repeat a group"),
        (r"((x*)y)+", "must not repeat a group"),
        (r"(a)\1", "must not use"),
        (r"(?P<q>a)(?P=q)", "must not use"),
        (r"(a)?(?(1)b|c)", "must not use"),
        (r"(?x) a b", "must not use"),
        (r"a(?#note)", "must not use"),
        (r".*a.*b.*c", "too long"),
        (r"a?a?a?a?a?a?a?a?a?a", "too long"),
        (r"a{1,5}\w{2,}a{,3}\w{1,}x", "too long"),
        (r"(?=.*a)(?=.*b).*c", "too long"),
        (r"|".join("abcdefghij"), "too long"),
    ],
)
def test_dangerous_patterns_are_refused(regex: str, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        parse_spec({"regex": regex})


@pytest.mark.parametrize(
    ("regex", "degree"),
    [
        (r"(?P<passed>\d+) passed, (?P<failed>\d+) failed", 2),
        (r"^Tests: +(?P<passed>\d+)\s*of\s*\d+$", 1),
        (r"(?:\d{2}:)+\d{2} done", 3),
        (r"(?P<passed>\d+) ok|(?P<failed>\d+)", 2),
        (r"x\d+|y", 2),
        (r"a.*+b", 2),
        (r"a.*b", 3),
        (r"(?i)[a-z]+X", 3),
        (r"\w+(?:x|y)", 3),
        (r"\d+(?!x)", 3),
        (r"\d+(?P<unit>ms)", 2),
        (r"\d+(?> s)", 2),
        (r"(?:\d+)?x", 3),
        (r"\d+ ?\d", 3),
        (r"(a)+b", 3),
        (r"(?:(?:x\d+|y)z)", 3),
        (r"\x41+\N{DIGIT ONE}", 2),
        (r"a{}b{,2}c", 2),
        (r"[]x]+y\b", 2),
        (r"\d+\b", 3),
        ("(?i)", 2),
    ],
)
def test_degree(regex: str, degree: int) -> None:
    assert LinePattern.checked(regex).degree == degree


@pytest.mark.parametrize("regex", [r".*foo.*x", r"a.*b", r"\d+\d+x", r"a?a?a?a?a?a?x", r"(?P<passed>\d+) passed"])
@pytest.mark.parametrize("unit", ["1", "a", "fo", "1 passed", "foo"])
def test_hostile_output_costs_little(regex: str, unit: str) -> None:
    start = time.perf_counter()
    line(regex, (unit * (4000 // len(unit)) + "\n") * 2000)
    assert time.perf_counter() - start < 10


def test_only_the_end_is_searched() -> None:
    far = "needle\n" + "x\n" * TAIL_CHARS
    assert line("needle", far) == "exit code 0: x / x / x"
    assert line("needle", "x" * 5000 + "needle") != "needle"
