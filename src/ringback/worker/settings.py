"""How a worker runs: read from its command line, the environment and the data folder, without pydantic or typer.

A worker should be small while it is idle, so this reads the few values by hand. The token never stands on the command
line, where every user of the machine could read it: it comes from RINGBACK_TOKEN or from the data folder.
"""

import argparse
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeVar

from ringback.settings.connection import Connection, find_connection
from ringback.settings.errors import SettingsError

SLOTS_MIN: Final = 4
DRAIN_GRACE_S: Final = 10.0
PATIENCE_S: Final = 30.0
TOKEN_VARIABLES: Final = ("RINGBACK_TOKEN", "RINGBACK_OWNER_TOKEN")
_POOL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
Number = TypeVar("Number", int, float)
_APP: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """Everything that a worker has to be told.

    Attributes:
        app: `module:app` with the function tools, or None for commands only.
        drain_grace_s: how long running attempts may end by themselves after SIGTERM.
        parent_pid: the process whose end makes this worker finish what it holds and leave; None is nobody's.
        patience_s: how long such an orphan waits for a server that does not answer.
    """

    url: str
    token: str = field(repr=False)
    data_dir: Path
    name: str
    pools: tuple[str, ...] = ("default",)
    slots: int = SLOTS_MIN
    app: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    drain_grace_s: float = DRAIN_GRACE_S
    parent_pid: int | None = None
    patience_s: float = PATIENCE_S
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["auto", "console", "json"] = "auto"

    @property
    def mark(self) -> str:
        """What all incarnations of the workers of this data folder have in common."""
        return hashlib.sha256(os.fsencode(self.data_dir)).hexdigest()[:16]


def read_settings(argv: Sequence[str], environ: Mapping[str, str]) -> WorkerSettings:
    """The settings of `ringback worker ARGV`.

    Raises:
        SettingsError: a value can't be used, or there is no server or no token; one line for a person.
        SystemExit: the arguments are no arguments (2), or help was asked for (0).
    """
    asked = _parser().parse_args(argv)
    known = find_connection(url=asked.server, data=asked.data, environ=environ)
    if known.url is None:
        raise SettingsError("no server: give --server URL or RINGBACK_URL, or start one with `ringback up`")
    if asked.app is not None and not _APP.fullmatch(asked.app):
        raise SettingsError(f"the application must be MODULE:APP, not {asked.app!r}")
    return WorkerSettings(
        url=known.url,
        token=_token(known, environ),
        data_dir=known.places.data,
        name=asked.name or os.uname().nodename,
        pools=tuple(dict.fromkeys(_pool(name) for name in asked.pool or ("default",))),
        slots=_within("--slots", asked.slots, 1, 1024),
        app=asked.app,
        labels=dict(_label(text) for text in asked.label),
        drain_grace_s=_within("--drain-grace", asked.drain_grace, 0, 3600),
        parent_pid=asked.parent_pid or int(environ.get("RINGBACK_PARENT") or 0) or None,
        patience_s=_within("--patience", asked.patience, 0, 86_400),
        log_level=asked.log_level,
        log_format=asked.log_format,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ringback worker", description="Take work from a server and carry it out.")
    parser.add_argument("app", nargs="?", metavar="MODULE:APP", help="function tools, beside commands")
    parser.add_argument("--server", metavar="URL", help="RINGBACK_URL, or the server of the data folder")
    parser.add_argument("--data", metavar="DIR", help="the data folder")
    parser.add_argument("--name", help="how the worker is listed (the machine's name)")
    parser.add_argument("--pool", metavar="NAME", action="append", help="may be given several times (default)")
    slots = max(SLOTS_MIN, os.cpu_count() or 1)
    parser.add_argument("--slots", metavar="N", type=int, default=slots, help="attempts at a time (%(default)s)")
    parser.add_argument("--label", metavar="K=V", action="append", default=[], help="may be given several times")
    parser.add_argument("--drain-grace", metavar="SECONDS", type=float, default=DRAIN_GRACE_S, help="(%(default)s)")
    parser.add_argument("--patience", metavar="SECONDS", type=float, default=PATIENCE_S, help=argparse.SUPPRESS)
    parser.add_argument("--parent-pid", metavar="PID", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--log-level", choices=("debug", "info", "warning", "error"), default="info")
    parser.add_argument("--log-format", choices=("auto", "console", "json"), default="auto")
    return parser


def _token(known: Connection, environ: Mapping[str, str]) -> str:
    """The token for this server: a local worker has one of its own, which may attach and nothing else."""
    if given := environ.get("RINGBACK_TOKEN"):
        return given
    place = known.places.data / "worker.token"
    if known.is_local and place.is_file():
        return place.read_text(encoding="ascii").strip()
    if known.token is None:
        raise SettingsError("no token for this server: set RINGBACK_TOKEN to one with the scope worker:attach")
    return known.token


def _pool(name: str) -> str:
    if not _POOL.fullmatch(name):
        raise SettingsError(f"{name!r} is no name for a pool: letters, digits, '_', '.', '-', 64 at most")
    return name


def _label(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise SettingsError(f"a label is NAME=VALUE, not {text!r}")
    return name, value


def _within(flag: str, value: Number, least: Number, most: Number) -> Number:
    if not least <= value <= most:
        raise SettingsError(f"{flag} must lie between {least} and {most}")
    return value
