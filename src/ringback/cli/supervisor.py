"""`ringback up` while it runs: a server process and a worker process, and the order in which they come and go.

    up       server → ready → tools applied → worker
    down     worker drains → server drains; bounded in time, then both are killed
    crash    a worker that dies is started again, with growing pauses; a server that dies ends everything, because whoever
             supervises us (a service manager, a container) must see it

The children are in sessions of their own, so Ctrl-C reaches us only and the order is ours. They end when we do: their
stdin is a pipe that we hold.
"""

import json
import logging
import os
import queue
import random
import signal
import sys
import threading
import time
from types import FrameType
from typing import Protocol

from ringback.cli.children import Asked, Child, Ended
from ringback.cli.plan import Plan
from ringback.client.probe import probe
from ringback.settings.connection import recorded_server

ENDS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
READY_WITHIN_S = 30.0
WORKER_WITHIN_S = 10.0
LOOK_EVERY_S = 0.05
WORKER_SHARE = 0.7  # of the time to drain; the server has the rest
RESTART_FIRST_S = 0.5
RESTART_LONGEST_S = 30.0
STEADY_AFTER_S = 60.0

_log = logging.getLogger("ringback.up")


class Steps(Protocol):
    """What `up` does at the turns of the story."""

    def serving(self, url: str) -> None:
        """The server answers; no worker yet."""
        ...

    def worker_command(self, url: str) -> list[str]:
        """How to start the worker."""
        ...

    def is_worker_attached(self, url: str) -> bool:
        """Whether the server knows the worker."""
        ...

    def ready(self, url: str, pid: int) -> None:
        """Everything is there, or the worker takes its time; said once."""
        ...


class Supervisor:
    """The life of one `ringback up`, from `run` to its exit code."""

    def __init__(self, plan: Plan, steps: Steps) -> None:
        """Nothing is started yet."""
        self._plan, self._steps = plan, steps
        self._news: queue.SimpleQueue[Ended | Asked] = queue.SimpleQueue()
        self._server: Child | None = None
        self._worker: Child | None = None
        self._url = ""
        self._restart_at: float | None = None
        self._restarts = 0
        self._announce_by: float | None = None
        self._is_wanted_end = False

    def run(self) -> int:
        """Serve until told to stop. Returns the exit code."""
        for number in ENDS:
            signal.signal(number, self._heard)
        if self._plan.until_stdin_closes:
            threading.Thread(target=self._watch_stdin, name="stdin", daemon=True).start()
        self._server = Child("server", [sys.executable, "-P", "-m", "ringback.cli.serving"], self._news)
        self._server.tell(json.dumps(self._plan.settings).encode())
        try:
            ended = self._begin()
            while ended is None:
                self._announce()
                ended = self._take(self._next(self._patience_s()))
        except BaseException:
            self._drain()
            raise
        for number in ENDS:
            signal.signal(number, signal.SIG_IGN)  # all is over; one more must not change how it ended
        return ended

    def _begin(self) -> int | None:
        """From the first process to a worker; an exit code when it ends here."""
        assert self._server is not None
        if not self._is_ready():
            self._drain()
            return 0 if self._is_wanted_end else 1
        self._steps.serving(self._url)
        self._announce_by = time.monotonic()
        if not self._plan.settings["no_worker"]:
            self._announce_by += WORKER_WITHIN_S
            self._start_worker()
        return None

    def _announce(self) -> None:
        assert self._server is not None
        if self._announce_by is None:
            return
        if time.monotonic() >= self._announce_by or self._steps.is_worker_attached(self._url):
            self._announce_by = None
            self._steps.ready(self._url, self._server.pid)

    def _patience_s(self) -> float | None:
        """How long nothing may happen: a restart is due, or we look again for the worker."""
        if self._restart_at is not None:
            return max(0.0, self._restart_at - time.monotonic())
        return None if self._announce_by is None else LOOK_EVERY_S

    def _heard(self, number: int, _: FrameType | None) -> None:
        self._news.put(Asked(number))

    def _watch_stdin(self) -> None:
        while os.read(0, 4096):
            pass
        self._news.put(Asked(0))

    def _is_ready(self) -> bool:
        """Wait for the server to answer; False when it ended, or when somebody wants us to end first."""
        assert self._server is not None
        until = time.monotonic() + READY_WITHIN_S
        while time.monotonic() < until:
            news = self._next(LOOK_EVERY_S)
            if news is not None:
                self._is_wanted_end = isinstance(news, Asked)
                return False
            record = recorded_server(self._plan.places)
            if (
                record is not None
                and record.get("pid") == self._server.pid
                and probe(str(record["url"]), "/readyz") == 200
            ):
                self._url = str(record["url"])
                return True
        _log.error("the server is not ready within %s s", READY_WITHIN_S)
        return False

    def _start_worker(self) -> None:
        self._restart_at = None
        self._worker = Child("worker", self._steps.worker_command(self._url), self._news)
        _log.debug("worker started", extra={"pid": self._worker.pid})

    def _take(self, news: Ended | Asked | None) -> int | None:
        """Act on what happened; an exit code ends the loop."""
        match news:
            case None:
                if self._restart_at is not None and time.monotonic() >= self._restart_at:
                    self._start_worker()
            case Asked(number):
                _log.info("stopping", extra={"cause": signal.Signals(number).name if number else "stdin closed"})
                self._drain()
                return 0
            case Ended(child) if child is self._worker:
                self._worker_died(child)
            case Ended(child):
                _log.error("the server ended by itself", extra={"exit_code": child.code})
                self._drain()
                return 1
        return None

    def _worker_died(self, child: Child) -> None:
        self._worker = None
        self._restarts = 0 if time.monotonic() - child.began > STEADY_AFTER_S else self._restarts + 1
        pause_s = min(RESTART_FIRST_S * 2.0 ** max(0, self._restarts - 1), RESTART_LONGEST_S)
        pause_s += pause_s * random.random()  # noqa: S311 - spreads restarts, keeps no secret
        _log.warning("the worker ended; starting another", extra={"exit_code": child.code, "in_s": round(pause_s, 1)})
        self._restart_at = time.monotonic() + pause_s

    def _drain(self) -> None:
        """Worker first, then server: what the worker gives back must still be stored."""
        began = time.monotonic()
        self._end(self._worker, began + self._plan.drain_s * WORKER_SHARE)
        self._end(self._server, began + self._plan.drain_s)

    def _end(self, child: Child | None, deadline: float) -> None:
        """Ask a child to end; kill it at the deadline, or when somebody presses Ctrl-C again."""
        if child is None or child.code is not None:
            return
        child.signal(signal.SIGTERM)
        while child.code is None:
            left_s = deadline - time.monotonic()
            news = self._next(max(0.0, left_s))
            if news is None or (isinstance(news, Asked) and news.number == signal.SIGINT):
                _log.warning("killed: it did not end in time", extra={"child": child.name})
                child.signal(signal.SIGKILL)
                deadline = time.monotonic() + self._plan.drain_s + 1

    def _next(self, within_s: float | None) -> Ended | Asked | None:
        """The next thing that happened, None when nothing did in this time."""
        try:
            return self._news.get(timeout=within_s)
        except queue.Empty:
            return None
