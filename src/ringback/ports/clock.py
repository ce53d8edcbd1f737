"""Where time, ids and chance come from; a test puts its own in their place."""

from __future__ import annotations

from typing import Protocol

from ringback.domain.moments import Moment


class Clock(Protocol):
    def now(self) -> Moment:
        """The present, in microseconds since 1970 UTC; never earlier than the answer before."""
        ...


class Ids(Protocol):
    def new(self) -> str:
        """A fresh UUIDv7: later ids sort behind earlier ones."""
        ...


class Chance(Protocol):
    def draw(self) -> float:
        """A number in [0, 1)."""
        ...
