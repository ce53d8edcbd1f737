"""The guard against what tests leave behind notices each kind."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.leftovers import surroundings


def _set_variable() -> Callable[[], object]:
    os.environ["RINGBACK_LEFT_BEHIND"] = "1"
    return lambda: os.environ.pop("RINGBACK_LEFT_BEHIND")


def _change_folder() -> Callable[[], object]:
    before = Path.cwd()
    os.chdir(before.parent)
    return lambda: os.chdir(before)


def _change_umask() -> Callable[[], object]:
    before = os.umask(0o123)
    return lambda: os.umask(before)


def _take_a_signal() -> Callable[[], object]:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return lambda: signal.signal(signal.SIGTERM, before)


def _silence_a_logger() -> Callable[[], object]:
    logger = logging.getLogger("ringback.left-behind")
    logger.disabled = True

    def undo() -> None:
        logger.disabled = False

    return undo


def _add_a_handler() -> Callable[[], object]:
    handler = logging.NullHandler()
    logging.getLogger().addHandler(handler)
    return lambda: logging.getLogger().removeHandler(handler)


@pytest.mark.parametrize(
    ("leave", "named"),
    [
        (_set_variable, "environment: RINGBACK_LEFT_BEHIND"),
        (_change_folder, "folder:"),
        (_change_umask, "umask:"),
        (_take_a_signal, "signals:"),
        (_silence_a_logger, "silenced:"),
        (_add_a_handler, "root_handlers:"),
    ],
)
def test_whatever_is_left_behind_is_named(leave: Callable[[], Callable[[], object]], named: str) -> None:
    before = surroundings()
    undo = leave()
    try:
        found = before.leftovers(surroundings())
    finally:
        undo()
    assert len(found) == 1
    assert found[0].startswith(named)
    assert before.leftovers(surroundings()) == []
