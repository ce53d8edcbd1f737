"""When a parcel arrives."""

from datetime import date

import pytest

from parcels.delivery import arrival

FRIDAY = date(2026, 5, 8)


@pytest.mark.parametrize(
    ("working_days", "expected"),
    [(0, FRIDAY), (1, date(2026, 5, 9)), (2, date(2026, 5, 11)), (7, date(2026, 5, 16))],
)
def test_sundays_do_not_count(working_days: int, expected: date) -> None:
    assert arrival(FRIDAY, working_days) == expected


def test_holidays_do_not_count() -> None:
    ascension = date(2026, 5, 14)
    assert arrival(date(2026, 5, 13), 1, holidays=frozenset({ascension})) == date(2026, 5, 15)


def test_it_may_arrive_next_year() -> None:
    assert arrival(date(2026, 12, 31), 1, holidays=frozenset({date(2027, 1, 1)})) == date(2027, 1, 2)
