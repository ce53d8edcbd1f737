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
from pathlib import Path
from typing import IO
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from ringback.client.errors import UnreachableError
from ringback.settings.connection import recorded_url
from ringback.settings.places import Places

READY_WITHIN_S = 30.0
GONE_WITHIN_S = 20.0
LAST_WORDS_BYTES = 2000


class PrivateServer:
    """At most one child process; `start` and `stop` may be called from any thread."""

    def __init__(self, data: Path, *, app: str | None = None, file: Path | None = None) -> None:
        """Nothing is started yet."""
        self._places = Places(data.expanduser().absolute())
        self._app, self._file = app, file
        self._child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Return once the server answers and its worker is attached.

        Raises:
            UnreachableError: it did not start; the text is what it said.
        """
        if self._is_running_elsewhere():
            return
        self._places.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._places.log.open("ab") as log:
            self._child = subprocess.Popen(
                self._command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True
            )
        said = _first_line(self._child)
        if not said:
            self.stop()
            raise UnreachableError(None, f"it did not start: {self._last_words()}")

    def stop(self) -> None:
        """End the child if it is ours: it drains, and is killed if that takes too long."""
        child, self._child = self._child, None
        if child is None:
            return
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                pipe.close()
        try:
            child.wait(GONE_WITHIN_S)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()

    def _is_running_elsewhere(self) -> bool:
        url = recorded_url(self._places)
        if url is None:
            return False
        try:
            with build_opener(ProxyHandler({})).open(f"{url}/healthz", timeout=2.0):
                return True
        except (URLError, OSError):
            return False

    def _command(self) -> list[str]:
        command = [sys.executable, "-m", "ringback", "up", "--json", "--until-stdin-closes"]
        command += ["--data", str(self._places.data), "--port", "0"]
        command += ["--app", self._app] if self._app else []
        return command + (["--file", str(self._file)] if self._file else [])

    def _last_words(self) -> str:
        text = self._places.log.read_bytes()[-LAST_WORDS_BYTES:].decode("utf-8", "replace").strip()
        return text.splitlines()[-1] if text else "it said nothing"


def _first_line(child: subprocess.Popen[bytes]) -> dict[str, object] | None:
    """What the child says when it is ready; None when it ends or is silent for too long."""
    lines: list[bytes] = []
    assert child.stdout is not None
    reader = threading.Thread(target=_read_line, args=(child.stdout, lines), daemon=True)
    reader.start()
    reader.join(READY_WITHIN_S)
    if not lines or not lines[0]:
        child.kill()
        return None
    said = json.loads(lines[0])
    return said if isinstance(said, dict) else None


def _read_line(stream: IO[bytes], lines: list[bytes]) -> None:
    lines.append(stream.readline())
