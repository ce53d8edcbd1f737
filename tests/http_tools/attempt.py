"""One attempt of the http runtime in the test's own loop, with a reporter that plays the server."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from ringback.worker.assignment import Assignment, Outcome, Stop
from ringback.worker.runtimes.http import HttpRuntime
from tests.worker.recorder import Recorder

SECRET = "s3cr3t-of-the-job-api"
QUICK: Mapping[str, Any] = {"intervalS": 0.05, "intervalMaxS": 0.1}


class Server(Recorder):
    """A recorder that opens callback addresses, too."""

    def __init__(self) -> None:
        super().__init__()
        self.delivery: dict[str, Any] | None = None
        self.opened: list[tuple[int, str | None]] = []
        self._news = asyncio.Event()

    async def callback(self, start_no: int, secret: str | None) -> tuple[str, Mapping[str, Any] | None]:
        self.opened.append((start_no, secret))
        return f"/callbacks/job_1/token-of-{start_no}", self.delivery

    async def news(self) -> None:
        await self._news.wait()
        self._news.clear()

    def deliver(self, body: str) -> None:
        self.delivery = {"text": body, "digest": "x"}
        self._news.set()

    @property
    def checkpoints(self) -> list[Any]:
        return [value for (value,) in self.of("checkpoint")]


@dataclass(slots=True)
class Tried:
    """A runtime, and what its attempts said."""

    runtime: HttpRuntime
    server: Server = field(default_factory=Server)
    stop: Stop = field(default_factory=Stop)

    async def run(self, http: Mapping[str, Any], arguments: Mapping[str, Any] | None = None, **members: Any) -> Outcome:
        """The outcome of one attempt; the profile's `follow` is quick."""
        profile = {"http": {**http, "follow": {**QUICK, **http.get("follow", {})}}, "secrets": ["API_TOKEN"]}
        assignment = Assignment(
            run_id="run-1",
            job_id="job_1",
            attempt_id="att-1",
            tool="t",
            runtime="http",
            arguments=arguments or {},
            profile=profile,
            **members,
        )
        async with asyncio.timeout(60):
            return await self.runtime.run(assignment, self.server, self.stop)


@asynccontextmanager
async def tried() -> AsyncIterator[Tried]:
    runtime = HttpRuntime("http://ringback.invalid:7878", environment={"API_TOKEN": SECRET})
    try:
        yield Tried(runtime)
    finally:
        await runtime.aclose()
