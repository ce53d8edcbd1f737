"""What is checked before `up` starts anything: the file of tools, the data folder, its lock, the port.

The server checks again what only it can know; here the usual mistakes are told in one line and within a blink.
"""

import errno
import socket
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ringback.cli.lock import AlreadyUpError, PidFile
from ringback.settings.connection import recorded_url

if TYPE_CHECKING:
    from ringback.settings.server import ServerSettings


class StartError(Exception):
    """Why nothing was started. One line."""

    code = "start_failed"


def read_tools(file: Path | None, *, is_named: bool) -> Sequence[Mapping[str, Any]]:
    """The definitions in the file of tools; none when there is no file and nobody named one.

    Raises:
        StartError: the file cannot be used; the first problem and how many there are.
    """
    from ringback.toolfile import FILE_NAME, ToolFileError, load

    path = file or Path.cwd() / FILE_NAME
    if not is_named and not path.exists():
        return ()
    try:
        return load(path).definitions
    except ToolFileError as broken:
        first, *others = broken.problems
        more = f" (and {len(others)} more: ringback apply --dry-run lists all)" if others else ""
        raise StartError(f"{first}{more}") from None


def prepared(settings: "ServerSettings") -> PidFile:
    """The data folder made, checked and locked; the port free. Returns the lock, which the caller keeps.

    Raises:
        StartError: one of these is not so.
    """
    _make_folder(settings.data)
    try:
        lock = PidFile.take(settings.places.supervisor)
    except AlreadyUpError as other:
        url = recorded_url(settings.places)
        where = f" at {url}" if url else ""
        raise StartError(f"the data folder {settings.data} is already served{where} (pid {other.pid})") from None
    except OSError as refused:
        raise _unwritable(settings.data, refused) from None
    _check_port(settings.host, settings.port)
    return lock


def _make_folder(data: Path) -> None:
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=data):
            pass
    except OSError as refused:
        raise _unwritable(data, refused) from None


def _unwritable(data: Path, refused: OSError) -> StartError:
    return StartError(f"the data folder {data} cannot be written: {refused.strerror}; name another with --data")


def _check_port(host: str, port: int) -> None:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as refused:
        if refused.errno == errno.EADDRINUSE:
            raise StartError(f"port {port} of {host} is taken; choose another with --port, or 0 for any") from None
        raise StartError(f"cannot listen on {host}:{port}: {refused.strerror}") from None
