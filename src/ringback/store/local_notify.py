"""Announcements within one process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ringback.ports.store import Change


class LocalNotify:
    """Implements `ports.notify.Notify` by calling each listener in turn."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[Sequence[Change]], None]] = []

    def publish(self, changes: Sequence[Change]) -> None:
        if changes:
            for listener in tuple(self._listeners):
                listener(changes)

    def listen(self, listener: Callable[[Sequence[Change]], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)
