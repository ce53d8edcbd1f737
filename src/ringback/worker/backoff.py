"""How long to wait before a request is repeated: it doubles up to a limit, and jitter is only ever added.

Additive jitter keeps the promise "never sooner than asked for", and spreads workers that lost the same server (O51).
"""

from random import SystemRandom
from typing import Final

FIRST_S: Final = 0.1
MOST_S: Final = 5.0


class Backoff:
    """The waits between the attempts of one thing; a success starts them anew."""

    def __init__(self, *, first_s: float = FIRST_S, most_s: float = MOST_S) -> None:
        """Both in seconds: the first step, and the one that it doesn't grow beyond."""
        self._first_s = first_s
        self._most_s = most_s
        self._next_s = first_s
        self._rng = SystemRandom()

    def reset(self) -> None:
        """The thing worked."""
        self._next_s = self._first_s

    def wait_s(self, *, at_least_s: float = 0.0) -> float:
        """The next wait in seconds: at least the step (or what the server asked for), at most twice that."""
        step = max(self._next_s, at_least_s)
        self._next_s = min(self._next_s * 2, self._most_s)
        return step + self._rng.uniform(0, step)
