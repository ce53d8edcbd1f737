"""Moments as a person at this machine reads and writes them. JSON keeps the server's UTC.

Writing: a moment needs an offset (`2027-03-28T02:30:00+01:00`, `…Z`) or is relative (`in 5m`). One without an offset is
refused: nobody can say which moment it meant, and twice a year nobody could know.
"""

from datetime import UTC, datetime, timedelta

from ringback.cli.arguments import ArgumentError

_STEPS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def parse_not_before(text: str, now: datetime) -> datetime:
    """The moment that `text` names.

    Raises:
        ArgumentError: no moment, or one without an offset.
    """
    if text.startswith("in "):
        return now + timedelta(seconds=seconds_of(text[3:].strip()))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentError(f"not a moment: {text!r:.60} (write 2027-03-28T02:30:00+01:00, or `in 5m`)") from None
    if moment.tzinfo is None:
        raise ArgumentError(f"{text!r} has no offset: write {text}Z for UTC, {text}+01:00, or `in 5m`")
    return moment.astimezone(UTC)


def seconds_of(text: str) -> float:
    """A length of time such as `90s` or `1h30m`.

    Raises:
        ArgumentError: it is none.
    """
    from ringback.domain.durations import DurationError, parse_duration

    try:
        return parse_duration(text) / 1_000_000
    except DurationError as wrong:
        raise ArgumentError(str(wrong)) from None


def relative(moment: datetime | None, now: datetime) -> str:
    """`5 min ago`, `in 2 h`, `now`; empty for None."""
    if moment is None:
        return ""
    seconds = round((now - moment).total_seconds())
    size, unit = next((step for step in _STEPS if abs(seconds) >= step[0]), (1, ""))
    count = abs(seconds) // size
    if not unit:
        return "now"
    return f"in {count} {unit}" if seconds < 0 else f"{count} {unit} ago"


def local(moment: datetime | None, now: datetime) -> str:
    """The moment in this machine's zone, and how long ago that is."""
    if moment is None:
        return ""
    return f"{moment.astimezone():%Y-%m-%d %H:%M:%S %Z} ({relative(moment, now)})"


def lasted(begin: datetime | None, end: datetime | None) -> str:
    """How long something took, to the tenth of a second."""
    if begin is None or end is None:
        return ""
    seconds = max(0.0, (end - begin) / timedelta(seconds=1))
    if seconds < 60:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m{rest:02}s" if minutes < 60 else f"{minutes // 60}h{minutes % 60:02}m"
