"""Who wants to know that something was committed. Announcements come last and may be lost or repeated; the rows are the truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from ringback.ports.store import Change


class Notify(Protocol):
    def publish(self, changes: Sequence[Change]) -> None:
        """Tell every listener; called after the commit, on the event loop."""
        ...

    def listen(self, listener: Callable[[Sequence[Change]], None]) -> Callable[[], None]:
        """Call `listener` with every batch of changes until the returned function is called."""
        ...
