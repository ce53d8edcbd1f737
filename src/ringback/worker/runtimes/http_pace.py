"""When a job is looked at again: as the other side asks with `Retry-After`, otherwise ever more seldom, and never in step."""

import datetime
from email.utils import parsedate_to_datetime
from random import SystemRandom
from typing import Final

RETRY_AFTER_MAX_S: Final = 3_600.0
_GROWTH: Final = 1.5
_JITTER: Final = 0.25


class Pace:
    """The waits between looks at one job. `Retry-After` is a least time: jitter is only ever added."""

    def __init__(self, interval_s: float, interval_max_s: float) -> None:
        """The first wait, and the one that it doesn't grow beyond."""
        self._first_s = interval_s
        self._most_s = interval_max_s
        self._next_s = interval_s
        self._rng = SystemRandom()

    def reset(self) -> None:
        """Something happened: look more often again."""
        self._next_s = self._first_s

    def wait_s(self, asked_s: float | None = None) -> float:
        """The next wait in seconds, from what the other side asked for, if it did."""
        if asked_s is not None:
            least = asked_s
        else:
            least = self._next_s
            self._next_s = min(self._next_s * _GROWTH, self._most_s)
        return least * (1 + self._rng.uniform(0, _JITTER))


def retry_after_s(value: str | None) -> float | None:
    """The seconds of a `Retry-After` header (RFC 9110), a number or a date; None when it says nothing. One hour at most."""
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:9]), RETRY_AFTER_MAX_S)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    left_s = (moment - datetime.datetime.now(datetime.UTC)).total_seconds()
    return min(max(left_s, 0.0), RETRY_AFTER_MAX_S)
