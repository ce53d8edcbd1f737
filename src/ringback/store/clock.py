"""The deployment's clock, ids and chance, for a ledger that one process owns."""

from __future__ import annotations

import random
import time

import uuid_utils

from ringback.domain.moments import Moment


class SystemClock:
    """Wall time that never goes backwards: a clock set back stands still until it is caught up with."""

    def __init__(self) -> None:
        self._last: Moment = 0

    def now(self) -> Moment:
        self._last = max(self._last, time.time_ns() // 1_000)
        return self._last


class UuidIds:
    def new(self) -> str:
        return str(uuid_utils.uuid7())


class SystemChance:
    """A generator of its own: no other code's seed decides about it, and it disturbs nobody else's sequence."""

    def __init__(self) -> None:
        self._generator = random.Random()  # noqa: S311  (jitter, not a secret)

    def draw(self) -> float:
        return self._generator.random()
