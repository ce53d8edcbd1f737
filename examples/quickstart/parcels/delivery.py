"""The day on which a parcel arrives."""

from datetime import date, timedelta

SUNDAY = 6


def arrival(sent: date, working_days: int, *, holidays: frozenset[date] = frozenset()) -> date:
    """The day after so many working days; Saturday is one, Sundays and holidays are not."""
    day = sent
    while working_days:
        day += timedelta(days=1)
        if day.weekday() != SUNDAY and day not in holidays:
            working_days -= 1
    return day
