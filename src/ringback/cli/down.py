"""`down`: end the `ringback up` of a data folder. Its pid is believed only while it holds its lock."""

import os
import select
import signal
import time
from typing import Annotated

import typer

from ringback.cli.exits import Exit
from ringback.cli.lock import holder_of
from ringback.cli.session import DataOption, JsonFlag
from ringback.cli.terminal import Terminal, report
from ringback.settings.connection import find_connection

LOOK_EVERY_S = 0.05


def down(
    data: DataOption = None,
    timeout: Annotated[float, typer.Option(help="Seconds to wait before it is killed.")] = 30.0,
    json: JsonFlag = False,
) -> None:
    """Stop the server that runs on the data folder: it drains, and is killed when that takes too long."""
    out = Terminal(json_mode=json)
    places = find_connection(data=data).places
    pid = holder_of(places.supervisor)
    if pid is None:
        report(out, f"nothing that `ringback up` started runs on {places.data}", code="not_running")
        raise typer.Exit(Exit.UNREACHABLE)
    is_forced = not _ended(pid, timeout)
    if out.json_mode:
        out.document({"pid": pid, "stopped": True, "forced": is_forced})
    out.line(f"stopped (pid {pid})" + (", killed after it did not drain in time" if is_forced else ""))


def _ended(pid: int, within_s: float) -> bool:
    """Ask the process to end, kill it if it does not. Returns whether asking was enough."""
    try:
        os.kill(pid, signal.SIGTERM)
        if _is_gone(pid, within_s):
            return True
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return True
    _is_gone(pid, within_s)
    return False


def _is_gone(pid: int, within_s: float) -> bool:
    """Wait for the end of a process that is not our child."""
    if hasattr(os, "pidfd_open"):
        fd = os.pidfd_open(pid)
        try:
            return bool(select.select([fd], [], [], within_s)[0])
        finally:
            os.close(fd)
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        os.kill(pid, 0)
        time.sleep(LOOK_EVERY_S)
    return False
