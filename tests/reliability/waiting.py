"""Waiting for the thing itself, with a bound."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
WITHIN_S = 30.0


def until(look: Callable[[], T], what: str, *, within_s: float = WITHIN_S) -> T:
    """What `look` says once that is true; fails with `what` when it never is."""
    give_up = time.monotonic() + within_s
    while True:
        if seen := look():
            return seen
        if time.monotonic() > give_up:
            raise AssertionError(f"after {within_s:g} s still not: {what}; last seen: {seen!r}")
        time.sleep(0.02)


def holds_for(seconds: float, look: Callable[[], bool], what: str) -> None:
    """Fails with `what` as soon as `look` is false within the time: for things that must not happen."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert look(), what
        time.sleep(0.02)
