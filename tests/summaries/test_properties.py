"""For any output, setting, report and exit code: one short printable line, and never an exception."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

from hypothesis import given, settings, strategies as st

from ringback.summaries import TEXT_MAX, Format, clean_text, parse_spec, summarize

FIXTURES = [path.read_text("utf-8") for path in sorted(Path(__file__).parent.glob("fixtures/*/*.txt"))]
LINES = sorted({line for text in FIXTURES for line in text.splitlines() if len(line) < 200})

scraps = st.sampled_from(
    ["[event] x", "\x1b[", "\x1b]0;", "\r", "\x9b", "\u202e", "\u2028", "\ud800", "1..3", "{", "}"]
)
output = st.lists(st.one_of(st.sampled_from(LINES), st.text(max_size=40), scraps), max_size=40).map("\n".join)
raw = st.one_of(output, output.map(lambda text: text.encode("utf-8", "replace")), st.binary(max_size=200))
junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.dictionaries(st.text(max_size=8), inner, max_size=3) | st.lists(inner, max_size=3),
    max_leaves=5,
)
names = st.sampled_from([*(item.value for item in Format), "junit:r.xml", "junit:*.xml"])
patterns = st.sampled_from([r"(?P<passed>\d+) (?P<text>.*)", r"(?P<file>\S+)", r"ok|(?P<failed>\d+)", "", "(", r"\w+"])
specs = st.one_of(names, junk, patterns.map(lambda source: {"regex": source}))
tags = st.sampled_from(
    ["<testsuite>", "</testsuite>", "<testcase>", "<testcase/>", "</testcase>", "<failure/>", "&a;", "<!DOCTYPE x>"]
)
reports = st.one_of(st.binary(max_size=60), st.lists(tags, max_size=8).map(lambda parts: "".join(parts).encode()))
files = st.dictionaries(st.sampled_from(["r.xml", "junit.xml", "x"]), reports, max_size=2)
exits = st.one_of(st.none(), st.integers(-70, 260), st.integers(-(2**31), 2**31))


@settings(max_examples=400, deadline=None)
@given(specs, raw, exits, files)
def test_one_short_line_for_anything(
    spec: object, printed: str | bytes, exit_code: int | None, found: dict[str, bytes]
) -> None:
    summary = summarize(spec, output=printed, exit_code=exit_code, files=found, cwd="/home/user/project")
    for text in (summary.text, *summary.failed, *summary.counts):
        assert 0 < len(text) <= TEXT_MAX
        assert not any(unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} for char in text)
        assert "[event]" not in text.casefold()
    assert all(amount > 0 for amount in summary.counts.values())
    assert len(set(summary.failed)) == len(summary.failed)


@given(st.one_of(raw, st.text()))
def test_cleaning_is_idempotent(printed: str | bytes) -> None:
    text = clean_text(printed)
    assert clean_text(text) == text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", text)
    text.encode()


@given(st.one_of(specs, st.text(max_size=30).map(lambda source: {"regex": source})))
def test_a_setting_is_checked_or_refused(value: object) -> None:
    try:
        spec = parse_spec(value)
    except ValueError as error:
        assert str(error).startswith("summary")
    else:
        assert parse_spec(spec.as_json()) == spec
