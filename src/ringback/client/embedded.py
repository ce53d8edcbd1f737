"""A private server with a worker, for a script or a test: `ringback up` as a child process that cannot outlive us.

The child holds the other end of a pipe: when this process ends, however it ends, the pipe closes and the child drains.
A server that already runs on the data folder is left alone and used.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from ringback.client.errors import UnreachableError
from ringback.client.probe import probe as probe
from ringback.settings.connection import recorded_url
from ringback.settings.places import Places

READY_WITHIN_S = 45.0
GONE_WITHIN_S = 20.0
LAST_WORDS_BYTES = 4000
LOG_BYTES_MAX = 16 * 1024 * 1024


class PrivateServer:
    """At most one child process; `start` and `stop` may be called from any thread."""

    def __init__(self, data: Path, *, app: str | None = None, file: Path | None = None) -> None:
        """Nothing is started yet."""
        self._places = Places(data.expanduser().absolute())
        self._options = {"--data": str(self._places.data), "--port": "0", "--app": app, "--file": file and str(file)}
        self._child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Return once the server answers and its worker is attached.

        Raises:
            UnreachableError: it did not start; the text is what it said.
        """
        if not is_serving(self._places):
            given = [word for name, value in self._options.items() if value for word in (name, value)]
            self._child, _ = spawn_up(self._places, [*given, "--until-stdin-closes"], stdin=subprocess.PIPE)

    def stop(self) -> None:
        """End the child if it is ours: it drains, and is killed if that takes too long."""
        child, self._child = self._child, None
        if child is None:
            return
        assert child.stdin is not None
        child.stdin.close()
        try:
            child.wait(GONE_WITHIN_S)
        except subprocess.TimeoutExpired:
            _kill(child)


def is_serving(places: Places) -> bool:
    """Whether the server that the data folder names answers."""
    url = recorded_url(places)
    return url is not None and probe(url, "/healthz") == 200


def spawn_up(
    places: Places, options: Sequence[str], *, stdin: int = subprocess.DEVNULL
) -> tuple[subprocess.Popen[bytes], Mapping[str, Any]]:
    """Start `ringback up` in a session of its own, logging into the data folder, and wait until it is ready.

    Returns: the process, and what it said: `{"url", "pid", "data", …}`.

    Raises:
        UnreachableError: it ended, or took too long; the text is its last line.
    """
    begin = _open_log(places)
    with places.log.open("ab") as log:
        command = [sys.executable, "-P", "-m", "ringback", "up", "--json", *options]
        child = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=log, start_new_session=True)
    assert child.stdout is not None
    try:
        said = _first_line(child.stdout)
    finally:
        child.stdout.close()
    if not isinstance(said, dict) or "url" not in said:
        _kill(child)
        raise UnreachableError(None, f"it did not start: {_complaint(said, places, begin)}")
    return child, said


def _open_log(places: Places) -> int:
    """Make room for a new log; returns where it will begin."""
    try:
        places.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        size = places.log.stat().st_size if places.log.exists() else 0
        if size > LOG_BYTES_MAX:
            places.log.replace(places.log.with_suffix(".log.1"))
            size = 0
        places.log.touch(mode=0o600)
    except OSError as refused:
        raise UnreachableError(None, f"the data folder {places.data} cannot be written: {refused.strerror}") from None
    return size


def _first_line(stream: IO[bytes]) -> object:
    """The child's first line as JSON; None when it ends or is silent for too long."""
    lines: list[bytes] = []
    reader = threading.Thread(target=lambda: lines.append(stream.readline()), daemon=True)
    reader.start()
    reader.join(READY_WITHIN_S)
    try:
        return json.loads(lines[0]) if lines else None
    except ValueError:
        return None


def _complaint(said: object, places: Places, begin: int) -> str:
    if isinstance(said, dict) and isinstance(said.get("error"), dict):
        return str(said["error"].get("message"))
    with places.log.open("rb") as log:
        log.seek(begin)
        text = log.read()[-LAST_WORDS_BYTES:].decode("utf-8", "replace").strip()
    return text.splitlines()[-1] if text else "it said nothing"


def _kill(child: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
