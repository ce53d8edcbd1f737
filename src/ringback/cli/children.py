"""The processes that `ringback up` starts, and the news that it lives by: one of them ended, or somebody wants us to end."""

import queue
import subprocess
import sys
import threading
import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ended:
    """A child is gone."""

    child: "Child"


@dataclass(frozen=True, slots=True)
class Asked:
    """Somebody wants us to end; `number` is the signal, 0 for the end of our stdin."""

    number: int


class Child:
    """One process of ours in a session of its own. What it prints goes to our stderr."""

    def __init__(self, name: str, command: list[str], news: "queue.SimpleQueue[Ended | Asked]") -> None:
        """Started; its end will be in `news`."""
        self.name = name
        self.began = time.monotonic()
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=sys.stderr.fileno(), start_new_session=True
        )
        threading.Thread(target=self._watch, args=(news,), name=f"watch-{name}", daemon=True).start()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def code(self) -> int | None:
        """Its exit code once it has ended; negative for a signal."""
        return self._process.returncode

    def tell(self, line: bytes) -> None:
        """Write one line to its stdin, which stays open."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return  # it has ended, which `news` will tell

    def signal(self, number: int) -> None:
        """Send a signal, if it still lives."""
        self._process.send_signal(number)

    def _watch(self, news: "queue.SimpleQueue[Ended | Asked]") -> None:
        self._process.wait()
        news.put(Ended(self))
