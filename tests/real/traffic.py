"""Other people's requests while the suites run: a fixed number a second, sent when they are due whatever is answered when.

A request is timed from the moment it was due, so an answer that keeps everybody waiting counts for each of them.
"""

import asyncio
import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import httpx2

PER_SECOND = 50
ANSWERED_WITHIN_S = 30.0
QUICK = "quick"


@dataclass(frozen=True, slots=True)
class Answer:
    """One request's end: the pattern of its path, its status, and the seconds from when it was due."""

    what: str
    status: int
    took_s: float


@dataclass(slots=True)
class Traffic:
    """Requests about `jobs`, about all jobs and about nothing in particular, and starts of a quick tool."""

    http: httpx2.AsyncClient
    jobs: Sequence[str]
    answers: list[Answer] = field(default_factory=list)
    started: list[str] = field(default_factory=list)
    lasted_s: float = 0.0

    async def until(self, over: asyncio.Event) -> None:
        """Send until `over` is set, then wait for the answers that are due."""
        clock = asyncio.get_running_loop().time
        began = clock()
        async with asyncio.TaskGroup() as asking:
            for number, what in enumerate(itertools.cycle(self._plan())):
                due = began + number / PER_SECOND
                if await _is_set_by(over, due - clock()):
                    break
                asking.create_task(self._ask(what, self.jobs[number % len(self.jobs)], due))
            self.lasted_s = clock() - began

    def _plan(self) -> list[str]:
        looks = ["/jobs/{job}", "/jobs/{job}/result?partial=true&max_bytes=4000", "/v1/runs/{job}", "/jobs?limit=20"]
        return [*looks, "/jobs/{job}", "/v1/runs/{job}/events?limit=50", "/jobs/{job}", "/healthz", "/v1/tools", QUICK]

    async def _ask(self, what: str, job: str, due: float) -> None:
        if what == QUICK:
            answer = await self.http.post("/jobs", json={"tool": QUICK})
            self.started.append(answer.json().get("job_id", ""))
        else:
            answer = await self.http.get(what.replace("{job}", job))
        self.answers.append(Answer(what, answer.status_code, asyncio.get_running_loop().time() - due))

    def wrong(self) -> dict[tuple[str, int], int]:
        """How often each request was answered with a status other than the one that it deserves."""
        right = {QUICK: 202}
        return Counter((each.what, each.status) for each in self.answers if each.status != right.get(each.what, 200))

    def within_s(self, share: float) -> float:
        """The time in which this share of all requests was answered."""
        return sorted(each.took_s for each in self.answers)[int(share * (len(self.answers) - 1))]


async def _is_set_by(over: asyncio.Event, wait_s: float) -> bool:
    try:
        async with asyncio.timeout(max(wait_s, 0)):
            await over.wait()
    except TimeoutError:
        return over.is_set()
    return True
