"""Durations: what is read, what is refused, and that writing and reading agree."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from ringback.domain.durations import LONGEST_US, DurationError, format_duration, parse_duration, seconds


@pytest.mark.parametrize(
    ("value", "expected_us"),
    [
        ("90s", 90_000_000),
        ("5m", 300_000_000),
        ("1h30m", 5_400_000_000),
        ("1.5h", 5_400_000_000),
        ("2d", 172_800_000_000),
        ("1d2h3m4s5ms6us", 93_784_005_006),
        ("250ms", 250_000),
        ("7us", 7),
        ("90", 90_000_000),
        ("0.5", 500_000),
        ("0", 0),
        (0, 0),
        (90, 90_000_000),
        (0.1, 100_000),
        (1e-06, 1),
        (3_660 * 86_400, LONGEST_US),
    ],
)
def test_reads(value: object, expected_us: int) -> None:
    assert parse_duration(value) == expected_us


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        ("", "write a number of seconds"),
        (" 5m", "write a number of seconds"),
        ("5 m", "write a number of seconds"),
        ("5m ", "write a number of seconds"),
        ("5m\n", "write a number of seconds"),
        ("5M", "write a number of seconds"),
        ("30m1h", "write a number of seconds"),
        ("5m5m", "write a number of seconds"),
        ("five minutes", "write a number of seconds"),
        ("٥m", "write a number of seconds"),
        ("1e3", "write a number of seconds"),
        (None, "write a number of seconds"),
        (True, "write a number of seconds"),
        ([5], "write a number of seconds"),
        (-1, "never negative"),
        ("-5m", "never negative"),
        (-0.5, "never negative"),
        (math.nan, "finite"),
        (math.inf, "finite"),
        (-math.inf, "finite"),
        (3_660 * 86_400 + 1, "at most 3660 days"),
        (10**400, "at most 3660 days"),
        (1e300, "at most 3660 days"),
        ("999999999999999d", "at most 3660 days"),
        (0.0000001, "finer than a microsecond"),
        ("0.5us", "finer than a microsecond"),
    ],
)
def test_refuses_with_the_rule(value: object, rule: str) -> None:
    with pytest.raises(DurationError) as caught:
        parse_duration(value)
    assert rule in caught.value.rule
    assert rule in str(caught.value)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_number_without_a_printable_text_is_refused_as_well(sign: int) -> None:
    with pytest.raises(DurationError, match="this int is not a duration"):
        parse_duration(sign * 10**5_000)


@given(st.integers(min_value=0, max_value=LONGEST_US))
def test_what_is_written_is_read_back(duration_us: int) -> None:
    assert parse_duration(format_duration(duration_us)) == duration_us


def test_writing_refuses_a_negative_duration() -> None:
    with pytest.raises(DurationError):
        format_duration(-1)


@given(st.one_of(st.text(), st.floats(), st.integers(), st.none(), st.booleans(), st.lists(st.integers())))
def test_anything_else_is_the_documented_error(value: object) -> None:
    try:
        duration_us = parse_duration(value)
    except DurationError:
        return
    assert 0 <= duration_us <= LONGEST_US


@pytest.mark.parametrize(("duration_us", "expected"), [(600_000_000, 600), (1_500_000, 1.5), (0, 0)])
def test_seconds_are_whole_when_they_can_be(duration_us: int, expected: float) -> None:
    assert seconds(duration_us) == expected
    assert type(seconds(duration_us)) is type(expected)
