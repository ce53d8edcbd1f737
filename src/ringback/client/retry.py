"""How long to wait before asking again.

Waits grow, never fall below what the server asked for, and carry an additive random part, so that many clients of one
restarted server do not come back in one burst. The random number is an argument of the policy, not of its callers.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

LONGEST_RETRY_AFTER_S = 60.0


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """At most `tries_max` requests in all; waits of `first_s`, doubled each time up to `longest_s`, plus up to as much again."""

    tries_max: int = 5
    first_s: float = 0.2
    longest_s: float = 5.0
    chance: Callable[[], float] = random.random

    def delay_s(self, tries: int, retry_after_s: float | None = None) -> float | None:
        """Seconds until the next try, or None when `tries` were enough or the server asks for more patience than we have."""
        if tries >= self.tries_max or (retry_after_s or 0) > LONGEST_RETRY_AFTER_S:
            return None
        step_s = min(self.first_s * 2.0 ** (tries - 1), self.longest_s)
        return max(step_s, retry_after_s or 0.0) + step_s * self.chance()


HASTY = RetryPolicy(tries_max=2, first_s=0.1)
PATIENT = RetryPolicy(tries_max=12)
