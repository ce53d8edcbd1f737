"""What a test must not leave behind for the next one: a test that silences a logger makes another one, far away, fail.

Taken before and after each test, with every other fixture undone; whatever differs fails the test that did it.
"""

from __future__ import annotations

import logging
import os
import signal
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

_FROM_PYTEST = {"PYTEST_CURRENT_TEST"}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all tests of a process share."""

    environment: dict[str, str]
    folder: str
    umask: int
    signals: dict[str, Any]
    root_level: int
    root_handlers: list[logging.Handler]
    silenced: set[str]

    def leftovers(self, after: Surroundings) -> list[str]:
        """What `after` differs in, one line each."""
        names = [each.name for each in fields(self) if each.name != "environment"]
        lines = [
            f"{name}: {getattr(self, name)!r} became {getattr(after, name)!r}"
            for name in names
            if getattr(self, name) != getattr(after, name)
        ]
        changed = {key for key, _ in self.environment.items() ^ after.environment.items()}
        if changed:
            lines.append(f"environment: {', '.join(sorted(changed))}")
        return lines


def surroundings() -> Surroundings:
    """As they are now."""
    root = logging.getLogger()
    return Surroundings(
        environment={key: text for key, text in os.environ.items() if key not in _FROM_PYTEST},
        folder=str(Path.cwd()),
        umask=_umask(),
        signals={each.name: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)},
        root_level=root.level,
        root_handlers=[each for each in root.handlers if not type(each).__module__.startswith("_pytest")],
        silenced={name for name, each in logging.root.manager.loggerDict.items() if getattr(each, "disabled", False)},
    )


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
