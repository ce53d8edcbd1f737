"""What an operator's monitoring reads at /metrics: requests, runs, workers and streams of this process.

What is counted costs the request two microseconds; what can be asked of the ledger is asked when somebody looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from ringback.core import Core
from ringback.domain.states import TERMINAL
from ringback.ports.store import Change

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0)


class Meters:
    """The metrics of one server process, in a registry of their own."""

    def __init__(self, core: Core) -> None:
        self._core = core
        registry = self._registry = CollectorRegistry(auto_describe=True)
        self._requests = Histogram(
            "ringback_http_request_seconds",
            "Time until an answer was ready, by route and status.",
            ("method", "route", "status"),
            buckets=BUCKETS,
            registry=registry,
        )
        self._of_route: dict[tuple[str, str, int], Any] = {}
        self.streams = Gauge("ringback_open_streams", "Answers that are being streamed.", registry=registry)
        self._open = Gauge("ringback_runs", "Runs that have not ended, by status.", ("status",), registry=registry)
        self._workers = Gauge("ringback_worker_sessions", "Attached worker sessions.", registry=registry)
        self._slots = Gauge("ringback_worker_slots", "Slots of all attached workers.", registry=registry)
        self._held = Gauge("ringback_attempts", "Attempts under way.", registry=registry)
        self._started = Counter("ringback_runs_started", "Runs created since the start.", registry=registry)
        self._started_before = 0
        ended = Counter(
            "ringback_runs_ended", "Runs that ended since the start, by status.", ("status",), registry=registry
        )
        self._ended = {status: ended.labels(status.value) for status in sorted(TERMINAL)}
        core.feed.notify.listen(self._heard)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        key = (method, route, status)
        child = self._of_route.get(key)
        if child is None:
            child = self._of_route[key] = self._requests.labels(method, route, str(status))
        child.observe(seconds)

    def _heard(self, changes: Sequence[Change]) -> None:
        for change in changes:
            if change.is_terminal:
                self._ended[change.status].inc()

    async def exposition(self) -> bytes:
        """Everything, as Prometheus reads it."""
        reads = self._core.store.reads
        self._started.inc(self._core.starting.started - self._started_before)
        self._started_before = self._core.starting.started
        self._open.clear()
        for row in await reads.rows("count_by_status", {}):
            self._open.labels(row["status"]).inc(row["runs"])
        sessions = await reads.sessions()
        self._workers.set(len(sessions))
        self._slots.set(sum(session.slots for session in sessions))
        self._held.set(sum((await reads.held()).values()))
        return generate_latest(self._registry)
