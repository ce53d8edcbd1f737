"""Moments: absolute, in UTC, exact to the microsecond, and never guessed."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ringback.domain.moments import DAY, HOUR, MILLISECOND, MINUTE, SECOND, Moment, micros, parse_moment, rfc3339
from tests.builders import NOON

LAST = 253_402_300_799_999_999  # 9999-12-31T23:59:59.999999Z


def test_units() -> None:
    assert (MILLISECOND, SECOND, MINUTE, HOUR, DAY) == (10**3, 10**6, 60 * 10**6, 3600 * 10**6, 86_400 * 10**6)


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0, 0), (1, SECOND), (0.25, 250_000), (0.1, 100_000), (1e-6, 1), (-2, -2 * SECOND)]
)
def test_seconds(seconds: float, expected: int) -> None:
    assert micros(seconds) == expected


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (0, "1970-01-01T00:00:00.000000Z"),
        (1, "1970-01-01T00:00:00.000001Z"),
        (NOON, "2026-01-01T12:00:00.000000Z"),
        (LAST, "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_text_is_utc_with_six_digits(moment: Moment, text: str) -> None:
    assert rfc3339(moment) == text
    assert parse_moment(text) == moment


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2026-01-01T12:00:00Z", "2026-01-01T12:00:00.000000Z"),
        ("2026-01-01t12:00:00z", "2026-01-01T12:00:00.000000Z"),
        ("2026-01-01 12:00:00+00:00", "2026-01-01T12:00:00.000000Z"),
        ("2026-01-01T12:00Z", "2026-01-01T12:00:00.000000Z"),
        ("2027-03-28T02:30:00+05:45", "2027-03-27T20:45:00.000000Z"),
        ("2027-10-31T02:30:00+02:00", "2027-10-31T00:30:00.000000Z"),  # the hour that exists twice in Berlin: first
        ("2027-10-31T02:30:00+01:00", "2027-10-31T01:30:00.000000Z"),  # and second
        ("2026-01-01T00:00:00-00:00", "2026-01-01T00:00:00.000000Z"),
        ("2026-01-01T12:00:00.5Z", "2026-01-01T12:00:00.500000Z"),
        ("2026-01-01T12:00:00.123456789Z", "2026-01-01T12:00:00.123456Z"),
        ("1970-01-01T01:00:00+01:00", "1970-01-01T00:00:00.000000Z"),
    ],
)
def test_reads(text: str, utc: str) -> None:
    assert rfc3339(parse_moment(text)) == utc


@pytest.mark.parametrize("text", ["2027-03-28T02:30:00", "2027-03-28 02:30", "2027-03-28T02:30:00.5"])
def test_a_moment_without_offset_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="needs an offset"):
        parse_moment(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "tomorrow",
        "2027-03-28",
        "20270328T023000Z",
        "2027-W12-7T02:30:00Z",
        "2027-087T02:30:00Z",
        "2027-03-28T02Z",
        "2027-03-28x02:30:00Z",
        "2027-03-28T02:30:00,5Z",
        "2027-03-28T02:30:00.Z",
        "2027-03-28T02:30:00+0100",
        "2027-03-28T02:30:00+01:00:30",
        "2027-03-28T02:30:00 Europe/Berlin",
        "2027-03-28T02:30:00Z\n",
        "2027-02-30T00:00:00Z",
        "2027-03-28T25:00:00Z",
        "2027-03-28T02:60:00Z",
        "2027-03-28T02:30:60Z",
        "2027-03-28T02:30:00+24:00",
        "0000-01-01T00:00:00Z",
        "+2027-03-28T02:30:00Z",
        "٢٠٢٧-03-28T02:30:00Z",
        "9" * 10_000,
    ],
)
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not an RFC 3339 moment") as caught:
        parse_moment(text)
    assert len(str(caught.value)) < 120


@pytest.mark.parametrize(
    "text", ["1969-12-31T23:59:59Z", "1970-01-01T00:00:00+01:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-01:00"]
)
def test_moments_out_of_range_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="between the years"):
        parse_moment(text)


@given(st.integers(0, LAST), st.integers(0, LAST))
def test_round_trip_and_order(one: Moment, other: Moment) -> None:
    assert parse_moment(rfc3339(one)) == one
    assert (one < other) == (rfc3339(one) < rfc3339(other))
