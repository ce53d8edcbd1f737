"""What the worker knows about its lease by its own clocks, without asking the server.

A process that was stopped (SIGSTOP) or slept with the machine does not notice by itself. So the lease is judged by two
clocks that nobody can set: the monotonic one, and the one that goes on while the machine sleeps; whichever saw more time
pass is right. A lease counts from the moment when the request was *sent* that renewed it, so it ends here no later than
at the server. Wall clocks play no part (O20).
"""

import time
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Instant:
    """One moment on both clocks, in seconds."""

    monotonic_s: float
    boottime_s: float

    @classmethod
    def now(cls) -> Self:
        """Read both clocks; where there is no boot-time clock the monotonic one serves for both."""
        monotonic_s = time.monotonic()
        clock = getattr(time, "CLOCK_BOOTTIME", None)
        return cls(monotonic_s=monotonic_s, boottime_s=monotonic_s if clock is None else time.clock_gettime(clock))

    def elapsed_s(self) -> float:
        """Seconds since then, by the clock that saw more of them."""
        now = Instant.now()
        return max(now.monotonic_s - self.monotonic_s, now.boottime_s - self.boottime_s)


class Lease:
    """The lease of one session."""

    def __init__(self, *, lease_s: float, sent: Instant) -> None:
        """`sent` is when the request was sent whose answer gave it."""
        self.lease_s = lease_s
        self._sent = sent

    def renew(self, *, sent: Instant) -> None:
        """A request that was sent at this moment renewed it."""
        self._sent = sent

    def remaining_s(self) -> float:
        """Seconds until the lease ends; negative once it did."""
        return self.lease_s - self._sent.elapsed_s()
