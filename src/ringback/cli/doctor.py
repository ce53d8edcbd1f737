"""`doctor`: what a person would check first when something is odd, each with the remedy.

Every check is a function that returns one finding and changes nothing. A check that cannot be made says so and goes on.
"""

import os
import shutil
import stat
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Literal

import typer

from ringback import __version__
from ringback.cli.exits import Exit
from ringback.cli.session import Session, connected
from ringback.client import operations
from ringback.client.errors import RingbackError
from ringback.client.exchange import Answer, exchange
from ringback.client.requests import collection
from ringback.settings.connection import recorded_server

State = Literal["ok", "warning", "bad"]
STYLES: Mapping[State, str] = {"ok": "green", "warning": "yellow", "bad": "red"}
FREE_BYTES_WANTED = 1024**3
FREE_BYTES_NEEDED = 100 * 1024**2
CLOCK_DRIFT_S = 5.0
OPEN_FILES_WANTED = 1024


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check."""

    check: str
    state: State
    text: str
    remedy: str | None = None


@connected()
def doctor(session: Session) -> None:
    """Check this installation and say how to mend it. Exits 1 when something is bad; warnings do not count."""
    findings = [check(session) for check in CHECKS]
    if session.out.json_mode:
        session.out.document({"findings": [asdict(finding) for finding in findings], "version": __version__})
    for finding in findings:
        mark = session.out.paint(finding.state.ljust(7), STYLES[finding.state])
        session.out.line(f"{mark}  {finding.check}: {finding.text}")
        if finding.remedy:
            session.out.line(f"         {finding.remedy}")
    raise typer.Exit(Exit.FAILED if any(finding.state == "bad" for finding in findings) else Exit.DONE)


def _python(_: Session) -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("python", "ok", f"{version} at {sys.executable}, Ringback {__version__}")


def _open_files(_: Session) -> Finding:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < OPEN_FILES_WANTED:
        return Finding("open files", "warning", f"limit {soft}", f"Raise it: ulimit -n {min(hard, 65_536)}")
    return Finding("open files", "ok", f"limit {soft}")


def _data_folder(session: Session) -> Finding:
    data = session.client.connection.places.data
    if not data.exists():
        return Finding("data folder", "warning", f"{data} does not exist yet", "The first `ringback up` makes it.")
    if not os.access(data, os.W_OK | os.X_OK):
        return Finding("data folder", "bad", f"{data} cannot be written", "Name another with --data, or mend its mode.")
    if _mode(data) & 0o077:
        return Finding("data folder", "warning", f"{data} is open to others", f"chmod 700 {data}")
    return Finding("data folder", "ok", str(data))


def _token(session: Session) -> Finding:
    file = session.client.connection.places.token
    if not file.exists():
        state: State = "ok" if session.client.connection.token else "warning"
        return Finding("token", state, f"no {file.name} in the data folder", "The first `ringback up` makes it.")
    if _mode(file) & 0o077:
        return Finding("token", "bad", f"{file} can be read by others", f"chmod 600 {file}")
    return Finding("token", "ok", f"{file}, for its owner only")


def _server(session: Session) -> Finding:
    url = session.client.connection.url
    if url is None:
        return Finding("server", "warning", "none runs on this data folder", "Start one: ringback up --detach")
    answer = _asked(session, "/healthz")
    if isinstance(answer, RingbackError):
        return Finding("server", "bad", str(answer), "Start it: ringback up, or name another with --url.")
    recorded = recorded_server(session.client.connection.places) or {}
    version = recorded.get("version") if session.client.connection.is_local else None
    if version is not None and version != __version__:
        return Finding(
            "server", "warning", f"{url} has version {version}", f"Bring both to one version; this is {__version__}."
        )
    return Finding("server", "ok", url)


def _access(session: Session) -> Finding:
    if session.client.connection.url is None:
        return Finding("access", "ok", "not checked: no server")
    try:
        tools = session.client.tools()
    except RingbackError as error:
        return Finding("access", "bad", str(error), "Set RINGBACK_TOKEN (and RINGBACK_PROJECT), or use --data.")
    return Finding("access", "ok", f"{len(tools)} tools can be started")


def _worker(session: Session) -> Finding:
    if session.client.connection.url is None:
        return Finding("worker", "ok", "not checked: no server")
    try:
        attached = session.run(operations.workers(session.link))
    except RingbackError as error:
        return Finding("worker", "warning", f"not known: {error}")
    if not attached:
        return Finding("worker", "bad", "none is attached, so nothing runs", "Start one: ringback worker")
    return Finding("worker", "ok", f"{len(attached)} attached")


def _clock(session: Session) -> Finding:
    answer = None if session.client.connection.url is None else _asked(session, "/healthz")
    sent = answer.headers.get("date") if isinstance(answer, Answer) else None
    if sent is None:
        return Finding("clock", "ok", f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}, not compared with a server")
    drift_s = abs((datetime.now(UTC) - parsedate_to_datetime(sent)).total_seconds())
    if drift_s > CLOCK_DRIFT_S:
        return Finding("clock", "warning", f"{drift_s:.0f} s away from the server's", "Let both use NTP.")
    return Finding("clock", "ok", "agrees with the server's")


def _disk(session: Session) -> Finding:
    data = session.client.connection.places.data
    place = next(folder for folder in (data, *data.parents) if folder.exists())
    free = shutil.disk_usage(place).free
    text = f"{free / 1024**3:.1f} GiB free at {place}"
    if free < FREE_BYTES_NEEDED:
        return Finding("disk", "bad", text, "Free some space: with a full disk nothing new is accepted.")
    if free < FREE_BYTES_WANTED:
        return Finding("disk", "warning", text, "Free some space soon, or shorten retention_days.")
    return Finding("disk", "ok", text)


def _ledger(session: Session) -> Finding:
    places = session.client.connection.places
    if not places.database.exists():
        return Finding("ledger", "ok", "none in this data folder")
    from ringback.store import maintenance

    problems = maintenance.check(places.data)
    if problems:
        return Finding(
            "ledger", "bad", problems[0], "Stop the server and restore a backup (ringback db backup makes them)."
        )
    return Finding("ledger", "ok", f"{places.database.name} is sound")


CHECKS: tuple[Callable[[Session], Finding], ...] = (
    _python,
    _open_files,
    _data_folder,
    _token,
    _server,
    _access,
    _worker,
    _clock,
    _disk,
    _ledger,
)


def _asked(session: Session, path: str) -> Answer | RingbackError:
    try:
        return session.run(exchange(session.link, collection(session.link, path)))
    except RingbackError as error:
        return error


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
