"""How often one token may ask: a bucket of requests that fills at a steady rate."""

from __future__ import annotations

from dataclasses import dataclass, field

from ringback.domain.errors import RateLimitedError
from ringback.domain.moments import SECOND, Moment

_BUCKETS_MAX = 4096


@dataclass(slots=True, kw_only=True)
class RateLimits:
    """One bucket a token.

    Attributes:
        per_s: requests a second in the long run; 0: as many as one likes.
        burst: how many may come at once.
    """

    per_s: float = 0.0
    burst: int = 100
    _buckets: dict[str, tuple[float, Moment]] = field(default_factory=dict)

    def take(self, token_id: str, now: Moment) -> None:
        """Count a request.

        Raises:
            RateLimitedError: the bucket is empty; says in how many seconds it is not.
        """
        if not self.per_s:
            return
        left, since = self._buckets.get(token_id, (float(self.burst), now))
        left = min(float(self.burst), left + (now - since) / SECOND * self.per_s)
        if left < 1:
            raise RateLimitedError(max(1, -int(-(1 - left) // self.per_s)))
        if len(self._buckets) >= _BUCKETS_MAX and token_id not in self._buckets:
            del self._buckets[next(iter(self._buckets))]
        self._buckets[token_id] = (left - 1, now)
